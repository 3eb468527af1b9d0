package controller

import (
	"cmp"
	"maps"
	"slices"
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
	"What is wrong at present, by the object to blame, the documented reason, and the severity. Objects beyond the first 200 are counted under the name _other.",
	[]string{"kind", "namespace", "name", "reason", "severity"}, nil)

// mostSeries is how many series name an object. Tenants can make any number of faulty objects.
const mostSeries = 200

// otherName stands for the objects that have no series of their own. No object can have this name.
const otherName = "_other"

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
	counts := map[findingLabel]int{}
	f.mu.Lock()
	seen := map[finding.Finding]bool{}
	for _, list := range f.of {
		for _, x := range list {
			if !seen[x] {
				seen[x] = true
				counts[findingLabel{x.Object, string(x.Reason), severityLabel(x.Severity)}]++
			}
		}
	}
	f.mu.Unlock()
	for l, n := range bounded(counts, mostSeries) {
		ch <- prometheus.MustNewConstMetric(findingsDesc, prometheus.GaugeValue, float64(n), l.object.Kind, l.object.Namespace, l.object.Name, l.reason, l.severity)
	}
}

// findingLabel are the labels of a series.
type findingLabel struct {
	object           finding.Ref
	reason, severity string
}

func (l findingLabel) compare(o findingLabel) int {
	return cmp.Or(cmp.Compare(l.severity, o.severity), l.object.Compare(o.object), cmp.Compare(l.reason, o.reason))
}

// bounded keeps so many series and unites the others. Namespaces take turns, errors first, so that one
// with many faulty objects does not hide those of others.
func bounded(counts map[findingLabel]int, most int) map[findingLabel]int {
	if len(counts) <= most {
		return counts
	}
	byNamespace := map[string][]findingLabel{}
	for l := range counts {
		byNamespace[l.object.Namespace] = append(byNamespace[l.object.Namespace], l)
	}
	namespaces := slices.Sorted(maps.Keys(byNamespace))
	for _, all := range byNamespace {
		slices.SortFunc(all, findingLabel.compare)
	}
	out := map[findingLabel]int{}
	for turn := 0; len(out) < most; turn++ {
		for _, n := range namespaces {
			if all := byNamespace[n]; turn < len(all) && len(out) < most {
				out[all[turn]] = counts[all[turn]]
				counts[all[turn]] = 0
			}
		}
	}
	for l, n := range counts {
		if n > 0 {
			l.object.Namespace, l.object.Name = otherName, otherName
			out[l] += n
		}
	}
	return out
}

func severityLabel(s finding.Severity) string {
	if s == finding.Error {
		return "error"
	}
	return "warning"
}
