package controller

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// findings count what is wrong now, over all load balancers and bindings. A finding of a run stands
// until the next run of the same item; one that several items come upon, such as a fault of a
// Service that two of them use, counts once.
type findings struct {
	mu sync.Mutex
	of map[any]finding.List // by stack id or binding
}

var findingsDesc = prometheus.NewDesc("fulcrum_findings",
	"What is wrong at present, by the kind of the object to blame, the documented reason, and the severity.",
	[]string{"kind", "reason", "severity"}, nil)

func newFindings() *findings { return &findings{of: map[any]finding.List{}} }

// set replaces the findings about an item; none forgets it.
func (f *findings) set(item any, found finding.List) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(found) == 0 {
		delete(f.of, item)
		return
	}
	f.of[item] = found
}

// Describe implements the collector.
func (f *findings) Describe(ch chan<- *prometheus.Desc) { ch <- findingsDesc }

// Collect implements the collector.
func (f *findings) Collect(ch chan<- prometheus.Metric) {
	type label struct{ kind, reason, severity string }
	counts := map[label]int{}
	f.mu.Lock()
	seen := map[finding.Finding]bool{}
	for _, list := range f.of {
		for _, x := range list {
			if !seen[x] {
				seen[x] = true
				counts[label{x.Object.Kind, string(x.Reason), severityLabel(x.Severity)}]++
			}
		}
	}
	f.mu.Unlock()
	for l, n := range counts {
		ch <- prometheus.MustNewConstMetric(findingsDesc, prometheus.GaugeValue, float64(n), l.kind, l.reason, l.severity)
	}
}

func severityLabel(s finding.Severity) string {
	if s == finding.Error {
		return "error"
	}
	return "warning"
}
