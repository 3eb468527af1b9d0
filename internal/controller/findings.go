package controller

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// findings is the collector of fulcrum_findings. It has the current findings of all stacks and bindings. Each run of an item
// replaces the findings of this item. A finding that several items have is counted once, for example an error in a Service
// that two stacks use.
type findings struct {
	mu     sync.Mutex
	byItem map[any]finding.List // by model.StackID or bindings.Key
}

var findingsDesc = prometheus.NewDesc("fulcrum_findings",
	"Current findings, by the object that has to be changed, the documented reason, and the severity. Series beyond the first 200 are added up under the name _other.",
	[]string{"kind", "namespace", "name", "reason", "severity"}, nil)

// maxSeries is the maximum number of series that name an object, because tenants can create any number of faulty objects.
const maxSeries = 200

// otherSeriesName is the value of the labels namespace and name in the series that count all findings whose object has no
// series of its own. No object can have this name.
const otherSeriesName = "_other"

func newFindings() *findings { return &findings{byItem: map[any]finding.List{}} }

// set replaces the findings of an item. If found is empty, it removes the item.
func (f *findings) set(item any, found finding.List) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(found) == 0 {
		delete(f.byItem, item)
		return
	}
	f.byItem[item] = found
}

// Describe implements prometheus.Collector.
func (f *findings) Describe(ch chan<- *prometheus.Desc) { ch <- findingsDesc }

// Collect implements prometheus.Collector.
func (f *findings) Collect(ch chan<- prometheus.Metric) {
	counts := map[findingLabels]int{}
	f.mu.Lock()
	seen := map[finding.Finding]bool{}
	for _, list := range f.byItem {
		for _, x := range list {
			if !seen[x] {
				seen[x] = true
				counts[findingLabels{x.Object, string(x.Reason), severityLabel(x.Severity)}]++
			}
		}
	}
	f.mu.Unlock()
	for l, n := range limitSeries(counts, maxSeries) {
		ch <- prometheus.MustNewConstMetric(findingsDesc, prometheus.GaugeValue, float64(n), l.object.Kind, l.object.Namespace, l.object.Name, l.reason, l.severity)
	}
}

// findingLabels are the labels of a series of fulcrum_findings.
type findingLabels struct {
	object           finding.Ref
	reason, severity string
}

func (l findingLabels) compare(o findingLabels) int {
	return cmp.Or(cmp.Compare(l.severity, o.severity), l.object.Compare(o.object), cmp.Compare(l.reason, o.reason))
}

// limitSeries returns at most limit series unchanged, and the sums of all other series under otherSeriesName. It selects
// series of errors first, and one series of each namespace in turn, so that a namespace with many faulty objects does not
// hide the findings of other namespaces. It may change counts.
func limitSeries(counts map[findingLabels]int, limit int) map[findingLabels]int {
	if len(counts) <= limit {
		return counts
	}
	byNamespace := map[string][]findingLabels{}
	for l := range counts {
		byNamespace[l.object.Namespace] = append(byNamespace[l.object.Namespace], l)
	}
	namespaces := slices.Sorted(maps.Keys(byNamespace))
	for _, all := range byNamespace {
		slices.SortFunc(all, findingLabels.compare)
	}
	out := map[findingLabels]int{}
	for turn := 0; len(out) < limit; turn++ {
		for _, n := range namespaces {
			if all := byNamespace[n]; turn < len(all) && len(out) < limit {
				out[all[turn]] = counts[all[turn]]
				counts[all[turn]] = 0
			}
		}
	}
	for l, n := range counts {
		if n > 0 {
			l.object.Namespace, l.object.Name = otherSeriesName, otherSeriesName
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
