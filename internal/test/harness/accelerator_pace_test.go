package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// weightedAccelerator returns GlobalAccelerator "edge/front". Its endpoint is Ingress "shop/web" with the given
// weight.
func weightedAccelerator(weight int) string {
	return accelerator("edge", "front", listenerTo(fmt.Sprintf(`{type: Ingress, namespace: shop, name: web, weight: %d}`, weight)))
}

// TestFrequentEditsOfAcceleratorCostFewCalls checks that a GlobalAccelerator that is edited every second causes few
// calls and does not delay other accelerators. While an edit waits, the condition Ready is Unknown. The last edit is
// applied, and the removal of a ReferenceGrant takes effect immediately.
func TestFrequentEditsOfAcceleratorCostFewCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"), weightedAccelerator(10))
		r.Settle(10 * time.Minute)
		r.Emulator.Calls().Reset()
		for i := range 600 {
			r.Apply(weightedAccelerator(11 + i%7))
			time.Sleep(time.Second)
			r.Settle(0)
			if i == 30 {
				if ga := acceleratorObject(r, "edge", "front"); readyCondition(ga) != "Unknown AcceleratorProvisioning" {
					t.Errorf("Ready while an edit waits: %s", readyCondition(ga))
				}
				r.Apply(edgeAccelerator(webListener))
			}
			if i == 45 && !slices.ContainsFunc(acceleratorState(r), func(l string) bool {
				return strings.HasPrefix(l, "k8s_shop_edge_") && strings.Contains(l, " endpoint ")
			}) {
				t.Errorf("another accelerator gets no endpoint during the edits: %v", acceleratorState(r))
			}
		}
		calls, changes := 0, 0
		for _, e := range r.Emulator.Calls().Entries() {
			if e.Service == "globalaccelerator" {
				calls++
				if e.Mutating {
					changes++
				}
			}
		}
		t.Logf("600 edits in ten minutes: %d calls, of which %d change something", calls, changes)
		// Four mutations are made immediately. The next ones wait for 10, 20, 40, and then always 60 seconds. Three
		// more mutations create the other accelerator.
		if changes > 4+12+3 || calls > 5*changes {
			t.Errorf("600 edits in ten minutes: %d calls, of which %d change something", calls, changes)
		}
		if !slices.ContainsFunc(eventsOf(r, "edge", "front"), func(e string) bool { return strings.Contains(e, "ChangedTooOften") }) {
			t.Errorf("no event has the reason ChangedTooOften: %v", eventsOf(r, "edge", "front"))
		}
		r.Apply(weightedAccelerator(77))
		r.Settle(time.Second)
		r.deleteObject(cluster.KindReferenceGrant, "shop", "edge")
		r.Settle(2 * time.Second)
		if left := slices.DeleteFunc(acceleratorState(r), func(l string) bool {
			return !strings.HasPrefix(l, "k8s_edge_front_") || !strings.Contains(l, " endpoint ")
		}); len(left) > 0 {
			t.Errorf("without the grant: %v", left)
		}
		r.Apply(grantTo("networking.k8s.io", "Ingress"))
		r.Settle(5 * time.Minute)
		if !slices.ContainsFunc(acceleratorState(r), func(l string) bool { return strings.Contains(l, "weight=77") }) {
			t.Errorf("the last edit is not applied: %v", acceleratorState(r))
		}
		if ga := acceleratorObject(r, "edge", "front"); readyCondition(ga) != "True AcceleratorReady" {
			t.Errorf("after the last edit: %s", readyCondition(ga))
		}
	})
}
