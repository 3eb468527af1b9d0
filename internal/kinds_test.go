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

	"github.com/google/go-cmp/cmp"
)

// kindIndependentPackages are the folders of packages that process all kinds of stacks. They use properties of a kind
// (internal/model/kind.go) and name no kind. A new kind therefore needs only a row in that table, and a package that
// translates its objects.
var kindIndependentPackages = []string{"cli", "engine", "plan", "translate/assemble"}

// kindSpecificPackages are the packages below kindIndependentPackages that may name kinds.
var kindSpecificPackages = []string{
	"cli/doctor",  // observes AWS for an invented stack, and counts certificates by the flag of their kind
	"cli/migrate", // translates Ingresses and Services to Gateways
}

func TestStagesDoNotCompareKindsByName(t *testing.T) {
	for _, root := range kindIndependentPackages {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && slices.Contains(kindSpecificPackages, filepath.ToSlash(p)) {
				return fs.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return nil
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, p, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, f := range kindNames(fset, file) {
				t.Errorf("%s; use a property of the kind (internal/model/kind.go)", f)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// kindNames returns the position and the name of each kind of stack that a file names, such as "a.go:2:41: model.Service".
func kindNames(fset *token.FileSet, file *ast.File) (out []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := s.X.(*ast.Ident); ok && of.Name == "model" && slices.Contains([]string{"Ingress", "Service", "ALBGateway", "NLBGateway", "GlobalAccelerator"}, s.Sel.Name) {
			out = append(out, fmt.Sprintf("%s: model.%s", fset.Position(s.Pos()), s.Sel.Name))
		}
		return true
	})
	return out
}

func TestNamesOfKindsAreFound(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "a.go", `package a
func f(k model.Kind) bool { return k == model.Service || k.HasRules() || x.Ingress }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.go:2:41: model.Service"}, kindNames(fset, file)); diff != "" {
		t.Error(diff)
	}
}
