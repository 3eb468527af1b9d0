package charts

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

// TestRenderedChartMatchesContract compares the rendered chart with the files in testdata/contract. These files are written
// by hand, and the flag -update does not change them. They have the names, selectors, arguments and webhooks of the chart of
// aws-load-balancer-controller, so that an upgrade from that chart changes objects in place.
func TestRenderedChartMatchesContract(t *testing.T) {
	for _, name := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, u := range parseObjects(t, render(t, readValues(t, name), renderOptions{})) {
				got = append(got, contractLines(t, u)...)
			}
			want := readContract(t, name)
			slices.Sort(got)
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-required +rendered:\n%s", d)
			}
		})
	}
}

// readContract returns the lines of a contract file. A line "like NAME" includes the lines of another file. A line
// "- PREFIX" removes the included lines with that prefix.
func readContract(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(string(readFile(t, filepath.Join("testdata", "contract", name+".txt")))) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if other, ok := strings.CutPrefix(line, "like "); ok {
			out = append(out, readContract(t, other)...)
			continue
		}
		without, ok := strings.CutPrefix(line, "- ")
		if !ok {
			out = append(out, line)
			continue
		}
		before := len(out)
		if out = slices.DeleteFunc(out, func(l string) bool { return strings.HasPrefix(l, without) }); len(out) == before {
			t.Errorf("contract/%s.txt: no line begins with %q", name, without)
		}
	}
	return out
}

// contractLines returns one line for each part of an object that the contract covers.
func contractLines(t *testing.T, u *unstructured.Unstructured) []string {
	t.Helper()
	name := u.GetName()
	if u.GetNamespace() != "" {
		name = u.GetNamespace() + "/" + name
	}
	out := []string{u.GetKind() + " " + name}
	add := func(what string, v any) {
		if text := strings.ReplaceAll(fmt.Sprint(v), "map[string]interface {}", "map"); text != "" && v != nil {
			out = append(out, u.GetKind()+" "+what+" "+text)
		}
	}
	field := func(path ...string) any {
		v, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	switch u.GetKind() {
	case "Deployment":
		add("selector", field("spec", "selector", "matchLabels"))
		add("replicas", field("spec", "replicas"))
		add("pod labels", field("spec", "template", "metadata", "labels"))
		if a, ok := field("spec", "template", "metadata", "annotations").(map[string]any); ok && a["checksum/webhook-tls"] != nil {
			a["checksum/webhook-tls"] = "CHECKSUM"
		}
		add("pod annotations", field("spec", "template", "metadata", "annotations"))
		pod := fieldAt[map[string]any](t, u.Object, "spec", "template", "spec")
		add("account", pod["serviceAccountName"])
		if len(fieldAt[[]any](t, pod, "containers")) != 1 {
			t.Error("there is more than one container")
		}
		c := fieldAt[map[string]any](t, pod, "containers", 0)
		add("container", c["name"])
		add("image", c["image"])
		add("mounts", c["volumeMounts"])
		add("volumes", pod["volumes"])
		if c["command"] != nil {
			t.Error("the container has a command; the entry point of the image is the controller")
		}
		for _, a := range fieldAt[[]any](t, c, "args") {
			add("arg", a)
		}
		for _, p := range fieldAt[[]any](t, c, "ports") {
			add("port", p)
		}
	case "Service":
		add(name+" selector", field("spec", "selector"))
		add(name+" ports", field("spec", "ports"))
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		for _, item := range fieldAt[[]any](t, u.Object, "webhooks") {
			w := item.(map[string]any)
			add("webhook", fmt.Sprint(w["name"], " ", w["failurePolicy"], " ", fieldAt[string](t, w, "clientConfig", "service", "name"), fieldAt[string](t, w, "clientConfig", "service", "path"),
				" ", fieldAt[[]any](t, w, "rules", 0, "resources"), fieldAt[[]any](t, w, "rules", 0, "operations")))
			for _, s := range []string{"namespaceSelector", "objectSelector"} {
				if w[s] != nil {
					add(s, fmt.Sprint(w["name"], " ", w[s]))
				}
			}
		}
	case "RoleBinding", "ClusterRoleBinding":
		add(name+" role", field("roleRef", "name"))
		add(name+" subjects", field("subjects"))
	case "IngressClass":
		add("controller", field("spec", "controller"))
		add("parameters", field("spec", "parameters"))
		add("annotations", field("metadata", "annotations"))
	case "ServiceMonitor":
		add("selector", field("spec", "selector"))
	case "PodDisruptionBudget", "HorizontalPodAutoscaler":
		add("spec", field("spec"))
	case "Certificate":
		add(name+" for", field("spec", "dnsNames"))
		add(name+" in", field("spec", "secretName"))
	case "Secret":
		add("type", field("type"))
	}
	return out
}

// TestArgumentsAreAccepted checks that the controller accepts the arguments that the chart renders.
func TestArgumentsAreAccepted(t *testing.T) {
	for _, name := range valuesFiles(t) {
		t.Run(name, func(t *testing.T) {
			c, err := parseArguments(renderedArguments(t, readValues(t, name)))
			if err != nil {
				t.Fatal(err)
			}
			if c.ClusterName == "" || strings.Contains(c.ClusterName, "{") {
				t.Errorf("the name of the cluster is %q", c.ClusterName)
			}
		})
	}
}

func renderedArguments(t *testing.T, values map[string]any) []string {
	t.Helper()
	d := findObject(t, parseObjects(t, render(t, values, renderOptions{})), "Deployment", "")
	var out []string
	for _, a := range fieldAt[[]any](t, d.Object, "spec", "template", "spec", "containers", 0, "args") {
		out = append(out, a.(string))
	}
	return out
}

func parseArguments(args []string) (config.Config, error) {
	c := config.Default()
	fs := pflag.NewFlagSet("fulcrum", pflag.ContinueOnError)
	c.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// flagsWithoutChartValue maps each flag of the controller that no value of the chart sets to the reason.
var flagsWithoutChartValue = map[string]string{
	"aws-vpc-tag-key":     "deprecated, without effect",
	"webhook-name-prefix": "follows nameOverride",
	"shadow":              "a shadow controller runs beside a release; the chart does not install one",
	"shadow-report":       "see --shadow",
}

// TestEveryFlagHasAValue checks that each flag of the controller has a value in the chart, and that the flag is among the
// arguments with the value that was set.
func TestEveryFlagHasAValue(t *testing.T) {
	samples := map[string]string{
		"default-target-type": "ip", "default-load-balancer-scheme": "internet-facing", "ingress-group-tenancy": "isolated",
		"replacement": "delete-first", "import-tls-secrets": "gateway", "required-secrets-label": "a=b", "feature-gates": "ALBSingleSubnet=true",
		"backend-security-group": "sg-1", "aws-api-throttle": "ACM:.*=1:2", "metrics-bind-addr": ":9", "health-probe-bind-addr": ":8",
		"log-level": "debug", "log-format": "text", "drift": "report", "webhooks": "off", "profiling-bind-addr": "127.0.0.1:6060",
	}
	sample := func(f *pflag.Flag) any {
		if s, ok := samples[f.Name]; ok {
			return s
		}
		switch f.Value.Type() {
		case "bool":
			return f.DefValue == "false"
		case "int":
			return 7
		case "duration":
			return "7m0s"
		case "stringToString":
			return map[string]any{"b": "1", "a": "x,y"}
		case "stringSlice":
			return []any{"x", "y"}
		}
		return "x"
	}
	values := map[string]string{}
	for _, r := range flagTable(t) {
		if other, ok := values[r.Flag]; ok {
			t.Errorf("--%s is set by %s and %s", r.Flag, other, r.Value)
		}
		values[r.Flag] = r.Value
	}
	c := config.Default()
	fs := pflag.NewFlagSet("fulcrum", pflag.ContinueOnError)
	c.AddFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		value, ok := values[f.Name]
		delete(values, f.Name)
		if !ok {
			if flagsWithoutChartValue[f.Name] == "" {
				t.Errorf("no value sets --%s; add it to charts/fulcrum: files/flags.yaml, values.yaml and values.schema.json", f.Name)
			}
			return
		}
		given := sample(f)
		if s, ok := given.(string); ok && slices.Contains([]string{"feature-gates", "import-tls-secrets"}, f.Name) {
			key, v, pair := strings.Cut(s, "=")
			given = []any{key}
			if pair {
				given = map[string]any{key: v}
			}
		}
		tree := map[string]any{"clusterName": "c"}
		at := tree
		steps := strings.Split(value, ".")
		for _, step := range steps[:len(steps)-1] {
			below := map[string]any{}
			at[step] = below
			at = below
		}
		at[steps[len(steps)-1]] = given
		args := renderedArguments(t, tree)
		seen := config.Default()
		got := pflag.NewFlagSet("fulcrum", pflag.ContinueOnError)
		seen.AddFlags(got)
		if err := got.Parse(args); err != nil {
			t.Errorf("%s: %v", value, err)
			return
		}
		if !got.Lookup(f.Name).Changed {
			t.Errorf("%s: %v does not set --%s: %v", value, given, f.Name, args)
		}
		if f.Value.Type() != "stringToString" { // the order of the pairs is random
			text := fmt.Sprint(sample(f))
			if list, ok := sample(f).([]any); ok {
				text = strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
			}
			def := config.Default()
			want := pflag.NewFlagSet("fulcrum", pflag.ContinueOnError)
			def.AddFlags(want)
			if err := want.Set(f.Name, text); err != nil {
				t.Errorf("--%s=%s: %v", f.Name, text, err)
			}
			if g, w := got.Lookup(f.Name).Value.String(), want.Lookup(f.Name).Value.String(); g != w {
				t.Errorf("%s sets --%s to %s, want %s", value, f.Name, g, w)
			}
		}
		if f.Value.Type() == "stringToString" {
			m, err := got.GetStringToString(f.Name)
			if err != nil || m["a"] != "x,y" || m["b"] != "1" {
				t.Errorf("%s sets the flag to %v, %v", value, m, err)
			}
		}
	})
	for flag, value := range values {
		t.Errorf("%s sets --%s, which does not exist", value, flag)
	}
}
