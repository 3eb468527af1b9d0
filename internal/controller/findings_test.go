package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestCurrentFindingsAreCounted(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewMetrics()
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
			"fulcrum_findings{kind=Ingress,name=a,namespace=shop,reason=AccessDenied,severity=error}":                 1,
			"fulcrum_findings{kind=Ingress,name=b,namespace=shop,reason=AccessDenied,severity=error}":                 1,
			"fulcrum_findings{kind=Service,name=web,namespace=shop,reason=AccessDenied,severity=error}":               1,
			"fulcrum_findings{kind=TargetGroupBinding,name=one,namespace=shop,reason=TargetsCapped,severity=warning}": 1,
		}},
		{"one of the two is mended", func() { m.findings.set(one, nil) }, map[string]float64{
			"fulcrum_findings{kind=Service,name=web,namespace=shop,reason=AccessDenied,severity=error}":               1,
			"fulcrum_findings{kind=TargetGroupBinding,name=one,namespace=shop,reason=TargetsCapped,severity=warning}": 1,
		}},
		{"all is mended", func() { m.findings.set(two, nil); m.findings.set(binding, nil) }, map[string]float64{}},
	} {
		c.do()
		if diff := cmp.Diff(c.want, readMetrics(t, r)); diff != "" {
			t.Errorf("%s:\n%s", c.what, diff)
		}
	}
}

// TestSeriesOfFindingsAreBounded checks that a namespace with thousands of invalid objects causes a limited number of metric
// series, and does not hide the findings of other namespaces.
func TestSeriesOfFindingsAreBounded(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewMetrics()
	if err := m.Register(r); err != nil {
		t.Fatal(err)
	}
	for n := range 10_000 {
		ref := finding.Ref{Kind: "Ingress", Namespace: "many", Name: fmt.Sprint("x", n)}
		m.findings.set(model.StackID{Kind: model.Ingress, Namespace: "many", Name: ref.Name}, finding.List{
			{Object: ref, Reason: finding.AnnotationInvalid, Severity: finding.Error, Message: "wrong"},
		})
	}
	small := finding.Finding{Object: finding.Ref{Kind: "Ingress", Namespace: "small", Name: "web"}, Reason: finding.RuleUnreachable, Message: "wrong"}
	m.findings.set(model.StackID{Kind: model.Ingress, Namespace: "small", Name: "web"}, finding.List{small})
	got := readMetrics(t, r)
	if len(got) != maxSeries+1 || got["fulcrum_findings{kind=Ingress,name=web,namespace=small,reason=RuleUnreachable,severity=warning}"] != 1 {
		t.Errorf("%d series", len(got))
	}
	if n := got["fulcrum_findings{kind=Ingress,name=_other,namespace=_other,reason=AnnotationInvalid,severity=error}"]; n != 10_000-(maxSeries-1) {
		t.Errorf("%v others", n)
	}
	if diff := cmp.Diff(got, readMetrics(t, r)); diff != "" {
		t.Errorf("another scrape:\n%s", diff)
	}
}
