package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/fulcrum-lb/fulcrum/"

// layer has the rules for the imports of a package. Imports of tests are not checked.
type layer struct {
	// modulePackages are patterns of the packages of this module that the package may import.
	modulePackages []string
	// mayImportAPI reports whether the package may also import the API types below api/.
	mayImportAPI bool
	// isPure reports whether the package must do no input or output, write no log, and not read the clock.
	isPure bool
	// libraries lists the libraries among clientLibraries that the package may import.
	libraries []string
}

// clientLibraries are the libraries that a package may import only if its layer lists them.
var clientLibraries = []string{
	"github.com/aws/", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "k8s.io/klog/",
	"go.uber.org/zap", "github.com/prometheus/", "github.com/spf13/",
}

// impureImports are the packages of the standard library that a pure package must not import.
var impureImports = []string{"net/http", "os", "os/exec", "log", "log/slog", "math/rand", "math/rand/v2", "net"}

var corePackages = []string{"internal/finding", "internal/model", "internal/observed", "internal/naming", "internal/plan/network", "internal/plan"}

// frontendLayer is the layer of packages that translate one kind of object.
var frontendLayer = layer{isPure: true, mayImportAPI: true,
	modulePackages: append([]string{"internal/translate/assemble", "internal/translate/attach", "internal/cluster", "internal/engine", "internal/translate/gatewayconfig", "internal/translate/members", "internal/cluster/ownership", "internal/plan/overlap", "internal/plan/rules", "internal/translate/report", "internal/translate/settings"}, corePackages...)}

// stagePackages are patterns of the packages for the stages of a reconciliation (view, translate, observe, plan, apply,
// report) and for their combination.
var stagePackages = []string{"internal/*", "internal/cloud/drift", "internal/cloud/services", "internal/cluster/*", "internal/engine/*", "internal/finding/*", "internal/plan/*", "internal/translate/*"}

// layers has the layer of each package or pattern of packages. A package without a layer is an error, so that the author of
// a new package must choose its layer.
var layers = map[string]layer{
	"internal/finding":         {isPure: true},
	"internal/finding/failure": {isPure: true, modulePackages: corePackages[:1]},
	"internal/engine/repeat":   {isPure: true},
	"internal/engine/refused":  {isPure: true, modulePackages: append([]string{"internal/engine/checkpoint", "internal/finding/failure"}, corePackages...)},
	"internal/model/glob":      {isPure: true},
	"internal/model":           {isPure: true, modulePackages: append([]string{"internal/model/glob"}, corePackages[:1]...)},
	"internal/observed":        {isPure: true, modulePackages: corePackages[:2]},
	"internal/naming":          {isPure: true, modulePackages: corePackages[:3]},
	"internal/version":         {isPure: true},
	"internal/plan/network":    {isPure: true, modulePackages: corePackages[:4]},
	// This package handles private keys.
	"internal/model/certificate":  {isPure: true, modulePackages: corePackages[:2]},
	"internal/plan":               {isPure: true, modulePackages: append([]string{"internal/plan/equal"}, corePackages[:4]...)},
	"internal/translate/settings": {isPure: true, mayImportAPI: true, modulePackages: corePackages[:2]},
	// controller-runtime defines the interface of all Kubernetes objects; the imported package makes no connection.
	"internal/cluster": {isPure: true, mayImportAPI: true, modulePackages: []string{"internal/finding", "internal/naming"}, libraries: []string{"sigs.k8s.io/controller-runtime/pkg/client"}},

	// Parts of the plan. Each part may import only parts that are listed before it.
	"internal/plan/durations":      {isPure: true},
	"internal/plan/equal":          {isPure: true, modulePackages: corePackages[:3]},
	"internal/plan/overlap":        {isPure: true, modulePackages: append([]string{"internal/model/glob"}, corePackages[:2]...)},
	"internal/plan/draft":          {isPure: true, modulePackages: coreAndPlanPackages("equal")},
	"internal/plan/resolved":       {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "overlap")},
	"internal/plan/authority":      {isPure: true, modulePackages: coreAndPlanPackages("equal")},
	"internal/plan/owners":         {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "overlap", "resolved")},
	"internal/plan/traffic":        {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "owners", "resolved")},
	"internal/plan/accelerators":   {isPure: true, modulePackages: coreAndPlanPackages("draft", "resolved")},
	"internal/plan/handover":       {isPure: true, modulePackages: append([]string{"internal/migrate/check"}, coreAndPlanPackages("equal")...)},
	"internal/plan/addons":         {isPure: true, modulePackages: coreAndPlanPackages("draft")},
	"internal/plan/securitygroups": {isPure: true, modulePackages: coreAndPlanPackages("draft", "resolved")},
	"internal/plan/loadbalancers":  {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "owners", "resolved", "targetgroups")},
	"internal/plan/certificates":   {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "owners", "resolved")},
	"internal/plan/targetgroups":   {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "owners", "resolved")},
	"internal/plan/rules":          {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "overlap", "owners", "resolved", "traffic")},
	"internal/plan/listeners":      {isPure: true, modulePackages: coreAndPlanPackages("certificates", "draft", "equal", "owners", "resolved", "rules", "targetgroups", "traffic")},
	"internal/plan/replacement":    {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "listeners", "loadbalancers", "owners", "resolved", "targetgroups", "traffic")},
	"internal/plan/document":       {isPure: true, modulePackages: coreAndPlanPackages("draft", "equal", "owners", "resolved", "securitygroups", "targetgroups")},
	"internal/plan/planner":        {isPure: true, modulePackages: coreAndPlanPackages("*")},

	"internal/translate/members":       {isPure: true, modulePackages: append([]string{"internal/translate/settings"}, corePackages...)},
	"internal/translate/assemble":      {isPure: true, modulePackages: append([]string{"internal/model/certificate", "internal/translate/members", "internal/plan/equal", "internal/translate/settings"}, corePackages...)},
	"internal/cluster/ownership":       {isPure: true, modulePackages: append([]string{"internal/cluster"}, corePackages...)},
	"internal/translate/gatewayconfig": {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/cluster", "internal/translate/settings"}, corePackages...)},
	"internal/translate/unserved":      {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/cluster", "internal/translate/gatewayconfig", "internal/translate/settings"}, corePackages...)},
	"internal/translate/gatewayclass":  {isPure: true, mayImportAPI: true, modulePackages: []string{"internal/translate/attach", "internal/cluster", "internal/finding", "internal/translate/gatewayconfig", "internal/cluster/ownership"}},
	"internal/translate/attach":        {isPure: true, modulePackages: append([]string{"internal/cluster"}, corePackages[:2]...)},
	"internal/plan/targets":            {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/cluster"}, corePackages...)},
	"internal/plan/bindingplan":        {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/cluster", "internal/finding/failure", "internal/plan/targets"}, corePackages...)},
	"internal/engine/checkpoint":       {isPure: true, modulePackages: corePackages[:2]},
	"internal/engine/imports":          {isPure: true, modulePackages: corePackages},
	"internal/engine/resync":           {isPure: true, modulePackages: append([]string{"internal/engine/repeat"}, corePackages...)},
	"internal/engine": {isPure: true, modulePackages: append([]string{"internal/cluster", "internal/engine/checkpoint", "internal/engine/imports", "internal/engine/refused", "internal/finding/failure", "internal/plan/document", "internal/plan/handover", "internal/plan/planner",
		"internal/plan/resolved", "internal/engine/repeat", "internal/engine/resync"}, corePackages...)},
	"internal/engine/bindings":  {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/plan/bindingplan", "internal/cluster", "internal/engine", "internal/engine/repeat", "internal/engine/resync", "internal/finding/failure", "internal/cluster/ownership", "internal/plan/targets"}, corePackages...)},
	"internal/translate/report": {isPure: true, modulePackages: append([]string{"internal/cluster", "internal/engine"}, corePackages...)},
	// Validates a GlobalAccelerator without other objects, for both admission and translation.
	"internal/translate/accelerator/rules": {isPure: true, mayImportAPI: true, modulePackages: corePackages[:1]},

	"internal/translate/accelerator": {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/translate/accelerator/rules"}, frontendLayer.modulePackages...)},
	"internal/translate/ingress":     frontendLayer,
	"internal/translate/service":     frontendLayer,
	"internal/translate/gateway":     {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/translate/gateway/status"}, frontendLayer.modulePackages...)},
	"internal/translate/gateway/status": {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/cluster", "internal/cluster/ownership", "internal/engine",
		"internal/translate/attach", "internal/translate/gatewayconfig", "internal/translate/report"}, corePackages...)},

	"internal/migrate/check": {isPure: true, modulePackages: append([]string{"internal/migrate/match", "internal/plan/equal"}, corePackages...)},
	"internal/migrate/match": {isPure: true, modulePackages: corePackages[:2]},
	"internal/migrate":       {isPure: true, mayImportAPI: true, modulePackages: append([]string{"internal/cluster", "internal/engine", "internal/migrate/check", "internal/migrate/match", "internal/translate/gatewayconfig", "internal/translate/settings"}, corePackages...)},

	"internal/cloud/drift":     {modulePackages: corePackages[:2], libraries: []string{"github.com/go-logr/"}},
	"internal/cloud/durations": {isPure: true},

	"internal/cloud/services":  {isPure: true},
	"internal/cloud/ratelimit": {modulePackages: []string{"internal/cloud/services"}},
	"internal/cloud/cache":     {isPure: true},
	"internal/cloud/sdk": {modulePackages: []string{"internal/cloud/cache", "internal/cloud/ratelimit", "internal/cloud/services", "internal/cloud/drift",
		"internal/finding/failure", "internal/finding", "internal/observed"}, libraries: []string{"github.com/aws/"}},
	"internal/cloud/convert": {isPure: true, modulePackages: corePackages[:3], libraries: []string{"github.com/aws/"}},
	"internal/cloud/certificates": {modulePackages: append([]string{"internal/model/certificate", "internal/cloud/cache", "internal/cloud/convert", "internal/cloud/sdk",
		"internal/finding/failure"}, corePackages...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/enis": {modulePackages: append([]string{"internal/cloud/cache", "internal/cloud/convert", "internal/cloud/sdk", "internal/engine/bindings",
		"internal/finding/failure"}, corePackages...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/inventory": {modulePackages: append([]string{"internal/cloud/cache", "internal/cloud/drift", "internal/cloud/sdk"}, corePackages...)},
	"internal/cloud/observe": {modulePackages: append([]string{"internal/cloud/cache", "internal/cloud/convert", "internal/cloud/drift", "internal/cloud/inventory", "internal/cloud/sdk"}, corePackages...),
		libraries: []string{"github.com/aws/"}},
	"internal/cloud/targets": {modulePackages: append([]string{"internal/finding/failure", "internal/cloud/cache", "internal/cloud/convert", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/ratelimit", "internal/cloud/sdk",
		"internal/engine/bindings"}, corePackages...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/facts": {modulePackages: append([]string{"internal/model/glob", "internal/finding/failure", "internal/cloud/cache", "internal/cloud/certificates", "internal/cloud/convert", "internal/cloud/enis", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/sdk",
		"internal/cloud/targets"}, corePackages...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/accelerators": {modulePackages: append([]string{"internal/cloud/cache", "internal/cloud/drift", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/sdk", "internal/finding/failure"}, corePackages...),
		libraries: []string{"github.com/aws/"}},
	"internal/cloud/apply": {modulePackages: append([]string{"internal/cloud/cache", "internal/cloud/certificates", "internal/cloud/convert", "internal/cloud/facts", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/ratelimit",
		"internal/cloud/sdk", "internal/cloud/targets", "internal/engine/bindings", "internal/finding/failure"}, corePackages...), libraries: []string{"github.com/aws/"}},
	"internal/cloud": {modulePackages: append([]string{"internal/finding/failure", "internal/cloud/accelerators", "internal/cloud/apply", "internal/cloud/certificates", "internal/cloud/drift", "internal/cloud/enis", "internal/cloud/facts", "internal/cloud/inventory", "internal/cloud/observe",
		"internal/cloud/ratelimit", "internal/cloud/sdk", "internal/cloud/services", "internal/cloud/targets", "internal/engine", "internal/engine/bindings"}, corePackages...)},
	"internal/cloud/checks":   {modulePackages: append([]string{"internal/cloud", "internal/cloud/sdk", "internal/cloud/services", "internal/finding/failure"}, corePackages...), libraries: []string{"github.com/aws/"}},
	"internal/kube/durations": {isPure: true},
	"internal/kube": {mayImportAPI: true, modulePackages: append([]string{"internal/finding/failure", "internal/cluster", "internal/cluster/ownership", "internal/engine", "internal/engine/bindings", "internal/engine/repeat", "internal/plan/targets"}, corePackages...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/"}},
	"internal/controller/config": {modulePackages: []string{"internal/naming"}, libraries: []string{"github.com/spf13/"}},
	"internal/controller/queue": {modulePackages: []string{"internal/cluster", "internal/finding/failure", "internal/kube"},
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/"}},
	"internal/controller": {mayImportAPI: true, modulePackages: append([]string{"internal/controller/*", "internal/webhook/serving"}, stagePackages...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "github.com/prometheus/"}},
	// The command line. Each package may import only packages that are listed before it. Packages that read input or write
	// output do not import the commands.
	"internal/cli/output": {modulePackages: append([]string{"internal/cluster"}, corePackages...), libraries: []string{"github.com/spf13/"}},
	"internal/cli/input": {modulePackages: append([]string{"internal/cli/output", "internal/cloud", "internal/cloud/ratelimit", "internal/cloud/sdk", "internal/cluster", "internal/cluster/ownership", "internal/controller", "internal/controller/config",
		"internal/engine", "internal/engine/bindings", "internal/finding/failure", "internal/kube", "internal/plan/bindingplan", "internal/translate/attach", "internal/translate/gatewayconfig", "internal/translate/report", "internal/translate/settings", "internal/translate/unserved"}, corePackages...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "github.com/spf13/"}},
	"internal/cli/migrate": {mayImportAPI: true, modulePackages: append([]string{"internal/cli/input", "internal/cli/output", "internal/cluster", "internal/controller", "internal/controller/config", "internal/engine", "internal/finding/failure", "internal/migrate", "internal/migrate/check",
		"internal/plan/handover", "internal/translate/settings"}, corePackages...),
		libraries: []string{"github.com/spf13/"}},
	"internal/cli/orphans": {modulePackages: append([]string{"internal/cli/input", "internal/cli/output", "internal/cloud/sdk", "internal/cluster", "internal/controller", "internal/engine", "internal/kube"}, corePackages...),
		libraries: []string{"github.com/spf13/"}},
	"internal/cli/tree": {mayImportAPI: true, modulePackages: append([]string{"internal/cli/input", "internal/cli/output", "internal/cluster", "internal/controller", "internal/controller/config", "internal/engine", "internal/plan/resolved", "internal/plan/targets"}, corePackages...),
		libraries: []string{"github.com/spf13/"}},
	"internal/cli/explain": {mayImportAPI: true, modulePackages: append([]string{"internal/cli/input", "internal/cli/output", "internal/cli/tree", "internal/cluster", "internal/controller/config", "internal/engine", "internal/plan/resolved", "internal/translate/gateway/status"}, corePackages...),
		libraries: []string{"k8s.io/client-go/", "github.com/spf13/"}},
	"internal/cli/doctor": {mayImportAPI: true, modulePackages: append([]string{"config/crd", "config/rights", "internal/cli/input", "internal/cli/orphans", "internal/cli/output", "internal/cloud", "internal/cloud/checks", "internal/cloud/sdk", "internal/cloud/services", "internal/cluster",
		"internal/controller/config", "internal/translate/gatewayconfig"}, corePackages...), libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/spf13/"}},
	"internal/cli/console": {modulePackages: []string{"internal/cli/input", "internal/cli/output", "internal/cli/tree", "internal/finding"}, libraries: []string{"github.com/spf13/"}},
	"internal/cli": {modulePackages: append([]string{"internal/cli/*", "internal/cloud/sdk", "internal/controller", "internal/controller/config", "internal/engine", "internal/plan/bindingplan", "internal/plan/document", "internal/version"}, corePackages...),
		libraries: []string{"sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "k8s.io/klog/", "go.uber.org/zap", "github.com/spf13/"}},

	// Package webhook makes no call to AWS and reads no Secret. Its subpackages have Kubernetes clients.
	"internal/webhook": {mayImportAPI: true, modulePackages: append([]string{"internal/translate/accelerator/rules", "internal/translate/assemble", "internal/plan/bindingplan", "internal/cluster",
		"internal/translate/ingress", "internal/translate/settings", "internal/plan/targets"}, corePackages...), libraries: []string{"github.com/go-logr/", "github.com/prometheus/"}},
	"internal/webhook/*": {mayImportAPI: true, modulePackages: append([]string{"internal/cluster", "internal/kube", "internal/webhook"}, corePackages...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "github.com/prometheus/"}},

	// The emulator is an independent implementation of AWS, so it shares no code with the product.
	"internal/emulator":       {modulePackages: []string{"internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},
	"internal/emulator/*":     {modulePackages: []string{"internal/emulator", "internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},
	"internal/emulator/*/*":   {modulePackages: []string{"internal/emulator", "internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},
	"internal/emulator/*/*/*": {modulePackages: []string{"internal/emulator", "internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},

	"internal/cli/reference": {isPure: true, modulePackages: []string{"config/crd", "internal/controller/config", "internal/finding", "internal/translate/settings", "internal/model"}, libraries: []string{"github.com/spf13/"}},

	// Only tests use these packages.
	"internal/test/plantest":   {isPure: true, modulePackages: corePackages},
	"internal/test/enginetest": {modulePackages: append([]string{"internal/finding/failure", "internal/cluster", "internal/engine", "internal/test/goldentest", "internal/kube", "internal/test/plantest", "internal/test/testclock"}, corePackages...)},

	// Only tests use these packages. Some of them may import all parts of the program.
	"internal/test/goldentest": {},
	"internal/test/cases":      {mayImportAPI: true, modulePackages: []string{"internal/*", "internal/*/*", "internal/test/cases/testdata"}, libraries: []string{"github.com/aws/"}},
	"internal/test/reference":  {mayImportAPI: true, modulePackages: append([]string{"internal/cluster", "internal/plan/document"}, corePackages...), libraries: []string{"github.com/aws/"}},
	"internal/test/takeover":   {mayImportAPI: true, modulePackages: []string{"internal/*", "internal/test/*"}, libraries: []string{"github.com/aws/"}},
	"internal/test/properties": {},
	"internal/test/seeds":      {},
	"internal/test/testclock":  {isPure: true},
	"internal/test/ingressgen": {},
	"internal/test/adversary":  {},
	"internal/test/harness":    {mayImportAPI: true, modulePackages: []string{"config/iam", "config/rights", "internal/*", "internal/*/*"}, libraries: []string{"github.com/aws/", "github.com/go-logr/"}},
}

// durationTables maps each package that declares durations to patterns of the packages that may import it.
var durationTables = map[string][]string{
	"internal/cloud/durations": {"internal/cloud", "internal/cloud/*", "internal/controller"},
	"internal/plan/durations":  {"internal/plan", "internal/plan/*", "internal/engine", "internal/engine/*", "internal/translate/unserved"},
	"internal/kube/durations":  {"internal/kube", "internal/controller", "internal/controller/*", "internal/webhook", "internal/webhook/*", "internal/cli", "internal/cli/*"},
}

// coreAndPlanPackages returns corePackages and the given packages below internal/plan.
func coreAndPlanPackages(below ...string) []string {
	out := slices.Clone(corePackages)
	for _, p := range below {
		out = append(out, "internal/plan/"+p)
	}
	return out
}

func TestImportRules(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "testdata" {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		pkg := path.Join("internal", filepath.ToSlash(filepath.Dir(p)))
		name, rules, ok := layerOf(pkg)
		if !ok {
			t.Errorf("%s is not in the table layers; add it", pkg)
			return nil
		}
		used[name] = true
		rules.modulePackages = slices.Clone(rules.modulePackages)
		for table, users := range durationTables {
			if matchesAny(users, pkg) {
				rules.modulePackages = append(rules.modulePackages, table)
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			return err
		}
		for _, fault := range rules.importFaults(file) {
			t.Errorf("internal/%s: %s", filepath.ToSlash(p), fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range layers {
		if !used[name] && !strings.Contains(name, "*/*") {
			t.Errorf("no package matches the entry %s of layers; remove it", name)
		}
	}
}

func layerOf(pkg string) (string, layer, bool) {
	if l, ok := layers[pkg]; ok {
		return pkg, l, true
	}
	for name, l := range layers {
		if ok, _ := path.Match(name, pkg); ok {
			return name, l, true
		}
	}
	return "", layer{}, false
}

func (l layer) importFaults(f *ast.File) []string {
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		if own, ok := strings.CutPrefix(p, modulePath); ok {
			if strings.HasPrefix(own, "api/") && l.mayImportAPI || matchesAny(l.modulePackages, own) {
				continue
			}
			out = append(out, "must not import "+own)
			continue
		}
		if slices.ContainsFunc(clientLibraries, func(c string) bool { return strings.HasPrefix(p, c) }) &&
			!slices.ContainsFunc(l.libraries, func(c string) bool {
				return p == c || strings.HasSuffix(c, "/") && strings.HasPrefix(p, c) || c == "go.uber.org/zap" && strings.HasPrefix(p, c)
			}) {
			out = append(out, "must not import "+p)
		}
		if l.isPure && slices.Contains(impureImports, p) {
			out = append(out, "is pure and must not import "+p)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if fn, ok := n.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, "has an init function")
		}
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if ok && l.isPure && x.Name == "time" && slices.Contains([]string{"Now", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "Since", "Until"}, s.Sel.Name) {
			out = append(out, "is pure and must not read the clock: time."+s.Sel.Name)
		}
		if ok && l.isPure && x.Name == "clock" && s.Sel.Name == "RealClock" {
			out = append(out, "is pure and must receive its clock from the caller: clock."+s.Sel.Name)
		}
		return true
	})
	return out
}

func matchesAny(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pat string) bool {
		ok, _ := path.Match(pat, p)
		return ok
	})
}
