package accelerators

import (
	"fmt"
	"math"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

const (
	// maxEndpointsPerCall is the maximum number of endpoints in one call to AWS. It is also the default quota of an
	// endpoint group.
	maxEndpointsPerCall = 10
	// dialTolerance is the difference up to which two traffic dials are treated as equal.
	dialTolerance = 0.001
)

// endpointGroupPlanner plans the endpoint groups of an accelerator and their endpoints.
type endpointGroupPlanner struct{ *acceleratorPlanner }

// endpointGroupAddress returns the address of an existing endpoint group. Its ID is the ID of the desired endpoint group in
// the same region, or the ARN if no endpoint group is desired there.
func (m endpointGroupPlanner) endpointGroupAddress(p listenerPair, g observed.EndpointGroup) plan.Address {
	a := plan.Address{Kind: plan.EndpointGroup, ID: g.ARN}
	if w := p.desiredEndpointGroup(g.Region); w != nil {
		a.ID = w.ID
	}
	m.KnownIDs[a] = g.ARN
	return a
}

// removeUnpermittedEndpoints plans to remove endpoints that the GlobalAccelerator may not use (Accelerator.Revoked) from all
// endpoint groups. The steps come before all other steps.
func (m endpointGroupPlanner) removeUnpermittedEndpoints() {
	if m.live == nil || m.want == nil || len(m.want.Revoked) == 0 {
		return
	}
	for i, l := range m.live.Listeners {
		for j, g := range l.Groups {
			var ids []string
			for _, e := range g.Endpoints {
				if slices.Contains(m.want.Revoked, e.ID) {
					ids = append(ids, e.ID)
				}
			}
			if len(ids) == 0 {
				continue
			}
			a := plan.Address{Kind: plan.EndpointGroup, ID: g.ARN}
			m.KnownIDs[a] = g.ARN
			m.removeEndpoints("revoke", a, ids, nil, "the object may not use these endpoints, or they do not exist any more", plan.Wait{}, true)
			m.live.Listeners[i].Groups[j].Endpoints = slices.DeleteFunc(slices.Clone(g.Endpoints), func(e observed.Endpoint) bool { return slices.Contains(ids, e.ID) })
		}
	}
}

func (m endpointGroupPlanner) removeEndpoints(what string, a plan.Address, ids []string, after []plan.StepID, why string, wait plan.Wait, revokes bool) (out []plan.StepID) {
	for n, part := 0, slices.Clone(ids); len(part) > 0; n++ {
		call := part[:min(maxEndpointsPerCall, len(part))]
		part = part[len(call):]
		var changes []plan.Change
		for _, id := range call {
			changes = append(changes, plan.Change{Path: "endpoints." + id, From: "endpoint"})
		}
		out = append(out, m.add(plan.Step{
			ID: numberedStepID(what, a, n), Address: a, Verb: plan.Update, Do: plan.RemoveEndpoints{Group: a, IDs: call}, After: after,
			Changes: changes, Why: why, Impact: plan.BriefImpact, Wait: wait, IsRevocation: revokes,
		}))
	}
	return out
}

func numberedStepID(what string, a plan.Address, n int) plan.StepID {
	if n > 0 {
		what = fmt.Sprintf("%s.%d", what, n)
	}
	return plan.NewStepID(what, a)
}

// planEndpointGroups plans to create, change and delete endpoint groups. It returns the steps that remove endpoints or
// delete endpoint groups.
func (m endpointGroupPlanner) planEndpointGroups(after []plan.StepID) (removed []plan.StepID) {
	for _, p := range m.listenerPairs {
		listener := slices.Clone(after)
		for _, what := range []string{"create", "change"} {
			if id := plan.NewStepID(what, p.address()); m.IsStepPlanned(id) {
				listener = append(listener, id)
			}
		}
		var made []plan.StepID
		for i := range p.want.Groups {
			w := &p.want.Groups[i]
			live := p.liveEndpointGroup(w.Region)
			if live == nil {
				made = append(made, m.createEndpointGroup(p, w, listener)...)
				continue
			}
			removed = append(removed, m.changeEndpointGroup(p, w, *live, listener)...)
		}
		if p.live == nil {
			continue
		}
		for _, g := range p.live.Groups {
			if m.want.Held || p.desiredEndpointGroup(g.Region) != nil {
				continue
			}
			removed = append(removed, listenerPlanner(m).deleteEndpointGroup(g, append(slices.Clone(listener), made...), "no endpoint group of the region is desired", m.deletionWait(p, g, len(made) > 0)))
		}
	}
	return removed
}

// deletionWait returns the wait before an undesired endpoint group is deleted. If this endpoint group gets traffic, and a
// desired endpoint group of the listener has endpoints with a weight above 0, the deletion waits until a desired endpoint
// group gets traffic. createsDesired reports whether this plan creates a desired endpoint group.
func (m endpointGroupPlanner) deletionWait(p listenerPair, g observed.EndpointGroup, createsDesired bool) plan.Wait {
	desiredGetsTraffic := slices.ContainsFunc(p.want.Groups, func(w model.EndpointGroup) bool {
		return slices.ContainsFunc(w.Endpoints, func(e model.Endpoint) bool { return e.Weight > 0 })
	})
	if !desiredGetsTraffic || !slices.ContainsFunc(g.Endpoints, isServing) {
		return plan.Wait{}
	}
	served := false
	for _, o := range p.live.Groups {
		served = served || o.ARN != g.ARN && p.desiredEndpointGroup(o.Region) != nil && slices.ContainsFunc(o.Endpoints, isServing)
	}
	if served && !createsDesired {
		return plan.Wait{}
	}
	return m.healthyEndpointsWait(p, "healthy endpoints in another endpoint group", g.ARN, "endpoint group of "+g.Region+" is removed")
}

// isServing reports whether an endpoint gets traffic: its weight is above 0 and it is healthy.
func isServing(e observed.Endpoint) bool { return e.Weight > 0 && e.Health == observed.EndpointHealthy }

// healthyEndpointsWait returns a wait until replacement endpoints are healthy. If the deadline of the wait has passed, it
// adds a finding that the change is made although these endpoints may not be healthy. change describes the change.
func (m endpointGroupPlanner) healthyEndpointsWait(p listenerPair, what, key, change string) plan.Wait {
	wait := m.NewWait(draft.WaitKey("healthy", key), what, durations.LongestWait)
	m.Ask(model.AskAcceleratorState{ARN: p.live.ARN})
	if wait.For == "" {
		m.Findings.Add(finding.Finding{
			Object: m.origin, Field: p.want.Origin.Field, Reason: finding.WaitExpired, Severity: finding.Warning,
			Message: fmt.Sprintf("%s after %s, although its replacement is not known to be healthy", change, durations.LongestWait),
			Fix:     "check the targets of the load balancers",
		})
	}
	return wait
}

// createEndpointGroup plans to create an endpoint group with the endpoints that are ready, and to add the other endpoints
// later. It returns the step that creates the endpoint group; none if the port overrides are held.
func (m endpointGroupPlanner) createEndpointGroup(p listenerPair, w *model.EndpointGroup, after []plan.StepID) []plan.StepID {
	if w.OverridesHeld {
		return nil
	}
	a := plan.Address{Kind: plan.EndpointGroup, ID: w.ID}
	desired := m.desiredEndpoints(w)
	var ready, waiting []model.Endpoint
	for _, e := range desired {
		if e.Unready == "" {
			ready = append(ready, e)
		} else {
			waiting = append(waiting, e)
		}
	}
	now := ready[:min(len(ready), maxEndpointsPerCall)]
	do := plan.CreateEndpointGroup{
		Listener: p.address(), Group: a, Region: w.Region, TrafficDial: w.Dial, Overrides: w.Overrides, Endpoints: endpointSettingsOf(now),
		Token: m.idempotencyToken(m.KnownIDs[p.address()], p.want.ID, w.ID, fmt.Sprint(w.Region, w.Dial, w.Overrides), fmt.Sprint(plan.EndpointsText(endpointSettingsOf(now)))),
	}
	id := m.add(plan.Step{
		ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create, Do: do, After: append(slices.Clone(after), m.stepsFreeingPorts(w)...), Why: "the listener has no endpoint group in the region",
	})
	m.addEndpoints(a, ready[len(now):], []plan.StepID{id})
	m.addEndpointsWhenCreated(a, waiting, []plan.StepID{id})
	return []plan.StepID{id}
}

// stepsFreeingPorts returns the steps that must succeed before the port overrides of the endpoint group can be set. These
// steps change or delete listeners, delete endpoint groups, or remove conflicting overrides. The result is empty if the
// endpoint group has no overrides.
func (m endpointGroupPlanner) stepsFreeingPorts(w *model.EndpointGroup) (out []plan.StepID) {
	if len(w.Overrides) == 0 {
		return nil
	}
	for _, s := range m.Plan.Steps {
		if s.Address.Kind == plan.AcceleratorListener || s.Address.Kind == plan.EndpointGroup && (s.Verb == plan.Delete || s.ID == plan.NewStepID("remove-overrides", s.Address)) {
			out = append(out, s.ID)
		}
	}
	return out
}

// desiredEndpoints returns the endpoints that an endpoint group must have in this run. A load balancer that was replaced
// remains an endpoint until DeletionDelay has passed after its replacement.
func (m endpointGroupPlanner) desiredEndpoints(w *model.EndpointGroup) []model.Endpoint {
	var out []model.Endpoint
	for _, e := range w.Endpoints {
		if !e.ReplacedAt.IsZero() {
			rest := e.ReplacedAt.Add(m.Opt.DeletionDelay).Sub(m.Have.Facts.Now)
			if rest <= 0 {
				continue
			}
			m.RetryWithin(rest)
		}
		out = append(out, e)
	}
	return out
}

// changeEndpointGroup plans to change an endpoint group. It returns the steps that remove endpoints.
func (m endpointGroupPlanner) changeEndpointGroup(p listenerPair, w *model.EndpointGroup, live observed.EndpointGroup, after []plan.StepID) []plan.StepID {
	a := plan.Address{Kind: plan.EndpointGroup, ID: w.ID}
	m.KnownIDs[a] = live.ARN
	do := plan.ChangeEndpointGroup{Group: a}
	var changes []plan.Change
	if !w.DialHeld && math.Abs(live.Dial-float64(w.Dial)) > dialTolerance {
		do.TrafficDial = &w.Dial
		changes = append(changes, plan.Change{Path: "traffic dial", From: fmt.Sprint(live.Dial), To: fmt.Sprint(w.Dial)})
	}
	if !w.OverridesHeld && !slices.Equal(live.Overrides, w.Overrides) {
		overrides := slices.Clone(w.Overrides)
		do.Overrides = &overrides
		changes = append(changes, plan.Change{Path: "port overrides", From: plan.OverridesText(live.Overrides), To: plan.OverridesText(w.Overrides)})
	}
	if len(changes) > 0 {
		m.add(plan.Step{
			ID: plan.NewStepID("change", a), Address: a, Verb: plan.Update, Do: do, After: append(slices.Clone(after), m.stepsFreeingPorts(w)...),
			Changes: changes, Why: "the endpoint group differs", Impact: plan.BriefImpact,
		})
	}
	return m.changeEndpoints(p, w, live, a, after)
}
