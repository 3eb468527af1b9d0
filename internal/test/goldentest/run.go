package goldentest

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the outputs of golden files")

// File is a named part of a case.
type File struct{ Name, Text string }

// Case is one golden test, read from one txtar archive.
type Case struct {
	// Name is the file's name without ".txtar".
	Name    string
	archive *txtar.Archive
}

// Text returns the content of the part with this name, or "" if the case does not have it.
func (c Case) Text(name string) string {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// Has reports whether the case has a part with this name.
func (c Case) Has(name string) bool {
	return slices.ContainsFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
}

// Run runs each case of files that matches the pattern (such as "testdata/*.txtar") as a subtest. produce returns all
// outputs in the order that they have in the archive. With -update, outputs without text are removed from the archive.
//
// The package of the test must embed the files. The test cache of Go compares embedded files by content, but opened
// files by path and modification time, so a new clone would run each test again.
func Run(t *testing.T, files fs.FS, pattern string, produce func(t *testing.T, c Case) []File) {
	t.Helper()
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files match %s (%v)", pattern, err)
	}
	for _, file := range names {
		name := strings.TrimSuffix(path.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			text, err := fs.ReadFile(files, file)
			if err != nil {
				t.Fatal(err)
			}
			c := Case{Name: name, archive: txtar.Parse(text)}
			got := produce(t, c)
			if *update {
				rewriteOutputs(t, file, c, got)
				return
			}
			for _, f := range got {
				if diff := cmp.Diff(c.Text(f.Name), withNewline(f.Text)); diff != "" {
					t.Errorf("%s differs (-want +got); run the test with -update to rewrite it\n%s", f.Name, diff)
				}
			}
		})
	}
}

// rewriteOutputs writes the inputs of c to file, and after them the outputs got. Outputs without text are omitted.
func rewriteOutputs(t *testing.T, file string, c Case, got []File) {
	t.Helper()
	out := &txtar.Archive{Comment: c.archive.Comment}
	index := func(name string) int { return slices.IndexFunc(got, func(g File) bool { return g.Name == name }) }
	for _, f := range c.archive.Files {
		if index(f.Name) < 0 {
			out.Files = append(out.Files, f)
		}
	}
	for _, g := range got {
		if g.Text != "" {
			out.Files = append(out.Files, txtar.File{Name: g.Name, Data: []byte(withNewline(g.Text))})
		}
	}
	if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withNewline returns s with exactly one newline at its end, as the txtar format requires. If s is empty, it returns "".
func withNewline(s string) string {
	if s == "" {
		return ""
	}
	return strings.TrimRight(s, "\n") + "\n"
}
