package charts

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/config/rbac"
)

// TestGenerated checks that the generated CRDs, rules and pages are up to date with their sources.
func TestGenerated(t *testing.T) {
	for path, content := range generatedFiles(t) {
		checkGolden(t, path, content)
	}
	shipped, err := filepath.Glob("fulcrum/crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range shipped {
		if _, ok := generatedFiles(t)[path]; !ok {
			t.Errorf("%s has no source in config/crd", path)
		}
	}
}

// generatedFiles returns the expected content of the generated files, by path.
func generatedFiles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{
		"../docs/chart-values.md":              valuesPage(t),
		"../docs/metrics.md":                   metricsPage(t),
		"fulcrum/files/cluster-rules.yaml":     renderRoleRules(t, "ClusterRole"),
		"fulcrum/files/lease-rules.yaml":       renderRoleRules(t, "Role", "fulcrum-leader-election"),
		"fulcrum/files/certificate-rules.yaml": renderRoleRules(t, "Role", "fulcrum-webhook-certificate"),
	}
	files, err := fs.Glob(crd.Files(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := fs.ReadFile(crd.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		out["fulcrum/crds/"+name] = string(b)
	}
	return out
}

// role has the fields that ClusterRoles and Roles have in common.
type role struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Rules    []rbacv1.PolicyRule
}

// shippedRoles returns the roles of config/rbac.
func shippedRoles(t *testing.T) []role {
	t.Helper()
	files, err := rbac.Documents()
	if err != nil {
		t.Fatal(err)
	}
	var out []role
	for _, f := range files {
		for _, doc := range strings.Split(string(f), "\n---\n") {
			var r role
			if err := yaml.Unmarshal([]byte(doc), &r); err != nil {
				t.Fatal(err)
			}
			out = append(out, r)
		}
	}
	return out
}

// renderRoleRules returns, as YAML, the rules of the roles in config/rbac. It takes only roles of the given kind and names.
// If no name is given, it takes all roles of the kind.
func renderRoleRules(t *testing.T, kind string, names ...string) string {
	t.Helper()
	var all []rbacv1.PolicyRule
	for _, r := range shippedRoles(t) {
		if r.Kind == kind && (len(names) == 0 || slices.Contains(names, r.Metadata.Name)) {
			all = append(all, r.Rules...)
		}
	}
	if len(all) == 0 {
		t.Fatalf("config/rbac has no %s %v", kind, names)
	}
	b, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// flagRow is an entry of files/flags.yaml: a flag of the controller, with the value of the chart that sets the flag.
type flagRow struct{ Value, Flag, Kind, Except string }

func flagTable(t *testing.T) []flagRow {
	t.Helper()
	var out []flagRow
	if err := yaml.UnmarshalStrict(readFile(t, "fulcrum/files/flags.yaml"), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// documentedValue is a value of the chart that has a comment in values.yaml.
type documentedValue struct{ path, defaultValue, description string }

// documentedValues returns the values in values.yaml that have a comment. The values below a commented value are part of its
// default. It fails the test if a value has no comment.
func documentedValues(t *testing.T) []documentedValue {
	t.Helper()
	var doc yamlv3.Node
	if err := yamlv3.Unmarshal(readFile(t, "fulcrum/values.yaml"), &doc); err != nil {
		t.Fatal(err)
	}
	var out []documentedValue
	var walk func(path string, m *yamlv3.Node)
	walk = func(path string, m *yamlv3.Node) {
		for i := 0; i < len(m.Content); i += 2 {
			key, val := m.Content[i], m.Content[i+1]
			name := strings.TrimPrefix(path+"."+key.Value, ".")
			// The comment at the top of the file is a separate paragraph before the comment of the first key.
			paragraphs := strings.Split(key.HeadComment, "\n\n")
			comment := strings.ReplaceAll(strings.ReplaceAll(paragraphs[len(paragraphs)-1], "\n# ", " "), "# ", "")
			if comment == "" {
				if val.Kind != yamlv3.MappingNode || len(val.Content) == 0 {
					t.Errorf("values.yaml: %s has no comment", name)
				}
				walk(name, val)
				continue
			}
			out = append(out, documentedValue{name, defaultText(t, val), comment})
		}
	}
	walk("", doc.Content[0])
	return out
}

// defaultText returns a default value as Markdown code on one line. It returns "" for an empty value.
func defaultText(t *testing.T, n *yamlv3.Node) string {
	t.Helper()
	if n.Kind == yamlv3.ScalarNode {
		if n.Value == "" {
			return ""
		}
		return "`" + n.Value + "`"
	}
	b, err := yamlv3.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	j, err := yaml.YAMLToJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(j); text != "{}" && text != "[]" {
		return "`" + text + "`"
	}
	return ""
}

const valuesPageHeader = `<!-- Generated by make generate, from charts/fulcrum/values.yaml; do not edit. -->
# Values of the chart

After reading this page you can write a values file for the chart, or use the one that aws-load-balancer-controller was installed with.

## Example

` + "```yaml" + `
clusterName: shop
region: eu-central-1
serviceAccount:
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::123456789012:role/load-balancers
` + "```" + `

` + "```" + `
helm upgrade --install aws-load-balancer-controller charts/fulcrum -n kube-system -f values.yaml
` + "```" + `

[install.md](install.md) describes the installation, [takeover.md](takeover.md) the migration from aws-load-balancer-controller and back.

## What is checked

Helm rejects values that do not exist or have a wrong type, before it changes anything. The error names the value. ` + "`helm lint`" + ` reports the same errors. A value that is empty, unset or 0 sets no flag; a switch (true, false or empty) sets its flag if it is not empty. To set a flag that has no value in the chart, use ` + "`extraArgs`" + `.

## Values

| Value | Default | Flag | Meaning |
|---|---|---|---|
`

// valuesPage returns the content of docs/chart-values.md.
func valuesPage(t *testing.T) string {
	t.Helper()
	flags := map[string]string{}
	for _, r := range flagTable(t) {
		flags[r.Value] = "`--" + r.Flag + "`"
	}
	out := valuesPageHeader
	for _, v := range documentedValues(t) {
		out += fmt.Sprintf("| `%s` | %s | %s | %s |\n", v.path, strings.ReplaceAll(v.defaultValue, "|", "\\|"), flags[v.path], v.description)
	}
	return out
}

// alertTable matches the part of docs/metrics.md with the table of alerts.
var alertTable = regexp.MustCompile(`(?s)(## What to alert on\n\n).*?(\n\nA finding alone)`)

// metricsPage returns the content of docs/metrics.md with the current alerts of the chart.
func metricsPage(t *testing.T) string {
	t.Helper()
	rows := "`charts/fulcrum` installs these alerts with the value `prometheusRule.enabled`, and a Grafana dashboard with `grafanaDashboard.enabled`.\n\n" +
		"<!-- The table is generated by make generate, from charts/fulcrum/files/alerts.yaml. -->\n" +
		"| Alert | Meaning | Expression | What to do |\n|---|---|---|---|\n"
	for _, r := range readAlerts(t) {
		lasts := ""
		if r.For != "" {
			lasts = " for " + r.For
		}
		rows += fmt.Sprintf("| `%s` | %s | `%s`%s | %s |\n", r.Alert, r.Annotations["summary"], r.Expr, lasts, r.Annotations["action"])
	}
	page := string(readFile(t, "../docs/metrics.md"))
	if !alertTable.MatchString(page) {
		t.Fatal("docs/metrics.md has no part \"What to alert on\"")
	}
	return alertTable.ReplaceAllStringFunc(page, func(old string) string {
		m := alertTable.FindStringSubmatch(old)
		return m[1] + strings.TrimSuffix(rows, "\n") + m[2]
	})
}
