package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxFunctionFields is the maximum number of struct fields of function type in the program. Such a field is set elsewhere,
// so a reader of the type does not see what the field calls. Use an interface or a concrete value instead. Function fields
// are for the input and output of the program and for tables. Lower the number when fields are removed.
const maxFunctionFields = 31

// nonProgramFolders are the folders whose code is not part of the program.
var nonProgramFolders = []string{"../charts", "../ecosystem", "../internal/emulator", "../internal/test", "../local", "../tools"}

func TestFunctionFieldsAreLimited(t *testing.T) {
	fset := token.NewFileSet()
	var found []string
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (slices.Contains(nonProgramFolders, filepath.ToSlash(p)) || name == "testdata" || name == "bin" || strings.HasPrefix(name, ".git")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found = append(found, functionFields(fset, file)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > maxFunctionFields {
		t.Errorf("%d struct fields are functions, at most %d; use an interface or a value in place of a new one:\n%s", len(found), maxFunctionFields, strings.Join(found, "\n"))
	}
}

// functionFields returns the position and name of each struct field of function type in a file. This includes slices and
// maps of functions.
func functionFields(fset *token.FileSet, file *ast.File) (out []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range s.Fields.List {
			typ := f.Type
			if list, ok := typ.(*ast.ArrayType); ok {
				typ = list.Elt
			}
			if table, ok := typ.(*ast.MapType); ok {
				typ = table.Value
			}
			if _, ok := typ.(*ast.FuncType); ok {
				for _, name := range f.Names {
					out = append(out, fmt.Sprintf("%s: %s", fset.Position(f.Pos()), name.Name))
				}
			}
		}
		return true
	})
	return out
}

func TestFunctionFieldsAreFound(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "a.go", `package a
type a struct {
	f, g func()
	list []func() error
	table map[string]func(int)
	run interface{ Run(func()) }
	name string
}
func b(f func()) { _ = []struct{ read func() }{{f}} }
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.go:3:2: f", "a.go:3:2: g", "a.go:4:2: list", "a.go:5:2: table", "a.go:9:34: read"}
	if got := functionFields(fset, file); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
