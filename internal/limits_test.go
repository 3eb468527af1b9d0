package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// minTimeLimit is the shortest time limit in real time that a test may use. Even on a busy machine, only a hang
// exceeds it.
const minTimeLimit = time.Minute

// brief is the name of a constant that may be shorter than minTimeLimit. A test waits for that time to check that an event
// does not happen, or for an event that may or may not happen. Such a test does not fail on a slow machine.
const brief = "brief"

// virtualTimePackages are the packages in which all tests run in virtual time. In other packages, the tests in files that
// import testing/synctest run in virtual time.
var virtualTimePackages = []string{"internal/test/adversary", "internal/test/harness"}

// TestNoTestDependsOnTheSpeedOfTheMachine checks that time limits in tests are in virtual time, or are at least
// minTimeLimit. With a shorter limit, a test could fail on a slow machine although the program is correct.
func TestNoTestDependsOnTheSpeedOfTheMachine(t *testing.T) {
	folders := map[string][]*ast.File{}
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(p)), "../")
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".git")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, "_test.go") && path.Base(dir) != "worldtest" {
			return nil
		}
		file, err := parser.ParseFile(fset, p, nil, 0)
		if err != nil {
			return err
		}
		folders[dir] = append(folders[dir], file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range folders {
		if slices.Contains(virtualTimePackages, dir) {
			continue
		}
		c := limitCheck{consts: constantValues(files)}
		for _, file := range files {
			if !importsPackage(file, "testing/synctest") {
				ast.Inspect(file, func(n ast.Node) bool {
					for _, fault := range c.tooShortLimits(n) {
						t.Errorf("%s: %s", fset.Position(n.Pos()), fault)
					}
					return true
				})
			}
		}
	}
}

// TestNoScriptDependsOnTheSpeedOfTheMachine checks that the limits of "await -for=TIME" in scripts are at least
// minTimeLimit. It does not check "! await" and "hold", whose times are how long an event must not happen.
func TestNoScriptDependsOnTheSpeedOfTheMachine(t *testing.T) {
	err := filepath.WalkDir("../local", func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".txtar") {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, found := range regexp.MustCompile(`(?m)^await -for=(\S+).*`).FindAllSubmatch(text, -1) {
			if d, err := time.ParseDuration(string(found[1])); err != nil || d < minTimeLimit {
				t.Errorf("%s: %s: want %s or more", p, found[0], minTimeLimit)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestShortLimitsAreFound(t *testing.T) {
	for code, want := range map[string]int{
		`context.WithTimeout(ctx, 50*time.Millisecond)`:              1,
		`context.WithTimeout(ctx, time.Minute)`:                      0,
		`context.WithTimeout(ctx, short)`:                            1,
		`context.WithTimeout(ctx, brief)`:                            0,
		`context.WithTimeout(ctx, given)`:                            0,
		`conn.SetReadDeadline(time.Now().Add(2*short))`:              1,
		`conn.SetDeadline(time.Now().Add(time.Hour))`:                0,
		`context.WithDeadline(ctx, time.Now().Add(3*time.Second))`:   1,
		`func() { select { case <-time.After(time.Second): } }`:      1,
		`net.Dialer{Timeout: time.Second}`:                           1,
		`func() { client.Timeout = time.Second }`:                    1,
		`worldtest.Eventually(t, 20*time.Second, nil)`:               1,
		`func() { deadline := time.Now().Add(time.Second) }`:         1,
		`func() { notBefore := time.Now().Add(-time.Hour) }`:         0,
		`func() { if took := time.Since(start); took > short { } }`:  1,
		`func() { if took := time.Since(start); took < short { } }`:  0,
		`time.Since(start) > 5*time.Second`:                          1,
		`TargetGroup{Interval: 10*time.Millisecond}`:                 0,
		`x509.Certificate{NotAfter: time.Now().Add(10*time.Second)}`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nconst short, brief = 10 * time.Second, time.Second\nvar _ = "+code, 0)
		if err != nil {
			t.Fatal(code, err)
		}
		c := limitCheck{consts: constantValues([]*ast.File{file})}
		var got []string
		ast.Inspect(file, func(n ast.Node) bool { got = append(got, c.tooShortLimits(n)...); return true })
		if len(got) != want {
			t.Errorf("%s: %v, want %d", code, got, want)
		}
	}
}

func importsPackage(file *ast.File, name string) bool {
	return slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == strconv.Quote(name) })
}

// constantValues returns the expressions of all constants in the files, by name.
func constantValues(files []*ast.File) map[string]ast.Expr {
	out := map[string]ast.Expr{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
				for _, s := range d.Specs {
					v := s.(*ast.ValueSpec)
					for i, name := range v.Names {
						if i < len(v.Values) {
							out[name.Name] = v.Values[i]
						}
					}
				}
			}
			return true
		})
	}
	return out
}

// limitCheck finds time limits in the files of a package.
type limitCheck struct{ consts map[string]ast.Expr }

// timeLimitArgumentIndex maps the names of functions that take a time limit to the index of that argument.
var timeLimitArgumentIndex = map[string]int{
	"WithTimeout": 1, "WithTimeoutCause": 1, "After": 0, "NewTimer": 0, "DialTimeout": 2, "Eventually": 1, "eventually": 1,
}

// tooShortLimits returns a message for each time limit in a node that is shorter than minTimeLimit. It does not examine the
// children of the node.
func (c limitCheck) tooShortLimits(n ast.Node) (out []string) {
	report := func(what string, e ast.Expr) {
		if _, bare := e.(*ast.BasicLit); bare {
			return // a number without a unit is no time.Duration
		}
		if d, ok := c.duration(e); ok && d > 0 && d < minTimeLimit {
			out = append(out, fmt.Sprintf("%s: %s is a limit that a slow machine misses; use virtual time, %s or more, or a constant named %q if the test cannot fail because of it", what, d, minTimeLimit, brief))
		}
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		name := calledName(n)
		if at, ok := timeLimitArgumentIndex[name]; ok && at < len(n.Args) {
			report(name, n.Args[at])
		}
		if strings.HasPrefix(name, "Set") && strings.HasSuffix(name, "Deadline") || name == "WithDeadline" {
			report(name, durationFromNow(n.Args[len(n.Args)-1]))
		}
	case *ast.KeyValueExpr:
		if isTimeout(n.Key) {
			report("Timeout", n.Value)
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			if len(n.Rhs) != len(n.Lhs) {
				break
			}
			if isTimeout(left) {
				report("Timeout", n.Rhs[i])
			}
			if id, ok := left.(*ast.Ident); ok && id.Name == "deadline" {
				report("deadline", durationFromNow(n.Rhs[i]))
			}
		}
	case *ast.BinaryExpr:
		// an elapsed time that is compared with a limit
		if n.Op == token.GTR || n.Op == token.GEQ {
			if calledName(n.X) == "Since" {
				report("elapsed time", n.Y)
			}
		}
	case *ast.IfStmt:
		// if took := time.Since(start); took > limit
		init, ok := n.Init.(*ast.AssignStmt)
		cond, also := n.Cond.(*ast.BinaryExpr)
		if ok && also && calledName(init.Rhs[0]) == "Since" && (cond.Op == token.GTR || cond.Op == token.GEQ) {
			report("elapsed time", cond.Y)
		}
	}
	return out
}

// calledName returns the name of the function or method that e calls, or "" if e is not a call by name.
func calledName(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// durationFromNow returns the argument of time.Now().Add(duration), or nil if e is another expression.
func durationFromNow(e ast.Expr) ast.Expr {
	add, ok := e.(*ast.CallExpr)
	if !ok || calledName(add) != "Add" || len(add.Args) != 1 {
		return nil
	}
	if of, ok := add.Fun.(*ast.SelectorExpr); !ok || calledName(of.X) != "Now" {
		return nil
	}
	return add.Args[0]
}

// isTimeout reports whether the name of a field or variable shows that it is a timeout.
func isTimeout(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(e.Name, "Timeout")
	case *ast.SelectorExpr:
		return e.Sel.Name == "timeout" || strings.HasSuffix(e.Sel.Name, "Timeout")
	}
	return false
}

var durationUnits = map[string]time.Duration{
	"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// duration returns the value of a constant expression. It returns false for other expressions and for the constant brief.
func (c limitCheck) duration(e ast.Expr) (time.Duration, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return c.duration(e.X)
	case *ast.Ident:
		value, ok := c.consts[e.Name]
		if !ok || e.Name == brief {
			return 0, false
		}
		return c.duration(value)
	case *ast.SelectorExpr:
		d, ok := durationUnits[e.Sel.Name]
		return d, ok
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		return time.Duration(n), err == nil
	case *ast.BinaryExpr:
		x, ok := c.duration(e.X)
		y, also := c.duration(e.Y)
		if !ok || !also {
			return 0, false
		}
		switch e.Op {
		case token.MUL:
			return x * y, true
		case token.ADD:
			return x + y, true
		case token.SUB:
			return x - y, true
		}
	}
	return 0, false
}
