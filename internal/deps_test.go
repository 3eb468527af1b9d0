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

const module = "github.com/fulcrum-lb/fulcrum/"

// layer has the packages that a package may import; imports of tests are not checked.
type layer struct {
	// own are patterns of packages of this module. A package with api may also import the API types below api/.
	own []string
	api bool
	// pure packages do no input or output, do not log, and do not read the clock.
	pure bool
	// libraries lists the entries of clientLibraries that the package may import.
	libraries []string
}

// clientLibraries are libraries that only packages that list them may import.
var clientLibraries = []string{
	"github.com/aws/", "k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "k8s.io/klog/",
	"go.uber.org/zap", "github.com/prometheus/", "github.com/spf13/",
}

// impureImports may not be imported by pure packages.
var impureImports = []string{"net/http", "os", "os/exec", "log", "log/slog", "math/rand", "math/rand/v2", "net"}

var core = []string{"internal/finding", "internal/model", "internal/observed", "internal/naming", "internal/plan/network", "internal/plan"}

// frontend has the packages that the translation of one kind of object may import.
var frontend = layer{pure: true, api: true,
	own: append([]string{"internal/translate/assemble", "internal/translate/attach", "internal/cluster", "internal/engine", "internal/translate/gatewayconfig", "internal/translate/members", "internal/cluster/ownership", "internal/plan/overlap", "internal/plan/rules", "internal/translate/report", "internal/translate/settings"}, core...)}

// line are the packages for the stages of a run (view, translate, observe, plan, apply, report) and their composition.
var line = []string{"internal/*", "internal/cloud/drift", "internal/cloud/services", "internal/cluster/*", "internal/engine/*", "internal/finding/*", "internal/plan/*", "internal/translate/*"}

// layers has the allowed imports of each package. A package that is not listed is an error, so that its author has to
// decide on its layer.
var layers = map[string]layer{
	"internal/finding":         {pure: true},
	"internal/finding/failure": {pure: true, own: core[:1]},
	"internal/engine/repeat":   {pure: true},
	"internal/engine/refused":  {pure: true, own: append([]string{"internal/finding/failure"}, core...)},
	"internal/model":           {pure: true, own: core[:1]},
	"internal/observed":        {pure: true, own: core[:2]},
	"internal/naming":          {pure: true, own: core[:3]},
	"internal/version":         {pure: true},
	"internal/plan/network":    {pure: true, own: core[:4]},
	// This package handles private keys.
	"internal/model/certificate":  {pure: true, own: core[:2]},
	"internal/plan":               {pure: true, own: append([]string{"internal/plan/equal"}, core[:4]...)},
	"internal/translate/settings": {pure: true, api: true, own: core[:2]},
	// controller-runtime defines the interface of all Kubernetes objects; the imported package makes no connection.
	"internal/cluster": {pure: true, api: true, own: []string{"internal/finding", "internal/naming"}, libraries: []string{"sigs.k8s.io/controller-runtime/pkg/client"}},

	// Parts of the plan; each may import only parts above it.
	"internal/plan/durations":      {pure: true},
	"internal/plan/equal":          {pure: true, own: core[:3]},
	"internal/plan/overlap":        {pure: true, own: core[:2]},
	"internal/plan/draft":          {pure: true, own: parts("equal")},
	"internal/plan/resolved":       {pure: true, own: parts("draft", "equal", "overlap")},
	"internal/plan/authority":      {pure: true, own: parts("equal")},
	"internal/plan/owners":         {pure: true, own: parts("draft", "equal", "overlap", "resolved")},
	"internal/plan/traffic":        {pure: true, own: parts("draft", "equal", "owners", "resolved")},
	"internal/plan/accelerators":   {pure: true, own: parts("draft", "resolved")},
	"internal/plan/handover":       {pure: true, own: append([]string{"internal/migrate/check"}, parts("equal")...)},
	"internal/plan/addons":         {pure: true, own: parts("draft")},
	"internal/plan/securitygroups": {pure: true, own: parts("draft", "resolved")},
	"internal/plan/loadbalancers":  {pure: true, own: parts("draft", "equal", "owners", "resolved", "targetgroups")},
	"internal/plan/certificates":   {pure: true, own: parts("draft", "equal", "owners", "resolved")},
	"internal/plan/targetgroups":   {pure: true, own: parts("draft", "equal", "owners", "resolved")},
	"internal/plan/rules":          {pure: true, own: parts("draft", "equal", "overlap", "owners", "resolved", "traffic")},
	"internal/plan/listeners":      {pure: true, own: parts("certificates", "draft", "equal", "owners", "resolved", "rules", "targetgroups", "traffic")},
	"internal/plan/replacement":    {pure: true, own: parts("draft", "equal", "listeners", "loadbalancers", "owners", "resolved", "targetgroups", "traffic")},
	"internal/plan/document":       {pure: true, own: parts("draft", "equal", "owners", "resolved", "securitygroups", "targetgroups")},
	"internal/plan/planner":        {pure: true, own: parts("*")},

	"internal/translate/members":       {pure: true, own: append([]string{"internal/translate/settings"}, core...)},
	"internal/translate/assemble":      {pure: true, own: append([]string{"internal/model/certificate", "internal/translate/members", "internal/plan/equal", "internal/translate/settings"}, core...)},
	"internal/cluster/ownership":       {pure: true, own: append([]string{"internal/cluster"}, core...)},
	"internal/translate/gatewayconfig": {pure: true, api: true, own: append([]string{"internal/cluster", "internal/translate/settings"}, core...)},
	"internal/translate/unserved":      {pure: true, api: true, own: append([]string{"internal/cluster", "internal/translate/gatewayconfig", "internal/translate/settings"}, core...)},
	"internal/translate/gatewayclass":  {pure: true, api: true, own: []string{"internal/translate/attach", "internal/cluster", "internal/finding", "internal/translate/gatewayconfig", "internal/cluster/ownership"}},
	"internal/translate/attach":        {pure: true, own: append([]string{"internal/cluster"}, core[:2]...)},
	"internal/plan/targets":            {pure: true, api: true, own: append([]string{"internal/cluster"}, core...)},
	"internal/plan/bindingplan":        {pure: true, api: true, own: append([]string{"internal/cluster", "internal/finding/failure", "internal/plan/targets"}, core...)},
	"internal/engine/checkpoint":       {pure: true, own: core[:2]},
	"internal/engine/imports":          {pure: true, own: core},
	"internal/engine/resync":           {pure: true, own: append([]string{"internal/engine/repeat"}, core...)},
	"internal/engine": {pure: true, own: append([]string{"internal/cluster", "internal/engine/checkpoint", "internal/engine/imports", "internal/engine/refused", "internal/finding/failure", "internal/plan/document", "internal/plan/handover", "internal/plan/planner",
		"internal/plan/resolved", "internal/engine/repeat", "internal/engine/resync"}, core...)},
	"internal/engine/bindings":  {pure: true, api: true, own: append([]string{"internal/plan/bindingplan", "internal/cluster", "internal/engine", "internal/engine/repeat", "internal/engine/resync", "internal/finding/failure", "internal/cluster/ownership", "internal/plan/targets"}, core...)},
	"internal/translate/report": {pure: true, own: append([]string{"internal/cluster", "internal/engine"}, core...)},
	// Checks of a GlobalAccelerator without other objects; both admission and translation use them.
	"internal/translate/accelerator/rules": {pure: true, api: true, own: core[:1]},

	"internal/translate/accelerator": {pure: true, api: true, own: append([]string{"internal/translate/accelerator/rules"}, frontend.own...)},
	"internal/translate/ingress":     frontend,
	"internal/translate/service":     frontend,
	"internal/translate/gateway":     {pure: true, api: true, own: append([]string{"internal/translate/gateway/status"}, frontend.own...)},
	"internal/translate/gateway/status": {pure: true, api: true, own: append([]string{"internal/cluster", "internal/cluster/ownership", "internal/engine",
		"internal/translate/attach", "internal/translate/gatewayconfig", "internal/translate/report"}, core...)},

	"internal/migrate/check": {pure: true, own: append([]string{"internal/migrate/match", "internal/plan/equal"}, core...)},
	"internal/migrate/match": {pure: true, own: core[:2]},
	"internal/migrate":       {pure: true, api: true, own: append([]string{"internal/cluster", "internal/engine", "internal/migrate/check", "internal/migrate/match", "internal/translate/gatewayconfig", "internal/translate/settings"}, core...)},

	"internal/cloud/drift":     {own: core[:2], libraries: []string{"github.com/go-logr/"}},
	"internal/cloud/durations": {pure: true},

	"internal/cloud/services":  {pure: true},
	"internal/cloud/ratelimit": {own: []string{"internal/cloud/services"}},
	"internal/cloud/cache":     {pure: true},
	"internal/cloud/sdk": {own: []string{"internal/cloud/cache", "internal/cloud/ratelimit", "internal/cloud/services", "internal/cloud/drift",
		"internal/finding/failure", "internal/finding", "internal/observed"}, libraries: []string{"github.com/aws/"}},
	"internal/cloud/convert": {pure: true, own: core[:3], libraries: []string{"github.com/aws/"}},
	"internal/cloud/certificates": {own: append([]string{"internal/model/certificate", "internal/cloud/cache", "internal/cloud/convert", "internal/cloud/sdk",
		"internal/finding/failure"}, core...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/enis": {own: append([]string{"internal/cloud/cache", "internal/cloud/convert", "internal/cloud/sdk", "internal/engine/bindings",
		"internal/finding/failure"}, core...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/inventory": {own: append([]string{"internal/cloud/cache", "internal/cloud/drift", "internal/cloud/sdk"}, core...)},
	"internal/cloud/observe": {own: append([]string{"internal/cloud/cache", "internal/cloud/convert", "internal/cloud/drift", "internal/cloud/inventory", "internal/cloud/sdk"}, core...),
		libraries: []string{"github.com/aws/"}},
	"internal/cloud/targets": {own: append([]string{"internal/cloud/cache", "internal/cloud/convert", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/ratelimit", "internal/cloud/sdk",
		"internal/engine", "internal/engine/bindings"}, core...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/facts": {own: append([]string{"internal/cloud/cache", "internal/cloud/certificates", "internal/cloud/convert", "internal/cloud/enis", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/sdk",
		"internal/cloud/targets", "internal/engine"}, core...), libraries: []string{"github.com/aws/"}},
	"internal/cloud/accelerators": {own: append([]string{"internal/cloud/cache", "internal/cloud/drift", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/sdk", "internal/finding/failure"}, core...),
		libraries: []string{"github.com/aws/"}},
	"internal/cloud/apply": {own: append([]string{"internal/cloud/cache", "internal/cloud/certificates", "internal/cloud/convert", "internal/cloud/facts", "internal/cloud/inventory", "internal/cloud/observe", "internal/cloud/ratelimit",
		"internal/cloud/sdk", "internal/cloud/targets", "internal/engine", "internal/engine/bindings", "internal/finding/failure"}, core...), libraries: []string{"github.com/aws/"}},
	"internal/cloud": {own: append([]string{"internal/cloud/accelerators", "internal/cloud/apply", "internal/cloud/certificates", "internal/cloud/drift", "internal/cloud/enis", "internal/cloud/facts", "internal/cloud/inventory", "internal/cloud/observe",
		"internal/cloud/ratelimit", "internal/cloud/sdk", "internal/cloud/services", "internal/cloud/targets", "internal/engine", "internal/engine/bindings"}, core...)},
	"internal/cloud/checks":   {own: append([]string{"internal/cloud", "internal/cloud/sdk", "internal/cloud/services", "internal/finding/failure"}, core...), libraries: []string{"github.com/aws/"}},
	"internal/kube/durations": {pure: true},
	"internal/kube": {api: true, own: append([]string{"internal/cluster", "internal/cluster/ownership", "internal/engine", "internal/engine/bindings", "internal/engine/repeat"}, core...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/"}},
	"internal/controller/config": {own: []string{"internal/naming"}, libraries: []string{"github.com/spf13/"}},
	"internal/controller/queue": {own: []string{"internal/cluster", "internal/finding/failure", "internal/kube"},
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/"}},
	"internal/controller": {api: true, own: append([]string{"internal/controller/*", "internal/webhook/serving"}, line...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "github.com/prometheus/"}},
	// The command line: each package may import only packages above it. Packages that read input and write output do
	// not import the commands.
	"internal/cli/output": {own: append([]string{"internal/cluster"}, core...), libraries: []string{"github.com/spf13/"}},
	"internal/cli/input": {own: append([]string{"internal/cli/output", "internal/cloud", "internal/cloud/ratelimit", "internal/cloud/sdk", "internal/cluster", "internal/cluster/ownership", "internal/controller", "internal/controller/config",
		"internal/engine", "internal/engine/bindings", "internal/finding/failure", "internal/kube", "internal/plan/bindingplan", "internal/translate/attach", "internal/translate/gatewayconfig", "internal/translate/report", "internal/translate/settings", "internal/translate/unserved"}, core...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "github.com/spf13/"}},
	"internal/cli/migrate": {api: true, own: append([]string{"internal/cli/input", "internal/cli/output", "internal/cluster", "internal/controller", "internal/controller/config", "internal/engine", "internal/finding/failure", "internal/migrate", "internal/migrate/check",
		"internal/plan/handover", "internal/translate/settings"}, core...),
		libraries: []string{"github.com/spf13/"}},
	"internal/cli/orphans": {own: append([]string{"internal/cli/input", "internal/cli/output", "internal/cloud/sdk", "internal/cluster", "internal/controller", "internal/engine", "internal/kube"}, core...),
		libraries: []string{"github.com/spf13/"}},
	"internal/cli/tree": {api: true, own: append([]string{"internal/cli/input", "internal/cli/output", "internal/cluster", "internal/controller", "internal/controller/config", "internal/engine", "internal/plan/resolved", "internal/plan/targets"}, core...),
		libraries: []string{"github.com/spf13/"}},
	"internal/cli/explain": {api: true, own: append([]string{"internal/cli/input", "internal/cli/output", "internal/cli/tree", "internal/cluster", "internal/controller/config", "internal/engine", "internal/plan/resolved"}, core...),
		libraries: []string{"k8s.io/client-go/", "github.com/spf13/"}},
	"internal/cli/doctor": {api: true, own: append([]string{"config/crd", "config/rights", "internal/cli/input", "internal/cli/orphans", "internal/cli/output", "internal/cloud", "internal/cloud/checks", "internal/cloud/sdk", "internal/cloud/services", "internal/cluster",
		"internal/controller/config", "internal/translate/gatewayconfig"}, core...), libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/spf13/"}},
	"internal/cli/console": {own: []string{"internal/cli/input", "internal/cli/output", "internal/cli/tree", "internal/finding"}, libraries: []string{"github.com/spf13/"}},
	"internal/cli": {own: append([]string{"internal/cli/*", "internal/cloud/sdk", "internal/controller", "internal/controller/config", "internal/engine", "internal/plan/bindingplan", "internal/plan/document", "internal/version"}, core...),
		libraries: []string{"sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "k8s.io/klog/", "go.uber.org/zap", "github.com/spf13/"}},

	// The package webhook makes no call to AWS and reads no Secret; its subpackages have Kubernetes clients.
	"internal/webhook": {api: true, own: append([]string{"internal/translate/accelerator/rules", "internal/translate/assemble", "internal/plan/bindingplan", "internal/cluster",
		"internal/translate/ingress", "internal/translate/settings", "internal/plan/targets"}, core...), libraries: []string{"github.com/go-logr/", "github.com/prometheus/"}},
	"internal/webhook/*": {api: true, own: append([]string{"internal/cluster", "internal/kube", "internal/webhook"}, core...),
		libraries: []string{"k8s.io/client-go/", "sigs.k8s.io/controller-runtime/", "github.com/go-logr/", "github.com/prometheus/"}},

	// The emulator is an independent implementation of AWS, so it shares no code with the product.
	"internal/emulator":       {own: []string{"internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},
	"internal/emulator/*":     {own: []string{"internal/emulator", "internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},
	"internal/emulator/*/*":   {own: []string{"internal/emulator", "internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},
	"internal/emulator/*/*/*": {own: []string{"internal/emulator", "internal/emulator/*", "internal/emulator/*/*"}, libraries: []string{"github.com/aws/"}},

	"internal/cli/reference": {pure: true, own: []string{"config/crd", "internal/controller/config", "internal/finding", "internal/translate/settings", "internal/model"}, libraries: []string{"github.com/spf13/"}},

	// Only tests use it.
	"internal/test/plantest":   {pure: true, own: core},
	"internal/test/enginetest": {own: append([]string{"internal/cluster", "internal/engine", "internal/test/goldentest", "internal/kube", "internal/test/plantest", "internal/test/testclock"}, core...)},

	// Only tests use these packages, which combine all parts.
	"internal/test/goldentest": {},
	"internal/test/cases":      {api: true, own: []string{"internal/*", "internal/*/*", "internal/test/cases/testdata"}, libraries: []string{"github.com/aws/"}},
	"internal/test/reference":  {api: true, own: append([]string{"internal/cluster", "internal/plan/document"}, core...), libraries: []string{"github.com/aws/"}},
	"internal/test/takeover":   {api: true, own: []string{"internal/*", "internal/test/*"}, libraries: []string{"github.com/aws/"}},
	"internal/test/properties": {},
	"internal/test/seeds":      {},
	"internal/test/testclock":  {pure: true},
	"internal/test/ingressgen": {},
	"internal/test/adversary":  {},
	"internal/test/harness":    {api: true, own: []string{"config/iam", "config/rights", "internal/*", "internal/*/*"}, libraries: []string{"github.com/aws/", "github.com/go-logr/"}},
}

// durationTables are the packages that declare durations, with the packages that may use them.
var durationTables = map[string][]string{
	"internal/cloud/durations": {"internal/cloud", "internal/cloud/*", "internal/controller"},
	"internal/plan/durations":  {"internal/plan", "internal/plan/*", "internal/engine", "internal/engine/*", "internal/translate/unserved"},
	"internal/kube/durations":  {"internal/kube", "internal/controller", "internal/controller/*", "internal/webhook", "internal/webhook/*", "internal/cli", "internal/cli/*"},
}

// parts returns core and the given packages below internal/plan.
func parts(below ...string) []string {
	out := slices.Clone(core)
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
			t.Errorf("%s has no place among the layers", pkg)
			return nil
		}
		used[name] = true
		rules.own = slices.Clone(rules.own)
		for table, users := range durationTables {
			if matches(users, pkg) {
				rules.own = append(rules.own, table)
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			return err
		}
		for _, fault := range rules.faults(file) {
			t.Errorf("internal/%s: %s", filepath.ToSlash(p), fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range layers {
		if !used[name] && !strings.Contains(name, "*/*") {
			t.Errorf("the layer %s has no package", name)
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

func (l layer) faults(f *ast.File) []string {
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		if own, ok := strings.CutPrefix(p, module); ok {
			if strings.HasPrefix(own, "api/") && l.api || matches(l.own, own) {
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
		if l.pure && slices.Contains(impureImports, p) {
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
		if ok && l.pure && x.Name == "time" && slices.Contains([]string{"Now", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "Since", "Until"}, s.Sel.Name) {
			out = append(out, "is pure and must not look at the clock: time."+s.Sel.Name)
		}
		if ok && l.pure && x.Name == "clock" && s.Sel.Name == "RealClock" {
			out = append(out, "is pure and must be given its clock: clock."+s.Sel.Name)
		}
		return true
	})
	return out
}

func matches(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pat string) bool {
		ok, _ := path.Match(pat, p)
		return ok
	})
}
