package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// TestResourcesOfJustEndedProcessAreDeleted checks that resources that a process created just before it was killed are
// deleted with the Ingress, although AWS does not show them to the next process for ten seconds.
func TestResourcesOfJustEndedProcessAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		before := r.State()
		faults := r.Emulator.Faults()
		faults.RetainHistory(time.Minute)
		time.Sleep(time.Minute)
		r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
		r.Settle(time.Second)
		r.Kill()
		begun := time.Now()
		faults.SetHook(func(c fault.Call) fault.Action {
			if c.Mutating || time.Since(begun) > 10*time.Second {
				return fault.Action{}
			}
			return fault.Action{Stale: 11 * time.Second}
		})
		r.Start()
		ref := cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}
		if err := r.Store.Delete(ref); err != nil {
			t.Fatal(err)
		}
		r.Settle(12 * time.Second)
		if obj, err := r.Store.Get(ref); err != nil || obj == nil {
			t.Fatalf("the finalizer was removed while AWS did not show the load balancer: %v", err)
		}
		r.Settle(2 * time.Minute)
		time.Sleep(time.Hour)
		if err := r.process.bindings.SyncRules(t.Context()); err != nil { // the controller calls this once an hour
			t.Fatal(err)
		}
		r.Settle(time.Hour)
		if diff := cmp.Diff(before, r.State()); diff != "" {
			t.Errorf("resources are left (-before +after):\n%s", diff)
		}
		if obj, _ := r.Store.Get(ref); obj != nil {
			t.Errorf("the Ingress is left, with finalizers %v", obj.GetFinalizers())
		}
	})
}
