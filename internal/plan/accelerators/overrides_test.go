package accelerators_test

import (
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// acceleratorWithOverrides returns an accelerator with one listener for each given endpoint port. The endpoint group of the
// listener has a port override to this endpoint port, or no override if the endpoint port is 0.
func acceleratorWithOverrides(endpointPorts ...int32) *model.Accelerator {
	a := &model.Accelerator{Name: "edge", AddressType: model.IPv4, UID: "u"}
	for i, to := range endpointPorts {
		port := 80 + int32(i)
		l := model.AcceleratorListener{ID: []string{"Listener-0", "Listener-1"}[i], Protocol: model.TCP, Ports: []model.PortRange{{From: port, To: port}}}
		g := endpointGroupIn(ownRegion, nil)
		g.ID += l.ID
		if to != 0 {
			g.Overrides = []model.PortOverride{{Listener: port, Endpoint: to}}
		}
		l.Groups = []model.EndpointGroup{g}
		a.Listeners = append(a.Listeners, l)
	}
	return a
}

// TestPortsOfAHeldListenerAreNotFree checks whether the endpoint ports of a listener that the object no longer has can be
// used by another listener. They are free after the listener is removed, but not while it is held because the object could
// not be translated completely. AWS does not permit overrides to the same endpoint port under two listeners.
func TestPortsOfAHeldListenerAreNotFree(t *testing.T) {
	t.Parallel()
	for _, held := range []bool{false, true} {
		have := withHealthyEndpoints(converge(t, acceleratorWithOverrides(0, 9000), observed.Stack{Facts: observed.Facts{Region: ownRegion}}, nil))
		want := acceleratorWithOverrides(9000)
		want.Held = held
		p, found := planner.Make(desiredStack(want, have.Accelerators[0].ARN), have, options, plan.Memory{})
		refused := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.PortOverrideInvalid })
		overrides := slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
			c, ok := s.Do.(plan.ChangeEndpointGroup)
			return ok && c.Overrides != nil
		})
		if refused != held || overrides == held {
			t.Errorf("with a listener that is held: %v, the override is refused: %v, and made: %v; findings: %v", held, refused, overrides, found)
		}
	}
}
