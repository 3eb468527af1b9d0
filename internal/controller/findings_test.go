package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestFindingsAreCountedWhileTheyStand(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewMetrics(time.Now)
	if err := m.Register(r); err != nil {
		t.Fatal(err)
	}
	of := func(kind, name string, reason finding.Reason, s finding.Severity) finding.Finding {
		return finding.Finding{Object: finding.Ref{Kind: kind, Namespace: "shop", Name: name}, Reason: reason, Severity: s}
	}
	one, two := model.StackID{Kind: model.Ingress, Name: "one"}, model.StackID{Kind: model.Ingress, Name: "two"}
	binding := bindings.Key{Namespace: "shop", Name: "one"}
	shared := of("Service", "web", finding.AccessDenied, finding.Error)
	for _, c := range []struct {
		what string
		do   func()
		want map[string]float64
	}{
		{"nothing is wrong", func() {}, map[string]float64{}},
		{"faults of several items, one of them shared", func() {
			m.findings.set(one, finding.List{shared, of("Ingress", "a", finding.AccessDenied, finding.Error), of("Ingress", "b", finding.AccessDenied, finding.Error)})
			m.findings.set(two, finding.List{shared})
			m.findings.set(binding, finding.List{of("TargetGroupBinding", "one", finding.TargetsCapped, finding.Warning)})
		}, map[string]float64{
			"fulcrum_findings{kind=Ingress,reason=AccessDenied,severity=error}":               2,
			"fulcrum_findings{kind=Service,reason=AccessDenied,severity=error}":               1,
			"fulcrum_findings{kind=TargetGroupBinding,reason=TargetsCapped,severity=warning}": 1,
		}},
		{"one of the two is mended", func() { m.findings.set(one, nil) }, map[string]float64{
			"fulcrum_findings{kind=Service,reason=AccessDenied,severity=error}":               1,
			"fulcrum_findings{kind=TargetGroupBinding,reason=TargetsCapped,severity=warning}": 1,
		}},
		{"all is mended", func() { m.findings.set(two, nil); m.findings.set(binding, nil) }, map[string]float64{}},
	} {
		c.do()
		if diff := cmp.Diff(c.want, scrape(t, r)); diff != "" {
			t.Errorf("%s:\n%s", c.what, diff)
		}
	}
}
