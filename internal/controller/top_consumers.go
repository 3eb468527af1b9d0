package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// topConsumers finds the items that are worked on most: a loop shows here before it shows in a bill.
// Each window of time is counted separately; the last full one is shown.
type topConsumers struct {
	mu     sync.Mutex
	since  time.Time
	counts map[consumer]int
	shown  []talk
}

type consumer struct{ controller, namespace, name string }

type talk struct {
	consumer
	count int
}

const (
	talkTop = 3 // of each controller
)

var topConsumersDesc = prometheus.NewDesc("awslbc_controller_top_talkers",
	"The items that were worked on most in the last three minutes.", []string{"controller", "namespace", "name"}, nil)

func newTopConsumers() *topConsumers {
	return &topConsumers{since: time.Now(), counts: map[consumer]int{}}
}

// countRun counts a run.
func (t *topConsumers) countRun(controller, namespace, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotateWindow()
	t.counts[consumer{controller, namespace, name}]++
}

// rotateWindow begins a new window if the present one is over. The lock is held.
func (t *topConsumers) rotateWindow() {
	age := time.Since(t.since)
	if age < durations.Sweep {
		return
	}
	t.shown = nil
	if age < 2*durations.Sweep { // otherwise nothing happened in the last window
		t.shown = top(t.counts)
	}
	t.counts, t.since = map[consumer]int{}, time.Now()
}

func top(counts map[consumer]int) []talk {
	var all []talk
	for k, n := range counts {
		all = append(all, talk{k, n})
	}
	slices.SortFunc(all, func(a, b talk) int {
		return cmp.Or(cmp.Compare(a.controller, b.controller), cmp.Compare(b.count, a.count),
			cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	taken := map[string]int{}
	return slices.DeleteFunc(all, func(k talk) bool {
		taken[k.controller]++
		return taken[k.controller] > talkTop
	})
}

// Describe implements the collector.
func (t *topConsumers) Describe(ch chan<- *prometheus.Desc) { ch <- topConsumersDesc }

// Collect implements the collector.
func (t *topConsumers) Collect(ch chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rotateWindow()
	for _, k := range t.shown {
		ch <- prometheus.MustNewConstMetric(topConsumersDesc, prometheus.GaugeValue, float64(k.count), k.controller, k.namespace, k.name)
	}
}
