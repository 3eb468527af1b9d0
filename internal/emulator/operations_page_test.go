package emulator

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	rgt "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/wafregional"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
)

//go:generate go test -run TestOperationsPageIsUpToDate . -update

// pageServices has the services in the order in which the page lists them.
var pageServices = []struct {
	title, name, dir string
	client           reflect.Type
}{
	{"Elastic Load Balancing v2", "elasticloadbalancing", "elbv2", reflect.TypeFor[*elb.Client]()},
	{"EC2", "ec2", "ec2", reflect.TypeFor[*ec2.Client]()},
	{"ACM", "acm", "acm", reflect.TypeFor[*acm.Client]()},
	{"WAFv2", "wafv2", "wafv2", reflect.TypeFor[*wafv2.Client]()},
	{"WAF Classic (regional)", "waf-regional", "wafregional", reflect.TypeFor[*wafregional.Client]()},
	{"Shield", "shield", "shield", reflect.TypeFor[*shield.Client]()},
	{"Global Accelerator", globalAccelerator, "globalaccelerator", reflect.TypeFor[*ga.Client]()},
	{"Route 53", "route53", "route53", reflect.TypeFor[*route53.Client]()},
	{"IAM", "iam", "simulate", reflect.TypeFor[*iam.Client]()},
	{"STS", "sts", "sts", reflect.TypeFor[*sts.Client]()},
	{"Resource Groups Tagging", "tagging", "tagging", reflect.TypeFor[*rgt.Client]()},
}

// maxListedOperations is the maximum number of unsupported operations of a service that the page lists by name.
const maxListedOperations = 30

func TestOperationsPageIsUpToDate(t *testing.T) {
	goldentest.CompareFile(t, filepath.Join("..", "..", "docs", "emulator-operations.md"), operationsPage(t))
}

func operationsPage(t *testing.T) string {
	em := New(Options{})
	byService := map[string]*service{}
	for _, s := range services(em.Store()) {
		byService[s.name] = s
	}
	if len(byService) != len(pageServices) {
		t.Errorf("the page has %d services, the emulator %d", len(pageServices), len(byService))
	}
	var b strings.Builder
	b.WriteString(`# What the AWS emulator supports

After reading this page you know which operations the emulator supports, which of their parameters it accepts, and which of its error texts are not proven to be those of AWS.

For example, ` + "`CreateListener`" + ` accepts ` + "`AlpnPolicy`" + `, and ` + "`RunInstances`" + ` refuses ` + "`UserData`" + ` with the error code ` + "`UnsupportedParameter`" + `, which AWS does not have. A test that needs the parameter therefore fails with an error that names it.

This page is generated from the emulator's source by ` + "`make generate`" + `. [emulator.md](emulator.md) explains how to use the emulator.

## Operations

**Taken**: parameters that the operation accepts and uses. **Without effect**: parameters that the operation accepts but ignores. **Refused**: all other parameters of the operation in AWS; a request with one of them fails. A request for an operation that is not in these tables fails like a request for an unknown operation.
`)
	for _, p := range pageServices {
		s := byService[p.name]
		if s == nil {
			t.Fatalf("no service is called %s", p.name)
		}
		writeService(&b, p.title, s, selectorNames(t, p.dir), missingOperations(p.client, s))
	}
	writeErrorTexts(&b, readErrorTexts(t))
	return b.String()
}

func writeService(b *strings.Builder, title string, s *service, used map[string]bool, missing []string) {
	fmt.Fprintf(b, "\n### %s\n\nSigned as `%s`. ", title, s.name)
	switch n := len(missing); {
	case n == 0:
		b.WriteString("All operations of AWS are supported.\n")
	case n > maxListedOperations:
		fmt.Fprintf(b, "%d operations are supported, %d others of AWS are not.\n", len(s.operations), n)
	default:
		fmt.Fprintf(b, "%d operations are supported. Not supported: %s.\n", len(s.operations), code(missing))
	}
	b.WriteString("\n| Operation | Taken | Without effect | Refused |\n|---|---|---|---|\n")
	names := make([]string, 0, len(s.operations))
	for name := range s.operations {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		op := s.operations[name]
		var taken, idle []string
		for _, m := range op.Members {
			if last := m[strings.LastIndex(m, ".")+1:]; used[last] {
				taken = append(taken, m)
			} else {
				idle = append(idle, m)
			}
		}
		slices.Sort(taken)
		slices.Sort(idle)
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, code(taken), code(idle), code(unsupportedMembers(op.Input, op.Members, "")))
	}
}

func code(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// unsupportedMembers returns the members of an input that the emulator does not support, sorted. If it supports only some
// parts of a member, the result has the other parts of the member.
func unsupportedMembers(t reflect.Type, declared wire.Members, prefix string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		path := prefix + f.Name
		inside := slices.ContainsFunc(declared, func(m string) bool { return strings.HasPrefix(m, path+".") })
		switch {
		case !f.IsExported() || f.Name == "ResultMetadata" || slices.Contains(declared, path):
		case inside:
			out = append(out, unsupportedMembers(f.Type, declared, path+".")...)
		default:
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// missingOperations returns the operations that the SDK client has and the emulator does not support.
func missingOperations(client reflect.Type, s *service) []string {
	var out []string
	for i := range client.NumMethod() {
		m := client.Method(i)
		if _, built := s.operations[m.Name]; !built && m.Type.NumIn() == 4 && m.Type.In(2).Kind() == reflect.Pointer &&
			m.Type.In(2).Elem().Name() == m.Name+"Input" {
			out = append(out, m.Name)
		}
	}
	return out
}

// selectorNames returns the names that the source of a service selects, such as "Tags" in "in.Tags". A member of an input
// that is not among them cannot have an effect.
func selectorNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	used := map[string]bool{"DryRun": true} // found by reflection
	for _, f := range parseDir(t, token.NewFileSet(), dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				used[sel.Sel.Name] = true
			}
			return true
		})
	}
	return used
}

// parseDir parses the source files of a package except its tests, in the order of the file names.
func parseDir(t *testing.T, fset *token.FileSet, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func writeErrorTexts(b *strings.Builder, all []errorText) {
	all = slices.CompactFunc(all, func(a, b errorText) bool { return a.pkg == b.pkg && a.code == b.code && a.text == b.text })
	count := map[string]int{}
	for _, e := range all {
		count[e.sourceKind]++
	}
	fmt.Fprintf(b, `
## Error texts

In the source code of the emulator, each error text has a comment with its origin. Of %d texts, %d are quoted from answers of AWS in public reports, %d are in AWS's documentation or service model, %d are the emulator's own texts about features that it does not support, and %d are unproven. The codes of unproven texts are mostly those of the service model; a test should rely on the code and not on the text.

`, len(all), count["Quoted"], count["Document"]+count["Model"], count["Own"], count["Unproven"])
	b.WriteString("### Proven texts\n\n| Part | Code | Text | Source |\n|---|---|---|---|\n")
	for _, e := range all {
		if e.sourceKind != "Unproven" && e.sourceKind != "Own" {
			fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", packageOfText(e), e.code, tableCell(e.text), e.reference)
		}
	}
	b.WriteString("\n### Unproven texts\n\n| Part | Code | Text |\n|---|---|---|\n")
	for _, e := range all {
		if e.sourceKind == "Unproven" {
			fmt.Fprintf(b, "| %s | `%s` | %s |\n", packageOfText(e), e.code, tableCell(e.text))
		}
	}
}

// packageOfText returns the package of the emulator that creates an error text.
func packageOfText(e errorText) string {
	if e.pkg == "." {
		return "emulator"
	}
	return filepath.ToSlash(e.pkg)
}

// tableCell formats a text as a table cell.
func tableCell(text string) string {
	return "`" + strings.NewReplacer("|", `\|`, "\n", " ", "`", "'").Replace(text) + "`"
}
