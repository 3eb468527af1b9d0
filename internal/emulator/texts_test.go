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

// errorText is the text of an error that the emulator returns, as its source code has it.
type errorText struct {
	pkg        string // directory relative to the emulator, "." for the package emulator
	position   string
	code       string
	text       string
	sourceKind string // "ReportSource", "DocumentSource", "ModelSource", "EmulatorSource" or "UnprovenSource"
	reference  string
}

// errorFunc describes a function that creates errors: Errorf of package store, or a function that passes its first argument,
// the source of the text, to Errorf.
type errorFunc struct {
	codeAt, textAt int    // indices of the arguments; codeAt is -1 if the code is always the same
	code           string // the code if codeAt is -1
}

// errorTextReader collects the error texts of one package.
type errorTextReader struct {
	t          *testing.T
	pkg        string
	fset       *token.FileSet
	consts     map[string]string
	errorFuncs map[string]errorFunc
	found      []errorText
}

// readErrorTexts returns all error texts of the emulator, in the order of packages, codes and texts.
func readErrorTexts(t *testing.T) []errorText {
	t.Helper()
	var out []errorText
	for _, dir := range sourceDirs(t) {
		x := &errorTextReader{t: t, pkg: dir, fset: token.NewFileSet(), consts: map[string]string{}, errorFuncs: map[string]errorFunc{}}
		x.readFiles(parseDir(t, x.fset, dir))
		out = append(out, x.found...)
	}
	slices.SortFunc(out, func(a, b errorText) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.code, b.code), cmp.Compare(a.text, b.text), cmp.Compare(a.position, b.position))
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

func (x *errorTextReader) readFiles(files []*ast.File) {
	x.errorFuncs["store.Errorf"] = errorFunc{codeAt: 1, textAt: 2}
	for _, f := range files {
		if f.Name.Name == "store" {
			x.errorFuncs["Errorf"] = errorFunc{codeAt: 1, textAt: 2}
		}
		ast.Inspect(f, x.recordConst)
	}
	// An error function may call another error function that is declared later.
	for range 2 {
		for _, f := range files {
			ast.Inspect(f, x.recordErrorFunc)
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool { return x.recordText(f.Name.Name, n) })
	}
}

func (x *errorTextReader) recordConst(n ast.Node) bool {
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
func (x *errorTextReader) recordErrorFunc(n ast.Node) bool {
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

func (x *errorTextReader) addErrorFunc(name string, typ *ast.FuncType, body *ast.BlockStmt) {
	var params []string
	for i, f := range typ.Params.List {
		if i == 0 && !strings.HasSuffix(x.qualifiedName(f.Type), "Source") {
			return
		}
		for _, p := range f.Names {
			params = append(params, p.Name)
		}
	}
	if len(params) == 0 || name == "Errorf" {
		return
	}
	m := errorFunc{codeAt: slices.Index(params, "code"), textAt: slices.Index(params, "format")}
	if m.codeAt < 0 {
		ast.Inspect(body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if inner, ok := x.errorFuncs[x.qualifiedName(call.Fun)]; ok && inner.codeAt >= 0 {
					m.code, _ = x.literal(call.Args[inner.codeAt])
				}
			}
			return true
		})
	}
	x.errorFuncs[name] = m
}

// recordText records the text in a call of an error function, and reports errors that are created without a source.
func (x *errorTextReader) recordText(pkgName string, n ast.Node) bool {
	if lit, ok := n.(*ast.CompositeLit); ok {
		if typ := x.qualifiedName(lit.Type); typ == "store.Error" || pkgName == "store" && typ == "Error" && len(lit.Elts) > 0 && filepath.Base(x.fileName(lit)) != "error.go" {
			x.t.Errorf("%s: an error is made without a source", x.position(lit))
		}
		return true
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return true
	}
	m, ok := x.errorFuncs[x.qualifiedName(call.Fun)]
	if !ok || len(call.Args) <= m.textAt {
		return true
	}
	from := x.qualifiedName(call.Args[0])
	if from == "from" || strings.HasSuffix(from, ".Source") {
		return true // the source is a parameter of the caller
	}
	e := errorText{pkg: x.pkg, position: x.position(call), code: m.code}
	if e.sourceKind, e.reference, ok = x.parseSource(call.Args[0]); !ok {
		x.t.Errorf("%s: %s is not a source that this test can read", e.position, from)
		return true
	}
	if m.codeAt >= 0 {
		if e.code, ok = x.literal(call.Args[m.codeAt]); !ok {
			e.code = "…" + codeSuffix(x, call.Args[m.codeAt])
		}
	}
	if e.text, ok = x.literal(call.Args[m.textAt]); !ok {
		x.t.Errorf("%s: the text of an error must be written out", e.position)
	}
	x.found = append(x.found, e)
	return true
}

// codeSuffix returns the literal end of a code that is computed in e, such as ".NotFound".
func codeSuffix(x *errorTextReader, e ast.Expr) string {
	if sum, ok := e.(*ast.BinaryExpr); ok {
		end, _ := x.literal(sum.Y)
		return end
	}
	return ""
}

// parseSource parses the argument of an error function that names the source of the text: store.UnprovenSource,
// store.EmulatorSource, or a call with a reference, such as store.ReportSource("owner/name#1").
func (x *errorTextReader) parseSource(e ast.Expr) (kind, ref string, ok bool) {
	call, isCall := e.(*ast.CallExpr)
	if !isCall {
		kind = strings.TrimPrefix(x.qualifiedName(e), "store.")
		return kind, "", kind == "UnprovenSource" || kind == "EmulatorSource"
	}
	kind = strings.TrimPrefix(x.qualifiedName(call.Fun), "store.")
	if len(call.Args) != 1 || !slices.Contains([]string{"DocumentSource", "ModelSource", "ReportSource"}, kind) {
		return "", "", false
	}
	ref, ok = x.literal(call.Args[0])
	return kind, ref, ok
}

// literal returns the value of a string literal, of a concatenation of literals, or of a constant.
func (x *errorTextReader) literal(e ast.Expr) (string, bool) {
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

// qualifiedName returns a name, such as "Errorf", or a qualified name, such as "store.Errorf". It returns "" for other
// expressions.
func (x *errorTextReader) qualifiedName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return x.qualifiedName(e.X) + "." + e.Sel.Name
	}
	return ""
}

func (x *errorTextReader) fileName(n ast.Node) string { return x.fset.Position(n.Pos()).Filename }

func (x *errorTextReader) position(n ast.Node) string {
	p := x.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// TestEachErrorMessageHasASource checks the source code of the emulator: each error has a source for its text, or is
// declared as unproven or as an error of the emulator. Equal codes and texts have the same source.
func TestEachErrorMessageHasASource(t *testing.T) {
	all := readErrorTexts(t)
	if len(all) < 450 {
		t.Errorf("only %d error texts are found", len(all))
	}
	thread := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)
	known := map[[2]string]errorText{}
	for _, e := range all {
		switch {
		case e.sourceKind == "ReportSource" && !thread.MatchString(e.reference):
			t.Errorf("%s: %q is not a public thread such as \"owner/name#1\"", e.position, e.reference)
		case e.sourceKind != "UnprovenSource" && e.sourceKind != "EmulatorSource" && e.reference == "":
			t.Errorf("%s: the source has no reference", e.position)
		}
		if e.sourceKind != "EmulatorSource" && strings.Contains(e.text, "this emulator") {
			t.Errorf("%s: a text about the emulator has source %s", e.position, e.sourceKind)
		}
		key := [2]string{e.code, e.text}
		if before, ok := known[key]; ok && (before.sourceKind != e.sourceKind || before.reference != e.reference) {
			t.Errorf("%s: %s %q has another source than at %s", e.position, e.code, e.text, before.position)
		}
		known[key] = e
	}
}
