package accelerators

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func endpointSettingsOf(endpoints []model.Endpoint) []plan.EndpointSettings {
	var out []plan.EndpointSettings
	for _, e := range endpoints {
		out = append(out, plan.EndpointSettings{ID: e.ID, Weight: e.Weight, PreserveClientIP: e.ClientIP})
	}
	return out
}

// addEndpoints plans to add endpoints, in as many calls as are needed. It returns the ids of the steps. The load balancers
// of the endpoints must be active.
func (m endpointGroupPlanner) addEndpoints(a plan.Address, list []model.Endpoint, after []plan.StepID) (out []plan.StepID) {
	for n := 0; len(list) > 0; n++ {
		call := list[:min(maxEndpointsPerCall, len(list))]
		list = list[len(call):]
		out = append(out, m.add(plan.Step{
			ID: numberedStepID("add", a, n), Address: a, Verb: plan.Update, Do: plan.AddEndpoints{Group: a, Endpoints: endpointSettingsOf(call)}, After: after, Why: "the endpoint group does not have these endpoints",
		}))
	}
	return out
}

// addEndpointsWhenCreated plans to add endpoints whose load balancers are still being created by AWS. Each endpoint is added
// in its own step, which waits until the load balancer is active.
func (m endpointGroupPlanner) addEndpointsWhenCreated(a plan.Address, list []model.Endpoint, after []plan.StepID) {
	for n, e := range list {
		m.add(plan.Step{
			ID: numberedStepID("add-later", a, n), Address: a, Verb: plan.Update, Do: plan.AddEndpoints{Group: a, Endpoints: endpointSettingsOf([]model.Endpoint{e})}, After: after,
			Why: "the endpoint group does not have this endpoint", Wait: m.AwaitActive(e.ID, e.Unready),
		})
	}
}

// changeEndpoints plans the changes of the endpoints of an existing endpoint group. First it adds missing endpoints, and
// then it changes endpoints whose settings differ. Endpoints that are not desired are removed last, when the endpoints that
// replace them are healthy. It returns the steps that remove endpoints.
func (m endpointGroupPlanner) changeEndpoints(p listenerPair, w *model.EndpointGroup, live observed.EndpointGroup, a plan.Address, after []plan.StepID) []plan.StepID {
	desired := m.desiredEndpoints(w)
	var missing, waiting []model.Endpoint
	var differ, toWeightZero endpointChanges
	unhealthy := slices.ContainsFunc(desired, func(d model.Endpoint) bool { return d.Weight > 0 && !isEndpointHealthy(live, d.ID) })
	for _, e := range desired {
		have := live.Endpoint(e.ID)
		switch {
		case have == nil && e.Unready != "":
			waiting = append(waiting, e)
		case have == nil:
			missing = append(missing, e)
		case have.Weight != e.Weight || e.ClientIP != nil && *e.ClientIP != have.ClientIP:
			to := &differ
			if e.Weight == 0 && isServing(*have) && unhealthy {
				to = &toWeightZero // wait until other endpoints are healthy before its weight becomes 0
			}
			to.add(e, *have)
		}
	}
	var leave []observed.Endpoint
	for _, e := range live.Endpoints {
		wanted := slices.ContainsFunc(desired, func(d model.Endpoint) bool { return d.ID == e.ID })
		if !wanted && !m.want.Held && !slices.Contains(w.RetainedEndpoints, e.ID) {
			leave = append(leave, e)
		}
	}
	// If the quota of the endpoint group is reached, undesired endpoints are removed before new endpoints are added, first
	// those that get no traffic. The last endpoint that gets traffic is not removed, so that a later plan adds one of the
	// new endpoints.
	var removed []plan.StepID
	if excess := min(len(live.Endpoints)+len(missing)-maxEndpointsPerCall, len(leave)); excess > 0 && len(missing) > 0 {
		idle := slices.DeleteFunc(slices.Clone(leave), isServing)
		serving := slices.DeleteFunc(slices.Clone(leave), func(e observed.Endpoint) bool { return !isServing(e) })
		othersServe := slices.ContainsFunc(live.Endpoints, func(e observed.Endpoint) bool { return isServing(e) && !slices.Contains(serving, e) })
		if excess == len(leave) && len(serving) > 0 && !othersServe {
			excess--
			slices.SortStableFunc(missing, func(x, y model.Endpoint) int { return cmp.Compare(min(y.Weight, 1), min(x.Weight, 1)) })
			missing = missing[:len(missing)-1]
		}
		leave = append(idle, serving...)
		first := leave[:excess]
		leave = leave[excess:]
		removed = m.removeEndpoints("remove-for-quota", a, endpointIDs(first), after, "the quota of the endpoint group has no room for the new endpoints in addition to these endpoints", plan.Wait{}, false)
	}
	added := m.addEndpoints(a, missing, append(slices.Clone(after), removed...))
	m.addEndpointsWhenCreated(a, waiting, after)
	m.setEndpoints("set", a, differ, after, plan.Wait{})
	if len(toWeightZero.endpoints) > 0 {
		wait := m.healthyEndpointsWait(p, "the endpoints in its place to be healthy", live.ARN+" 0 "+toWeightZero.endpoints[0].ID, "an endpoint of "+w.Region+" gets weight 0")
		m.setEndpoints("set-later", a, toWeightZero, append(slices.Clone(after), added...), wait)
	}
	return append(removed, m.removeUndesiredEndpoints(p, live, a, leave, unhealthy, append(slices.Clone(after), added...))...)
}

// removeUndesiredEndpoints plans to remove the endpoints in list, which are not desired. The removal of an endpoint that
// gets traffic waits until all desired endpoints with a weight above 0 are healthy. unhealthy is set if one of the desired
// endpoints is not healthy.
func (m endpointGroupPlanner) removeUndesiredEndpoints(p listenerPair, live observed.EndpointGroup, a plan.Address, list []observed.Endpoint, unhealthy bool, after []plan.StepID) []plan.StepID {
	var now, later []observed.Endpoint
	for _, e := range list {
		if isServing(e) && unhealthy {
			later = append(later, e)
		} else {
			now = append(now, e)
		}
	}
	out := m.removeEndpoints("remove", a, endpointIDs(now), after, "the endpoints are not desired any more", plan.Wait{}, false)
	if len(later) > 0 {
		wait := m.healthyEndpointsWait(p, "the endpoints in their place to be healthy", live.ARN+" "+later[0].ID, "an endpoint of "+live.Region+" is removed")
		out = append(out, m.removeEndpoints("remove-later", a, endpointIDs(later), after, "other endpoints replace them", wait, false)...)
	}
	return out
}

func isEndpointHealthy(live observed.EndpointGroup, id string) bool {
	e := live.Endpoint(id)
	return e != nil && e.Health == observed.EndpointHealthy
}

func endpointIDs(list []observed.Endpoint) (out []string) {
	for _, e := range list {
		out = append(out, e.ID)
	}
	return out
}

// endpointChanges has endpoints whose settings must be changed, and the differences for the plan.
type endpointChanges struct {
	endpoints []model.Endpoint
	changes   []plan.Change
}

func (c *endpointChanges) add(e model.Endpoint, have observed.Endpoint) {
	c.endpoints = append(c.endpoints, e)
	c.changes = append(c.changes, plan.Change{
		Path: "endpoints." + e.ID, To: endpointSettingsOf([]model.Endpoint{e})[0].Text(), From: plan.EndpointSettings{Weight: have.Weight, PreserveClientIP: &have.ClientIP}.Text(),
	})
}

// setEndpoints plans to change the settings of the endpoints in c. what is the first part of the step ID.
func (m endpointGroupPlanner) setEndpoints(what string, a plan.Address, c endpointChanges, after []plan.StepID, wait plan.Wait) {
	if len(c.endpoints) == 0 {
		return
	}
	m.add(plan.Step{
		ID: plan.NewStepID(what, a), Address: a, Verb: plan.Update, Do: plan.SetEndpoints{Group: a, Endpoints: endpointSettingsOf(c.endpoints)}, After: after,
		Changes: c.changes, Why: "endpoints differ", Impact: plan.BriefImpact, Wait: wait,
	})
}
