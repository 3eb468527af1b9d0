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

// holdOverrides keeps the live port overrides of endpoint groups that AWS would refuse because of what others
// have of the accelerator: AWS lets no endpoint port be a port of any of its listeners, or be used under two of them.
func (m endpointGroupPlanner) holdOverrides() {
	for i, p := range m.pairs {
		for j, g := range p.want.Groups {
			k, why := m.refusedOverride(p, g)
			if k < 0 {
				continue
			}
			m.Findings.Add(finding.Finding{
				Object: m.origin, Field: fmt.Sprintf("%s.portOverrides[%d]", g.Origin.Field, k), Reason: finding.PortOverrideInvalid, Severity: finding.Error,
				Message: why + "; the port overrides of the endpoint group stay as they are, and a new endpoint group is not made",
				Fix:     "use another endpoint port, or have the other owner give it up",
			})
			m.RetryWithin(durations.MissingWait)
			as := *m.pairs[i].want
			as.Groups = slices.Clone(as.Groups)
			as.Groups[j].OverridesHeld = true
			m.pairs[i].want = &as
		}
	}
}

// refusedOverride returns the first port override of an endpoint group that contradicts what others have, -1 if none
// does, and why.
func (m endpointGroupPlanner) refusedOverride(p listenerPair, g model.EndpointGroup) (int, string) {
	if g.OverridesHeld {
		return -1, ""
	}
	listeners := m.keptForGuests
	if m.isGuest() {
		listeners = m.live.Listeners
	}
	for k, o := range g.Overrides {
		if i := slices.IndexFunc(listeners, func(l observed.AcceleratorListener) bool { return model.HasPort(l.Ports, o.Endpoint) }); i >= 0 {
			return k, fmt.Sprintf("endpoint port %d is a port of listener %s %s of the accelerator", o.Endpoint, listeners[i].Protocol, model.PortRangesText(listeners[i].Ports))
		}
		if other := m.endpointGroupWithPort(p, o.Endpoint); other != nil {
			return k, fmt.Sprintf("endpoint port %d is used under another listener by the endpoint group of %s (%s)", o.Endpoint, finding.Cut(cmp.Or(m.ownersOfOthers()[other.ARN], "this object")), other.Region)
		}
	}
	return -1, ""
}

// endpointGroupWithPort returns a live endpoint group under another listener than that of a pair which has an endpoint port and
// stays, nil if there is none.
func (m endpointGroupPlanner) endpointGroupWithPort(p listenerPair, port int32) *observed.EndpointGroup {
	if m.live == nil {
		return nil
	}
	for _, l := range m.live.Listeners { // in their order, so that the same one is named each time
		if p.live != nil && l.ARN == p.live.ARN {
			continue
		}
		stays := m.others[l.ARN]
		if m.keepsSurplus() && slices.ContainsFunc(m.surplus, func(o observed.AcceleratorListener) bool { return o.ARN == l.ARN }) {
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

// keepsSurplus reports whether live endpoint groups stay whose listeners are not desired, because they may be those
// of listeners that could not be built or found.
func (m *acceleratorPlanner) keepsSurplus() bool {
	return m.want.Held || m.isGuest() && len(m.pairs) < len(m.want.Listeners)
}
