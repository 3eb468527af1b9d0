package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maxLocks is the maximum number of types with a mutex. Types of packages cloud and kube, which cache the state of AWS and
// Kubernetes, are not counted.
const maxLocks = 20

// TestLocksAreListed checks that ARCHITECTURE.md lists every type with a mutex and no other type, and that there are at most
// maxLocks of them.
func TestLocksAreListed(t *testing.T) {
	got, err := mutexTypes(".")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	want := documentedMutexTypes(string(text))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types with a lock (-ARCHITECTURE.md +code):\n%s", diff)
	}
	own := slices.DeleteFunc(slices.Clone(got), func(of string) bool { return strings.HasPrefix(of, "cloud/") || strings.HasPrefix(of, "kube.") })
	if len(own) > maxLocks {
		t.Errorf("%d types have a lock, at most %d: %q", len(own), maxLocks, own)
	}
}

// documentedMutexTypes returns, sorted, the types in the table "What is locked" of ARCHITECTURE.md. A name without a package
// belongs to the package of the name before it.
func documentedMutexTypes(text string) (out []string) {
	_, text, _ = strings.Cut(text, "\n## What is locked\n")
	text, _, _ = strings.Cut(text, "\n## ")
	name := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		pkg := ""
		for _, m := range name.FindAllStringSubmatch(strings.SplitN(line, "|", 3)[1], -1) {
			of := m[1]
			if at := strings.LastIndexByte(of, '.'); at >= 0 {
				pkg = of[:at]
			} else {
				of = pkg + "." + of
			}
			out = append(out, of)
		}
	}
	slices.Sort(out)
	return out
}

// mutexTypes returns, sorted, the types below root that have a field of type sync.Mutex or sync.RWMutex. It omits the
// emulator and tests.
func mutexTypes(root string) (out []string, err error) {
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (p == "emulator" || p == "test" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && hasMutex(spec.Type) {
				out = append(out, path.Dir(filepath.ToSlash(p))+"."+spec.Name.Name)
			}
			return true
		})
		return nil
	})
	slices.Sort(out)
	return out, err
}

func hasMutex(of ast.Expr) bool {
	s, ok := of.(*ast.StructType)
	return ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		sel, ok := f.Type.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Mutex" && sel.Sel.Name != "RWMutex" {
			return false
		}
		pkg, ok := sel.X.(*ast.Ident)
		return ok && pkg.Name == "sync"
	})
}
