package accelerators

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// holdOverrides holds the port overrides of an endpoint group, with a finding, if AWS would refuse the desired overrides
// because of other listeners or endpoint groups of the accelerator. AWS refuses an endpoint port that is also a port of a
// listener, and an endpoint port that port overrides of two listeners use.
func (m endpointGroupPlanner) holdOverrides() {
	for _, p := range m.listenerPairs {
		for j, g := range p.want.Groups {
			why := m.refusedOverride(p, g)
			if why == "" {
				continue
			}
			m.Findings.Add(finding.Finding{
				Object: m.origin, Field: g.Origin.Field + ".portOverrides", Reason: finding.PortOverrideInvalid, Severity: finding.Error,
				Message: why + "; the port overrides of the endpoint group stay unchanged, and a new endpoint group is not created",
				Fix:     "use another endpoint port, or ask the other owner to stop using it",
			})
			m.RetryWithin(durations.MissingWait)
			p.want.Groups[j].OverridesHeld = true
		}
	}
}

// refusedOverride returns the reason why the first port override that conflicts with another listener or endpoint group is
// refused. It returns "" if there is no conflict or the overrides are held already.
func (m endpointGroupPlanner) refusedOverride(p listenerPair, g model.EndpointGroup) string {
	if g.OverridesHeld {
		return ""
	}
	listeners := m.listenersRetainedForGuests
	if m.isGuest() {
		listeners = m.live.Listeners
	}
	for _, o := range g.Overrides {
		if i := slices.IndexFunc(listeners, func(l observed.AcceleratorListener) bool { return model.HasPort(l.Ports, o.Endpoint) }); i >= 0 {
			return fmt.Sprintf("endpoint port %d is a port of listener %s %s of the accelerator", o.Endpoint, listeners[i].Protocol, model.PortRangesText(listeners[i].Ports))
		}
		if other := m.endpointGroupWithPort(p, o.Endpoint); other != nil {
			return fmt.Sprintf("endpoint port %d is used under another listener by the endpoint group of %s (%s)", o.Endpoint, finding.TruncateValue(cmp.Or(m.otherOwners()[other.ARN], "this object")), other.Region)
		}
	}
	return ""
}

// endpointGroupWithPort returns an endpoint group that is retained, belongs to a listener other than p, and has a port
// override to the endpoint port; nil if there is no such endpoint group.
func (m endpointGroupPlanner) endpointGroupWithPort(p listenerPair, port int32) *observed.EndpointGroup {
	if m.live == nil {
		return nil
	}
	for _, l := range m.live.Listeners { // in a fixed order, so that each run reports the same endpoint group
		if p.live != nil && l.ARN == p.live.ARN {
			continue
		}
		stays := m.endpointGroupsOfOthers[l.ARN]
		if m.areSurplusListenersRetained() && slices.ContainsFunc(m.surplusListeners, func(o observed.AcceleratorListener) bool { return o.ARN == l.ARN }) {
			stays = slices.Concat(stays, l.Groups)
		}
		for _, g := range stays {
			if slices.ContainsFunc(g.Overrides, func(o model.PortOverride) bool { return o.Endpoint == port }) {
				return &g
			}
		}
	}
	return nil
}

// areSurplusListenersRetained reports whether observed listeners that match no desired listener are retained with their
// endpoint groups. They are retained if the desired state is not completely known and may contain them.
func (m *acceleratorPlanner) areSurplusListenersRetained() bool {
	return m.want.Held || m.isGuest() && len(m.listenerPairs) < len(m.want.Listeners)
}
