package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// oddWord has the replacement for a word that is not allowed.
type oddWord struct {
	replacement string
	inComments  bool // also in comments and in names of tests; otherwise only in other declared names
}

// readWords parses the content of testdata/words.txt, and returns its words.
func readWords(text string) (map[string]oddWord, error) {
	words := map[string]oddWord{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		left, instead, ok := strings.Cut(line, ":")
		of := strings.Fields(left)
		if !ok || len(of) < 2 || of[0] != "any" && of[0] != "name" {
			return nil, fmt.Errorf("words: %q is not of the form \"any WORD...: INSTEAD\" or \"name WORD...: INSTEAD\"", line)
		}
		for _, w := range of[1:] {
			words[w] = oddWord{strings.TrimSpace(instead), of[0] == "any"}
		}
	}
	return words, nil
}

func TestWords(t *testing.T) {
	text, err := os.ReadFile("testdata/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	words, err := readWords(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(words) == 0 {
		t.Fatal("testdata/words.txt has no word")
	}
	faults, err := oddWords("..", words)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// oddWords returns a message for each word in a name of a Go file, in a declared name or in a comment. It also returns a
// message for each entry in the last column of the glossary in ARCHITECTURE.md.
func oddWords(root string, words map[string]oddWord) ([]string, error) {
	var faults []string
	find := func(at, what, name string, sentence bool) {
		for _, w := range splitWords(name) {
			if odd, ok := words[w]; ok && (odd.inComments || !sentence) {
				faults = append(faults, fmt.Sprintf("%s: %s has %q; write: %s", at, what, w, odd.replacement))
			}
		}
	}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && (d.Name() == "bin" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		at := func(pos token.Pos) string {
			return fmt.Sprintf("%s:%d", filepath.ToSlash(rel), fset.Position(pos).Line)
		}
		find(filepath.ToSlash(rel), "the name of the file", strings.TrimSuffix(d.Name(), ".go"), false)
		for _, group := range file.Comments {
			for _, c := range group.List {
				find(at(c.Pos()), "a comment", c.Text, true)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, id := range declaredNames(n) {
				find(at(id.Pos()), id.Name, id.Name, strings.HasPrefix(id.Name, "Test"))
			}
			return true
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	architecture, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		return nil, err
	}
	glossary := false
	for i, line := range strings.Split(string(architecture), "\n") {
		if strings.HasPrefix(line, "#") {
			glossary = strings.HasPrefix(line, "## Glossary")
		}
		if m := glossaryRow.FindStringSubmatch(line); glossary && m != nil && strings.TrimSpace(m[2]) != "" && m[1] != "Word" && !strings.HasPrefix(m[2], "---") {
			faults = append(faults, fmt.Sprintf("ARCHITECTURE.md:%d: the code has other words for %s:%s", i+1, m[1], m[2]))
		}
	}
	return faults, nil
}

// glossaryRow matches a table row with three columns. The third column of the glossary has other names that the code uses.
var glossaryRow = regexp.MustCompile(`^\| ([^|]+) \|[^|]*\|([^|]*)\|$`)

// declaredNames returns the names that a node declares.
func declaredNames(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.AssignStmt:
		return assignedNames(n.Tok, n.Lhs...)
	case *ast.RangeStmt:
		return assignedNames(n.Tok, n.Key, n.Value)
	}
	return nil
}

// assignedNames returns the names on the left side of a short variable declaration.
func assignedNames(tok token.Token, left ...ast.Expr) []*ast.Ident {
	var names []*ast.Ident
	for _, e := range left {
		if id, ok := e.(*ast.Ident); ok && tok == token.DEFINE {
			names = append(names, id)
		}
	}
	return names
}

// splitWords returns the words of a text in lower case. Words in names such as "plainText" and "AWSRegion" are separated.
func splitWords(s string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	letters := []rune(s)
	for i, r := range letters {
		if !unicode.IsLetter(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(letters[i-1]) || unicode.IsUpper(letters[i-1]) && i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

func TestOddWordsAreFound(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"rivals_of.go":    "package a\n\n// plainDeed does a deed and is judged.\nfunc plainDeed(judgeOf int) {\n\tAWSPast := judgeOf\n\tfor lane := range AWSPast {\n\t\tprintln(lane)\n\t}\n}\n\nfunc TestItIsJudged() {}\n\nfunc TestADeed() {}\n",
		"generated.go":    "// Code generated by a program. DO NOT EDIT.\n\npackage a\n\nvar deed int\n",
		"ARCHITECTURE.md": "## Glossary\n\n| Word | Meaning | Also in code |\n|---|---|---|\n| stack | a load balancer | group |\n| plan | steps | |\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	words, err := readWords("# a comment\nany rivals deed : change\nname judge judged past lane: compare\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := oddWords(root, words)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`rivals_of.go: the name of the file has "rivals"; write: change`,
		`rivals_of.go:3: a comment has "deed"; write: change`,
		`rivals_of.go:3: a comment has "deed"; write: change`,
		`rivals_of.go:4: plainDeed has "deed"; write: change`,
		`rivals_of.go:4: judgeOf has "judge"; write: compare`,
		`rivals_of.go:5: AWSPast has "past"; write: compare`,
		`rivals_of.go:13: TestADeed has "deed"; write: change`,
		`rivals_of.go:6: lane has "lane"; write: compare`,
		`ARCHITECTURE.md:5: the code has other words for stack: group `,
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if _, err := readWords("some deed: change\n"); err == nil {
		t.Error("a line that begins with neither any nor name is accepted")
	}
}
