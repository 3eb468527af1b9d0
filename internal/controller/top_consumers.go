package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// topConsumers finds the items with the most runs, so that metrics show items that are reconciled too often. It counts runs
// in windows of durations.SweepInterval. The metrics show the last complete window.
type topConsumers struct {
	mu             sync.Mutex
	windowStart    time.Time
	counts         map[consumer]int
	shownConsumers []consumerRuns
}

// consumer identifies an item of a controller.
type consumer struct{ controller, namespace, name string }

// consumerRuns is an item with its number of runs in a window.
type consumerRuns struct {
	consumer
	runs int
}

// maxShownConsumers is the maximum number of items of each controller that metrics show.
const maxShownConsumers = 3

var topConsumersDesc = prometheus.NewDesc("awslbc_controller_top_talkers",
	"Number of runs in the last complete window of five minutes, of the three items of each controller with the most runs.", []string{"controller", "namespace", "name"}, nil)

func newTopConsumers() *topConsumers {
	return &topConsumers{windowStart: time.Now(), counts: map[consumer]int{}}
}

// countRun counts a run of an item in the current window.
func (t *topConsumers) countRun(controller, namespace, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotateWindow()
	t.counts[consumer{controller, namespace, name}]++
}

// rotateWindow begins a new window if the current window has ended. The caller holds the lock.
func (t *topConsumers) rotateWindow() {
	age := time.Since(t.windowStart)
	if age < durations.SweepInterval {
		return
	}
	t.shownConsumers = nil
	if age < 2*durations.SweepInterval { // if the window is older, there was no run in the last complete window
		t.shownConsumers = consumersWithMostRuns(t.counts)
	}
	t.counts, t.windowStart = map[consumer]int{}, time.Now()
}

// consumersWithMostRuns returns, for each controller, the maxShownConsumers items with the most runs.
func consumersWithMostRuns(counts map[consumer]int) []consumerRuns {
	var all []consumerRuns
	for k, n := range counts {
		all = append(all, consumerRuns{k, n})
	}
	slices.SortFunc(all, func(a, b consumerRuns) int {
		return cmp.Or(cmp.Compare(a.controller, b.controller), cmp.Compare(b.runs, a.runs),
			cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	taken := map[string]int{}
	return slices.DeleteFunc(all, func(k consumerRuns) bool {
		taken[k.controller]++
		return taken[k.controller] > maxShownConsumers
	})
}

// Describe implements prometheus.Collector.
func (t *topConsumers) Describe(ch chan<- *prometheus.Desc) { ch <- topConsumersDesc }

// Collect implements prometheus.Collector.
func (t *topConsumers) Collect(ch chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotateWindow()
	for _, k := range t.shownConsumers {
		ch <- prometheus.MustNewConstMetric(topConsumersDesc, prometheus.GaugeValue, float64(k.runs), k.controller, k.namespace, k.name)
	}
}
