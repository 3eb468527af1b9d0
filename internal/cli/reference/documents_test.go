package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cli"
	"github.com/fulcrum-lb/fulcrum/internal/cli/doctor"
	"github.com/fulcrum-lb/fulcrum/internal/cli/explain"
	"github.com/fulcrum-lb/fulcrum/internal/cli/migrate"
	"github.com/fulcrum-lb/fulcrum/internal/cli/orphans"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

//go:generate go test -run TestDocumentsPageIsUpToDate . -update

// documents are the documents that commands print with -o json and -o yaml.
var documents = []struct {
	command, about string
	value          any
}{
	{"fulcrum plan", "The steps that the controller would take.", cli.PlanDocument{}},
	{"fulcrum get", "The load balancers and accelerators, one entry each.", tree.GetDocument{}},
	{"fulcrum tree", "The resources in AWS, compared with the desired state.", tree.Document{}},
	{"fulcrum explain KIND/NAME", "The decisions of the controller about an object, and their reasons.", explain.Document{}},
	{"fulcrum explain request URL", "The rule that answers a request.", explain.RequestDocument{}},
	{"fulcrum explain, fulcrum explain REASON", "The meaning of reasons.", explain.ReasonsDocument{}},
	{"fulcrum orphans", "AWS resources with the tags of the cluster that no object needs.", orphans.Document{}},
	{"fulcrum doctor", "The checks and their results.", doctor.Document{}},
	{"fulcrum migrate", "The objects of the Gateway API that replace Ingresses, and the requests and settings that differ.", migrate.Document{}},
	{"fulcrum migrate status", "The state of the migration from Ingresses to Gateways, and the next step, for each load balancer.", migrate.StatusDocument{}},
	{"fulcrum version", "The build of the program.", cli.VersionDocument{}},
	{"--shadow-report", "The file with the steps that a controller with `--shadow` would carry out.", controller.ShadowReport{}},
}

// fieldComments returns the comments of the struct fields in the packages of the given directories. The keys have the form
// "package.Type.Field".
func fieldComments(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				typ, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				fields, ok := typ.Type.(*ast.StructType)
				if !ok {
					return true
				}
				for _, f := range fields.Fields.List {
					text := f.Doc.Text()
					if text == "" {
						text = f.Comment.Text()
					}
					for _, name := range f.Names {
						out[file.Name.Name+"."+typ.Name.Name+"."+name.Name] = strings.Join(strings.Fields(text), " ")
					}
				}
				return true
			})
		}
	}
	return out
}

// fieldRows returns a table row for each field of a type, including the fields of nested lists and objects. path is the
// prefix of the names of the fields, and reported is the result of fieldComments.
func fieldRows(typ reflect.Type, path string, reported map[string]string) (out []string) {
	pkg := typ.PkgPath()[strings.LastIndexByte(typ.PkgPath(), '/')+1:]
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			out = append(out, fieldRows(f.Type, path, reported)...)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, of := path+tag, f.Type
		word := ""
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			if of.Kind() == reflect.Slice {
				name, word = name+"[]", "list of "
			}
			of = of.Elem()
		}
		below := of.Kind() == reflect.Struct && of != reflect.TypeFor[time.Time]() && of.Name() != "Document"
		word += typeWord(of)
		if strings.Contains(f.Tag.Get("json"), "omitempty") {
			word += ", may be missing"
		}
		out = append(out, fmt.Sprintf("| `%s` | %s | %s |\n", name, word, strings.ReplaceAll(reported[pkg+"."+typ.Name()+"."+f.Name], "|", "\\|")))
		if below {
			out = append(out, fieldRows(of, name+".", reported)...)
		}
	}
	return out
}

func typeWord(of reflect.Type) string {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return "time"
	case of.Kind() == reflect.String:
		return "text"
	case of.Kind() == reflect.Bool:
		return "true or false"
	case of.Kind() == reflect.Int, of.Kind() == reflect.Int32:
		return "number"
	}
	return "object"
}

func documentsPage(t *testing.T) string {
	t.Helper()
	reported := fieldComments(t, "..", "../doctor", "../explain", "../input", "../migrate", "../orphans", "../output", "../tree", "../../plan", "../../controller", "../../migrate/check")
	var b strings.Builder
	b.WriteString(`<!-- Generated by make generate; do not edit. -->
# Documents of the commands

After reading this page you can use the output of ` + "`-o json` and `-o yaml`" + ` in a program. Both forms have the same fields. A field may be added in a later version; no field is removed or gets another meaning. Lists are ordered: for example, rules by priority, and steps in an order in which they can be carried out. Notes are written to standard error, so standard output has only one document.

[commands.md](commands.md) describes each command.
`)
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| Field | Type | Meaning |\n|---|---|---|\n%s", d.command, d.about, strings.Join(fieldRows(reflect.TypeOf(d.value), "", reported), ""))
	}
	return b.String()
}

func TestDocumentsPageIsUpToDate(t *testing.T) {
	goldentest.CompareFile(t, "../../../docs/cli-json.md", documentsPage(t))
}
