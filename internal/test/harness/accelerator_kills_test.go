package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// acceleratorEdits are successive versions of GlobalAccelerator "shop/edge". Each version differs from the previous
// one.
var acceleratorEdits = []string{
	edgeAccelerator(webListener),
	edgeAccelerator(`{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [
		{trafficDialPercentage: 50, portOverrides: [{listenerPort: 80, endpointPort: 8080}], endpoints: [{type: Ingress, name: web, weight: 7}]}, {region: eu-west-1}]},
		{protocol: UDP, portRanges: [{fromPort: 53, toPort: 54}], clientAffinity: SOURCE_IP}`),
	edgeAccelerator(`{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}, {fromPort: 8080, toPort: 8080}], endpointGroups: [{endpoints: [{type: Ingress, name: web}]}]},
		{protocol: UDP, portRanges: [{fromPort: 53, toPort: 53}]}, {protocol: UDP, portRanges: [{fromPort: 54, toPort: 54}]}`),
	accelerator("shop", "edge", `name: by-hand, tags: {team: a}, listeners: [{protocol: UDP, portRanges: [{fromPort: 5000, toPort: 5000}]}]`),
}

// TestAcceleratorSurvivesKillAtAnyCall checks that, if the controller is killed at a mutating call or before it
// receives the response, the next process completes the work.
func TestAcceleratorSurvivesKillAtAnyCall(t *testing.T) {
	t.Parallel()
	var want []string
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		want = acceleratorLifecycle(t, func(c fault.Call) fault.Action { countMutation(c, &calls); return fault.Action{} }, nil)
	})
	if calls < 20 {
		t.Fatalf("the lifecycle of the accelerator takes %d calls only", calls)
	}
	interruptEach(t, want, calls, seeds.Step(6), acceleratorLifecycle)
}

// acceleratorLifecycle applies acceleratorEdits, then deletes the object, and returns the state of the accelerators
// after each edit. hook is called for each AWS call. with, if not nil, is called before the first edit.
func acceleratorLifecycle(t *testing.T, hook func(fault.Call) fault.Action, with func(*Harness)) (out []string) {
	t.Helper()
	r := newAcceleratorHarness(t, Options{Checkpoints: true})
	if with != nil {
		with(r)
	}
	before := r.State()
	r.Emulator.Faults().SetHook(hook)
	for _, doc := range acceleratorEdits {
		r.Apply(doc)
		r.settleWithRestarts(time.Hour)
		out = append(out, acceleratorState(r)...)
	}
	r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
	r.settleWithRestarts(time.Hour)
	if left := acceleratorState(r); len(left) > 0 {
		t.Fatalf("accelerators left after the deletion: %v", left)
	}
	if d := cmp.Diff(before, withoutAcceleratorSecurityGroup(r.State())); d != "" {
		t.Fatalf("load balancers were changed (-before +after):\n%s", d)
	}
	return out
}
