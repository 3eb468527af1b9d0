package charts

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	// These packages register metrics of controller-runtime that the controller serves.
	_ "sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
	_ "sigs.k8s.io/controller-runtime/pkg/controller"
	_ "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// alertRule is an alert of files/alerts.yaml.
type alertRule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func readAlerts(t *testing.T) []alertRule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alertRule
		}
	}
	if err := yaml.UnmarshalStrict(readFile(t, "fulcrum/files/alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 8 {
		t.Fatalf("alerts.yaml has %d groups", len(file.Groups))
	}
	return file.Groups[0].Rules
}

// TestAlertsAreValid checks that Prometheus accepts the alerts, that each alert has a severity and texts about the problem
// and its fix, and that the chart installs these alerts.
func TestAlertsAreValid(t *testing.T) {
	groups, faults := rulefmt.Parse(readFile(t, "fulcrum/files/alerts.yaml"), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, f := range faults {
		t.Error(f)
	}
	if groups == nil {
		t.Fatal("no alerts")
	}
	seen := map[string]bool{}
	for _, r := range readAlerts(t) {
		if seen[r.Alert] {
			t.Errorf("alert %s is defined twice", r.Alert)
		}
		seen[r.Alert] = true
		for _, a := range []string{"summary", "description", "action"} {
			if r.Annotations[a] == "" {
				t.Errorf("%s has no annotation %s", r.Alert, a)
			}
		}
		if !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s has the severity %q", r.Alert, r.Labels["severity"])
		}
		if strings.Contains(r.Expr, "controller-leader") {
			t.Errorf("%s depends on the name of the Lease, which the value leaderElectionID changes", r.Alert)
		}
		checkMetrics(t, r.Alert, r.Expr)
	}
	// The chart installs exactly the rules that are checked above.
	rendered := parseObjects(t, render(t, readValues(t, "service-monitor"), renderOptions{}))
	got, err := yaml.Marshal(fieldAt[any](t, findObject(t, rendered, "PrometheusRule", "").Object, "spec"))
	if err != nil {
		t.Fatal(err)
	}
	var want any
	if err := yaml.Unmarshal(readFile(t, "fulcrum/files/alerts.yaml"), &want); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(text) {
		t.Errorf("the PrometheusRule differs from alerts.yaml:\n%s", got)
	}
}

// dashboard has the fields of a Grafana dashboard that the test checks.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// TestDashboardIsValid checks that panels of one row do not overlap, and that their expressions use metrics that exist.
func TestDashboardIsValid(t *testing.T) {
	rendered := parseObjects(t, render(t, readValues(t, "service-monitor"), renderOptions{}))
	text := fieldAt[string](t, findObject(t, rendered, "ConfigMap", "aws-load-balancer-controller-dashboard").Object, "data", "fulcrum.json")
	var d dashboard
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || len(d.Panels) < 15 {
		t.Fatalf("%d panels", len(d.Panels))
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d: its ID is not unique, or it has no title or no target", p.ID)
		}
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, taken := cells[cell]; taken || cell[0] >= 24 {
					t.Errorf("%s overlaps panel %q or exceeds the width of the dashboard", p.Title, other)
				}
				cells[cell] = p.Title
			}
		}
		for _, target := range p.Targets {
			checkMetrics(t, p.Title, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
}

// checkMetrics checks that an expression selects only metrics of the controller. For metrics that docs/metrics.md lists, it
// also checks the labels in selectors. where is the name of the alert or panel.
func checkMetrics(t *testing.T, where, expr string) {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	own := documentedMetrics(t)
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		name := s.Name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); own[base] != nil && own[base].isHistogram || isRegistered(base) {
				name = base
			}
		}
		m := own[name]
		if m == nil && !isRegistered(name) {
			t.Errorf("%s: the controller has no metric %q", where, s.Name)
			return nil
		}
		for _, l := range s.LabelMatchers {
			if m != nil && l.Name != model.MetricNameLabel && !slices.Contains(m.labels, l.Name) {
				t.Errorf("%s: %s has no label %q", where, s.Name, l.Name)
			}
		}
		return nil
	})
}

// documentedMetric is a row of a table in docs/metrics.md. A test of internal/controller checks that the first table of the
// page matches the metrics that the controller registers.
type documentedMetric struct {
	isHistogram bool
	labels      []string
}

var metricRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (counter|gauge|histogram) \\| ([^|]*) \\|")

func documentedMetrics(t *testing.T) map[string]*documentedMetric {
	t.Helper()
	out := map[string]*documentedMetric{}
	for _, m := range metricRow.FindAllStringSubmatch(string(readFile(t, "../docs/metrics.md")), -1) {
		row := &documentedMetric{isHistogram: m[2] == "histogram"}
		for l := range strings.SplitSeq(m[3], ",") {
			row.labels = append(row.labels, strings.Trim(l, " `"))
		}
		out[m[1]] = row
	}
	if len(out) < 20 {
		t.Fatalf("docs/metrics.md has %d metrics", len(out))
	}
	return out
}

// isRegistered reports whether a library of the controller registers a metric. This is so if another metric with the same
// name cannot be registered, or if the Go collector or the process collector has the metric.
func isRegistered(name string) bool {
	probe := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "a probe of the test"})
	if err := metrics.Registry.Register(probe); err != nil {
		return true
	}
	metrics.Registry.Unregister(probe)
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := process.Gather()
	return err == nil && slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
}
