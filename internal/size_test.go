package internal

import (
	"bytes"
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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sizeLimits are the maximum sizes of a package, a file and a type. A larger one has several subjects and should be split.
type sizeLimits struct {
	maxMethods      int // of a type, including methods in its tests
	maxFileLines    int // lines of a file that is neither a test nor generated
	maxPackageLines int // lines of all such files in a directory, including comments
	// exceptions has the size limits of packages ("DIRECTORY") and types ("DIRECTORY: type PACKAGE.TYPE") that exceed the
	// maximum. Only lower these limits, and remove an entry when its size is within the maximum.
	exceptions map[string]int
}

var productLimits = sizeLimits{maxMethods: 25, maxFileLines: 500, maxPackageLines: 4000, exceptions: map[string]int{
	"internal/emulator/dataplane": 6800,
	"internal/emulator/elbv2":     6300,

	"internal/emulator/dataplane: type dataplane.Plane":          32,
	"internal/emulator/dataplane: type dataplane.exchange":       34,
	"internal/emulator/ec2: type ec2.instances":                  29,
	"internal/emulator/ec2: type ec2.networks":                   40,
	"internal/emulator/elbv2: type elbv2.listeners":              30,
	"internal/emulator/elbv2: type elbv2.loadBalancers":          29,
	"internal/emulator/store: type store.Partition":              49,
	"internal/emulator/store: type store.Store":                  45,
	"internal/emulator: type emulator.Emulator":                  43,
	"internal/test/adversary: type adversary.gatewayTestCluster": 31,
	"internal/test/adversary: type adversary.grammar":            31,
	"internal/test/adversary: type adversary.testCluster":        53,
	"internal/test/harness: type harness.Harness":                50,
	"internal/test/takeover: type takeover.builder":              35,
	"local/agent: type agent.agent":                              30,
	"local/world: type world.World":                              60,
}}

func TestTypesAndFilesStaySmall(t *testing.T) {
	faults, err := productLimits.tooLarge("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

// tooLarge returns a message for each type with too many methods and each file or package with too many lines, and for each
// entry of exceptions that is not needed.
func (b sizeLimits) tooLarge(root string) ([]string, error) {
	var faults []string
	methods := map[string]int{}  // by directory, package and receiver
	packages := map[string]int{} // lines, by directory
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (name == "bin" || name == "testdata" || strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !strings.HasSuffix(name, "_test.go") && !ast.IsGenerated(file) {
			n := bytes.Count(text, []byte("\n"))
			if packages[path.Dir(rel)] += n; n > b.maxFileLines {
				faults = append(faults, fmt.Sprintf("%s has %d lines, at most %d; split it by subject", rel, n, b.maxFileLines))
			}
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[fmt.Sprintf("%s: type %s.%s", path.Dir(rel), file.Name.Name, receiverName(fn.Recv.List[0].Type))]++
			}
		}
		return nil
	})
	faults = append(faults, b.oversizeFaults(methods, b.maxMethods, "methods")...)
	faults = append(faults, b.oversizeFaults(packages, b.maxPackageLines, "lines")...)
	for _, of := range slices.Sorted(maps.Keys(b.exceptions)) {
		if methods[of] <= b.maxMethods && packages[of] <= b.maxPackageLines {
			faults = append(faults, of+" is within the maximum; remove it from exceptions")
		}
	}
	return faults, err
}

// oversizeFaults returns a message for each size that exceeds both most and its limit in exceptions. what is the unit of the
// sizes.
func (b sizeLimits) oversizeFaults(sizes map[string]int, most int, what string) (faults []string) {
	for _, of := range slices.Sorted(maps.Keys(sizes)) {
		if n, most := sizes[of], max(most, b.exceptions[of]); n > most {
			faults = append(faults, fmt.Sprintf("%s has %d %s, at most %d; split it by subject", of, n, what, most))
		}
	}
	return faults
}

// receiverName returns the name of the receiver type of a method.
func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.ParenExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return fmt.Sprintf("%T", e)
}

func TestTooLargeTypesAndFilesAreFound(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	methodsOf := func(pkg, receiver, prefix string, n int) string {
		text := "package " + pkg + "\n"
		for i := range n {
			text += fmt.Sprintf("func (r %s) %s%d() {}\n", receiver, prefix, i)
		}
		return text
	}
	b := sizeLimits{maxMethods: 60, maxFileLines: 500, maxPackageLines: 1500, exceptions: map[string]int{"b: type a.wider": 62, "b: type a.widest": 62, "c": 1502, "d": 1600}}
	long := "package a\n" + strings.Repeat("//\n", b.maxFileLines)
	write("a/wide.go", methodsOf("a", "wide", "f", 40))
	write("a/pointers.go", methodsOf("a", "*wide", "g", 20))
	write("a/wide_test.go", methodsOf("a", "wide", "h", 1))
	write("a/generic_test.go", methodsOf("a", "*generic[K, V]", "f", 61))
	write("a/full.go", methodsOf("a", "full", "f", 60))
	write("a/external_test.go", methodsOf("a_test", "full", "f", 60)) // a type of another package
	write("b/full.go", methodsOf("a", "full", "f", 60))
	write("a/long.go", long)
	write("a/long_test.go", long)
	write("a/zz_generated.go", "// Code generated by a program. DO NOT EDIT.\n\n"+long)
	write("a/exact.go", strings.TrimSuffix(long, "//\n"))
	write("b/wider.go", methodsOf("a", "wider", "f", 62))
	write("b/widest.go", methodsOf("a", "widest", "f", 63))
	for _, dir := range []string{"c", "d", "e"} {
		for i := range 3 {
			write(fmt.Sprintf("%s/%d.go", dir, i), strings.TrimSuffix(long, "//\n"))
		}
		write(dir+"/more_test.go", long)
	}
	write("c/3.go", "package a\n\n")
	write("e/3.go", "package a\n")
	write("bin/long.go", long)
	write("a/testdata/long.go", long)

	faults, err := b.tooLarge(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a/long.go has 501 lines, at most 500; split it by subject",
		"a: type a.generic has 61 methods, at most 60; split it by subject",
		"a: type a.wide has 61 methods, at most 60; split it by subject",
		"b: type a.widest has 63 methods, at most 62; split it by subject",
		"e has 1501 lines, at most 1500; split it by subject",
		"d is within the maximum; remove it from exceptions",
	}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
