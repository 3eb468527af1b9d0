package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// maxDurations is the maximum number of durations in the program. Before you add a duration, check whether an existing one
// fits.
const maxDurations = 70

// TestDurationsAreDeclaredInTables checks that durations are declared only in durationTables, and are at most maxDurations.
func TestDurationsAreDeclaredInTables(t *testing.T) {
	n, faults, err := durationFaults("..", slices.Sorted(maps.Keys(durationTables)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
	if n == 0 || n > maxDurations {
		t.Errorf("the tables have %d durations, at most %d are allowed; use an existing duration", n, maxDurations)
	}
}

// durationFaults counts the durations in the tables. A fault is a duration that the program declares elsewhere, that has no
// comment, that is not a product of numbers and a unit, or that has the same name as a duration with another value.
func durationFaults(root string, tables []string) (count int, faults []string, err error) {
	values := map[string]time.Duration{}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			switch first, _, _ := strings.Cut(rel, "/"); {
			case rel == "internal/emulator", rel == "internal/test", d.Name() == "testdata", rel != "." && !slices.Contains([]string{"api", "cmd", "internal"}, first):
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST && g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				if !declaresDuration(g.Tok, v) {
					continue
				}
				name := v.Names[0].Name
				if !slices.Contains(tables, path.Dir(rel)) {
					faults = append(faults, fmt.Sprintf("%s declares the duration %s; declare it in a package of durationTables, or use an existing duration", rel, name))
					continue
				}
				count++
				if v.Doc == nil {
					faults = append(faults, fmt.Sprintf("%s has no comment that says what %s limits and why", rel, name))
				}
				value, ok := durationOf(v.Values[0])
				if !ok || len(v.Names) != 1 {
					faults = append(faults, fmt.Sprintf("%s: %s is not one product of numbers and a unit of time", rel, name))
					continue
				}
				if other, ok := values[name]; ok && other != value {
					faults = append(faults, fmt.Sprintf("%s: %s is %s, and %s elsewhere", rel, name, value, other))
				}
				values[name] = value
			}
		}
		return nil
	})
	return count, faults, err
}

// declaresDuration reports whether a declaration contains a unit of package time outside of function literals, or declares a
// constant from a duration of a table.
func declaresDuration(tok token.Token, v *ast.ValueSpec) (is bool) {
	for _, e := range v.Values {
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				_, unit := timeUnits[n.Sel.Name]
				is = is || ok && (x.Name == "time" && unit || strings.HasSuffix(x.Name, "durations") && tok == token.CONST)
			}
			return true
		})
	}
	return is
}

var timeUnits = map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

func durationOf(e ast.Expr) (time.Duration, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		return time.Duration(n), err == nil
	case *ast.SelectorExpr:
		d, ok := timeUnits[e.Sel.Name]
		return d, ok
	case *ast.BinaryExpr:
		x, first := durationOf(e.X)
		y, second := durationOf(e.Y)
		return x * y, first && second && e.Op == token.MUL
	}
	return 0, false
}

func TestDurationsOutsideOfTablesAreFound(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"internal/a/durations/durations.go": "const (\n\t// Long is long.\n\tLong = 2 * time.Hour\n\t// Same is a day.\n\tSame = 24 * time.Hour\n\tBare = time.Second\n)",
		"internal/b/durations/durations.go": "const (\n\t// Long is longer.\n\tLong = 3 * time.Hour\n\t// Same is a day.\n\tSame = 2 * 12 * time.Hour\n\t// Odd is a sum.\n\tOdd = time.Hour + time.Second\n)",
		"internal/c/c.go":                   "const wait = time.Second\n\nvar table = map[string]time.Duration{\"a\": 3 * time.Minute, \"b\": durations.Long}\n\nconst alias = adurations.Long / 2",
		"internal/c/good.go":                "const n = 3\n\nvar table = []time.Duration{durations.Long}\n\nvar f = func() time.Duration { return time.Second }\n\nfunc g() { const local = time.Hour }",
		"internal/c/c_test.go":              "const wait = time.Minute",
		"internal/test/t.go":                "const wait = time.Minute",
		"internal/emulator/wire/e.go":       "const wait = time.Minute",
		"local/l.go":                        "const wait = time.Minute",
		"cmd/x/main.go":                     "var wait = time.Minute",
	} {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("package x\n\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, faults, err := durationFaults(root, []string{"internal/a/durations", "internal/b/durations"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"cmd/x/main.go declares the duration wait; declare it in a package of durationTables, or use an existing duration",
		"internal/a/durations/durations.go has no comment that says what Bare limits and why",
		"internal/b/durations/durations.go: Long is 3h0m0s, and 2h0m0s elsewhere",
		"internal/b/durations/durations.go: Odd is not one product of numbers and a unit of time",
		"internal/c/c.go declares the duration wait; declare it in a package of durationTables, or use an existing duration",
		"internal/c/c.go declares the duration table; declare it in a package of durationTables, or use an existing duration",
		"internal/c/c.go declares the duration alias; declare it in a package of durationTables, or use an existing duration",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if n != 6 {
		t.Errorf("%d durations in tables, want 6", n)
	}
}
