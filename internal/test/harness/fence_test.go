package harness

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// TestNoMutationAfterLeaseIsLost checks that the SDK does not retry a throttled CreateLoadBalancer after the process
// has lost the lease. The new holder of the lease creates the load balancer.
func TestNoMutationAfterLeaseIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Bool
		r := shopWith(t, Options{Fence: func() error {
			if lost.Load() {
				return errors.New("the lease is not held by this process")
			}
			return nil
		}})
		r.Emulator.Faults().Add(fault.Rule{Operation: "CreateLoadBalancer", Action: fault.Action{Throttle: true, After: func() { lost.Store(true) }}})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		r.Settle(10 * time.Minute)
		attempts := func() (n int) {
			for _, e := range r.Emulator.Calls().Entries() {
				if e.Operation == "CreateLoadBalancer" {
					n++
				}
			}
			return n
		}
		if n := attempts(); n != 1 {
			t.Errorf("want 1 attempt, got %d", n)
		}
		mutating := r.Emulator.Calls().CountMutating()
		r.Settle(10 * time.Minute)
		if n := r.Emulator.Calls().CountMutating(); n != mutating {
			t.Errorf("%d mutating calls without the lease", n-mutating)
		}
		lost.Store(false)
		r.Emulator.Faults().ClearRules()
		settleWithoutErrors(t, r)
		if n := attempts(); n != 2 {
			t.Errorf("want 2 attempts, got %d", n)
		}
	})
}
