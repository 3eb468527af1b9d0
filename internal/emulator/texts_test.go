package emulator

import (
	"cmp"
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// errorText is the text of an error that the emulator returns, as found in the source code.
type errorText struct {
	pkg  string // directory relative to the emulator, "." for the package emulator
	at   string
	code string
	text string
	from string // kind of the source
	ref  string
}

// maker is a function that creates an error: Errorf of package store, or a function that passes its source to
// Errorf.
type maker struct {
	codeAt, textAt int    // indices of the arguments; codeAt is -1 if the code is always the same
	code           string // the code if codeAt is -1
}

// texts collects the error texts of one package.
type texts struct {
	t      *testing.T
	pkg    string
	fset   *token.FileSet
	consts map[string]string
	makers map[string]maker
	found  []errorText
}

// readErrorTexts returns all error texts of the emulator, in the order of packages, codes and texts.
func readErrorTexts(t *testing.T) []errorText {
	t.Helper()
	var out []errorText
	for _, dir := range sourceDirs(t) {
		x := &texts{t: t, pkg: dir, fset: token.NewFileSet(), consts: map[string]string{}, makers: map[string]maker{}}
		x.read(parseDir(t, x.fset, dir))
		out = append(out, x.found...)
	}
	slices.SortFunc(out, func(a, b errorText) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.code, b.code), cmp.Compare(a.text, b.text), cmp.Compare(a.at, b.at))
	})
	return out
}

func sourceDirs(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() != "testdata" {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (x *texts) read(files []*ast.File) {
	x.makers["store.Errorf"] = maker{codeAt: 1, textAt: 2}
	for _, f := range files {
		if f.Name.Name == "store" {
			x.makers["Errorf"] = maker{codeAt: 1, textAt: 2}
		}
		ast.Inspect(f, x.noteConst)
	}
	// A maker may call another maker that is declared later.
	for range 2 {
		for _, f := range files {
			ast.Inspect(f, x.recordErrorFunc)
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool { return x.noteText(f.Name.Name, n) })
	}
}

func (x *texts) noteConst(n ast.Node) bool {
	if spec, ok := n.(*ast.ValueSpec); ok {
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				if v, ok := x.literal(spec.Values[i]); ok {
					x.consts[name.Name] = v
				}
			}
		}
	}
	return true
}

// recordErrorFunc records functions whose first parameter is a source.
func (x *texts) recordErrorFunc(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		x.addErrorFunc(n.Name.Name, n.Type, n.Body)
	case *ast.AssignStmt:
		if len(n.Lhs) == 1 && len(n.Rhs) == 1 {
			name, named := n.Lhs[0].(*ast.Ident)
			if f, ok := n.Rhs[0].(*ast.FuncLit); ok && named {
				x.addErrorFunc(name.Name, f.Type, f.Body)
			}
		}
	}
	return true
}

func (x *texts) addErrorFunc(name string, typ *ast.FuncType, body *ast.BlockStmt) {
	var params []string
	for i, f := range typ.Params.List {
		if i == 0 && !strings.HasSuffix(x.expr(f.Type), "Source") {
			return
		}
		for _, p := range f.Names {
			params = append(params, p.Name)
		}
	}
	if len(params) == 0 || name == "Errorf" {
		return
	}
	m := maker{codeAt: slices.Index(params, "code"), textAt: slices.Index(params, "format")}
	if m.codeAt < 0 {
		ast.Inspect(body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if inner, ok := x.makers[x.expr(call.Fun)]; ok && inner.codeAt >= 0 {
					m.code, _ = x.literal(call.Args[inner.codeAt])
				}
			}
			return true
		})
	}
	x.makers[name] = m
}

// noteText records the text in a call of a maker, and reports errors that are created without a source.
func (x *texts) noteText(pkgName string, n ast.Node) bool {
	if lit, ok := n.(*ast.CompositeLit); ok {
		if typ := x.expr(lit.Type); typ == "store.Error" || pkgName == "store" && typ == "Error" && len(lit.Elts) > 0 && filepath.Base(x.file(lit)) != "error.go" {
			x.t.Errorf("%s: an error is made without a source", x.at(lit))
		}
		return true
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return true
	}
	m, ok := x.makers[x.expr(call.Fun)]
	if !ok || len(call.Args) <= m.textAt {
		return true
	}
	from := x.expr(call.Args[0])
	if from == "from" || strings.HasSuffix(from, ".From") {
		return true // the source is a parameter of the caller
	}
	e := errorText{pkg: x.pkg, at: x.at(call), code: m.code}
	if e.from, e.ref, ok = x.source(call.Args[0]); !ok {
		x.t.Errorf("%s: %s is not a source that this test can read", e.at, from)
		return true
	}
	if m.codeAt >= 0 {
		if e.code, ok = x.literal(call.Args[m.codeAt]); !ok {
			e.code = "…" + suffix(x, call.Args[m.codeAt])
		}
	}
	if e.text, ok = x.literal(call.Args[m.textAt]); !ok {
		x.t.Errorf("%s: the text of an error must be written out", e.at)
	}
	x.found = append(x.found, e)
	return true
}

// suffix returns the literal end of a code that is computed, such as ".NotFound".
func suffix(x *texts, e ast.Expr) string {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		end, _ := x.literal(sum.Y)
		return end
	}
	return ""
}

// source parses store.Unproven, store.Own or a call that gives a reference.
func (x *texts) source(e ast.Expr) (kind, ref string, ok bool) {
	call, isCall := e.(*ast.CallExpr)
	if !isCall {
		kind = strings.TrimPrefix(x.expr(e), "store.")
		return kind, "", kind == "Unproven" || kind == "Own"
	}
	kind = strings.TrimPrefix(x.expr(call.Fun), "store.")
	if len(call.Args) != 1 || !slices.Contains([]string{"Document", "Model", "Quoted"}, kind) {
		return "", "", false
	}
	ref, ok = x.literal(call.Args[0])
	return kind, ref, ok
}

// literal returns the value of a string literal, of a concatenation of literals, or of a constant.
func (x *texts) literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			v, err := strconv.Unquote(e.Value)
			return v, err == nil
		}
	case *ast.BinaryExpr:
		a, okA := x.literal(e.X)
		b, okB := x.literal(e.Y)
		return a + b, okA && okB && e.Op == token.ADD
	case *ast.Ident:
		v, ok := x.consts[e.Name]
		return v, ok
	}
	return "", false
}

// expr formats a name or a qualified name.
func (x *texts) expr(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return x.expr(e.X) + "." + e.Sel.Name
	}
	return ""
}

func (x *texts) file(n ast.Node) string { return x.fset.Position(n.Pos()).Filename }

func (x *texts) at(n ast.Node) string {
	p := x.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// TestEachErrorMessageHasASource checks the source code of the emulator: each error names the source of its text or
// is marked as unproven, and equal texts have the same source.
func TestEachErrorMessageHasASource(t *testing.T) {
	all := readErrorTexts(t)
	if len(all) < 450 {
		t.Errorf("only %d error texts are found", len(all))
	}
	thread := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)
	known := map[[2]string]errorText{}
	for _, e := range all {
		switch {
		case e.from == "Quoted" && !thread.MatchString(e.ref):
			t.Errorf("%s: %q is not a public thread such as \"owner/name#1\"", e.at, e.ref)
		case e.from != "Unproven" && e.from != "Own" && e.ref == "":
			t.Errorf("%s: the source has no reference", e.at)
		}
		if strings.Contains(e.text, "this emulator") != (e.from == "Own") && e.from != "Own" {
			t.Errorf("%s: a text about the emulator has source %s", e.at, e.from)
		}
		key := [2]string{e.code, e.text}
		if before, ok := known[key]; ok && (before.from != e.from || before.ref != e.ref) {
			t.Errorf("%s: %s %q has another source than at %s", e.at, e.code, e.text, before.at)
		}
		known[key] = e
	}
}
