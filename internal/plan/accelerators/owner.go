package accelerators

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// The owner of an accelerator never changes the endpoint groups of its guests, and never deletes the listeners of these
// endpoint groups.

// ownerPlanner plans the changes of an accelerator by its owner that depend on the endpoint groups of guests.
type ownerPlanner struct{ *acceleratorPlanner }

// guestNames returns the owners and regions of the endpoint groups that guests have under the given listeners, as a text for
// messages.
func (m *acceleratorPlanner) guestNames(listeners ...string) string {
	var out []string
	for _, arn := range listeners {
		for _, g := range m.endpointGroupsOfOthers[arn] {
			out = append(out, fmt.Sprintf("%s (%s)", finding.TruncateValue(m.want.Guests[g.Region]), g.Region))
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

// reportHeldForGuest reports a change of the accelerator that is not made because of the endpoint groups of guests under the
// given listeners. what describes the unchanged setting.
func (m *acceleratorPlanner) reportHeldForGuest(field string, severity finding.Severity, what string, listeners ...string) {
	m.Findings.Add(finding.Finding{
		Object: m.origin, Field: field, Reason: finding.HeldForGuest, Severity: severity,
		Message: fmt.Sprintf("%s, because of the endpoint groups of %s", what, m.guestNames(listeners...)),
		Fix:     "have the guest remove its endpoint group, or remove the guest from the annotation fulcrum.dev/accelerator-guests",
	})
	for _, arn := range listeners {
		m.Ask(model.AskAcceleratorState{ARN: arn})
	}
	m.RetryWithin(durations.MissingWait)
}

// removesGuestTag reports whether the accelerator has the tag of a guest that is not desired any more. The plan removes this
// tag, so that the guest loses its permission.
func (m ownerPlanner) removesGuestTag() bool {
	for region := range naming.GuestsInTags(m.live.Tags) {
		if m.want == nil || m.want.Guests[region] == "" {
			return true
		}
	}
	return false
}

// retainListenersForGuests retains listeners that should be deleted or changed, if endpoint groups of guests prevent this.
// AWS does not delete a listener that has endpoint groups. AWS refuses a port override for a port that the listener does not
// have, and a port override to a port of any listener.
func (m listenerPlanner) retainListenersForGuests(after []plan.StepID) {
	var rest []observed.AcceleratorListener
	for _, l := range m.surplusListeners {
		needed := slices.ContainsFunc(m.listenerPairs, func(p listenerPair) bool { return portsOverlap(l.Protocol, l.Ports, p.want.Protocol, p.want.Ports) })
		if len(m.endpointGroupsOfOthers[l.ARN]) == 0 || m.want.Held && !needed {
			rest = append(rest, l)
			continue
		}
		for _, g := range l.Groups {
			m.deleteEndpointGroup(g, after, "the listener is not desired any more", plan.Wait{})
		}
		m.listenersRetainedForGuests = append(m.listenersRetainedForGuests, l)
		m.reportHeldForGuest("spec.listeners", finding.Warning, fmt.Sprintf("listener %s %s is not desired any more but is retained", l.Protocol, model.PortRangesText(l.Ports)), l.ARN)
	}
	m.surplusListeners = rest
	for m.retainFirstBlockedListener() {
		continue
	}
}

// retainFirstBlockedListener retains the observed settings of the first listener that cannot be created or changed because of
// guests. It reports whether there is such a listener.
func (m listenerPlanner) retainFirstBlockedListener() bool {
	for i, p := range m.listenerPairs {
		if !m.isBlockedByGuests(p) {
			continue
		}
		m.retainObservedSettings(i)
		return true
	}
	return false
}

// isBlockedByGuests reports whether AWS would refuse the creation or change of a listener because of endpoint groups of
// guests.
func (m listenerPlanner) isBlockedByGuests(p listenerPair) bool {
	if p.live != nil && p.live.Protocol == p.want.Protocol && slices.Equal(p.live.Ports, p.want.Ports) {
		return false
	}
	for _, s := range m.listenersRetainedForGuests {
		if (p.live == nil || s.ARN != p.live.ARN) && portsOverlap(s.Protocol, s.Ports, p.want.Protocol, p.want.Ports) {
			return true
		}
	}
	for _, groups := range m.endpointGroupsOfOthers {
		for _, g := range groups {
			if slices.ContainsFunc(g.Overrides, func(o model.PortOverride) bool { return p.want.HasPort(o.Endpoint) }) {
				return true
			}
		}
	}
	return p.live != nil && !m.isAllowedByGuests(*p.live, p.want.Protocol, p.want.Ports)
}

// isAllowedByGuests reports whether the listener can get the protocol and ports without a conflict with the port overrides
// of guests under this listener.
func (m listenerPlanner) isAllowedByGuests(l observed.AcceleratorListener, protocol model.BaseProtocol, ports []model.PortRange) bool {
	for _, g := range m.endpointGroupsOfOthers[l.ARN] {
		if len(ports) == 0 || slices.ContainsFunc(g.Overrides, func(o model.PortOverride) bool { return protocol != l.Protocol || !model.HasPort(ports, o.Listener) }) {
			return false
		}
	}
	return true
}

// retainObservedSettings retains the observed settings of the listener pair with index i, and adds a finding. If the
// listener does not exist, it is not created.
func (m listenerPlanner) retainObservedSettings(i int) {
	p := m.listenerPairs[i]
	var all []string
	for arn := range m.endpointGroupsOfOthers {
		all = append(all, arn)
	}
	slices.Sort(all)
	if p.live == nil {
		m.listenerPairs = slices.Delete(slices.Clone(m.listenerPairs), i, i+1)
		m.reportHeldForGuest(p.want.Origin.Field, finding.Warning, fmt.Sprintf("listener %s %s is not created", p.want.Protocol, model.PortRangesText(p.want.Ports)), all...)
		return
	}
	m.reportHeldForGuest(p.want.Origin.Field, finding.Warning, fmt.Sprintf("the listener keeps %s %s", p.live.Protocol, model.PortRangesText(p.live.Ports)), all...)
	m.listenersRetainedForGuests = append(m.listenersRetainedForGuests, *p.live)
	p.want.Protocol, p.want.Ports, p.want.SourceIP = p.live.Protocol, p.live.Ports, p.live.SourceIP
	for j := range p.want.Groups {
		p.want.Groups[j].OverridesHeld = true
	}
}

// retainPendingListeners retains the observed settings of listeners that need ports of each other, if guests prevent all of
// them from releasing ports.
func (m listenerPlanner) retainPendingListeners(pending []listenerPair) {
	for _, p := range pending {
		i := slices.IndexFunc(m.listenerPairs, func(o listenerPair) bool { return o.want == p.want })
		m.listenerPairs[i].live = p.live
		m.retainObservedSettings(i)
	}
}

// removeGuestTags plans to remove the tags of guests that have no endpoint group, before the accelerator is deleted. It
// returns the step, or none if there are no such tags.
func (m ownerPlanner) removeGuestTags() []plan.StepID {
	var remove []string
	for region := range naming.GuestsInTags(m.live.Tags) {
		has := false
		for _, groups := range m.endpointGroupsOfOthers {
			has = has || slices.ContainsFunc(groups, func(g observed.EndpointGroup) bool { return g.Region == region })
		}
		if !has {
			remove = append(remove, naming.GuestTag(region))
		}
	}
	if len(remove) == 0 {
		return nil
	}
	slices.Sort(remove)
	a := plan.AcceleratorAddress
	return []plan.StepID{m.AddTagStep(plan.Step{
		ID: plan.NewStepID("tag", a), Address: a, Why: "the accelerator is deleted, so no guest gets endpoint groups any more", RequestedBy: m.requestedBy(),
	}, nil, remove, m.live.Tags)}
}

// deleteAllExceptGuestParts plans to delete the listeners and endpoint groups of the accelerator, but not the endpoint
// groups of guests and the listeners to which these belong. The accelerator is retained until the guests have deleted their
// endpoint groups.
func (m ownerPlanner) deleteAllExceptGuestParts() {
	after := m.removeGuestTags()
	var with []string
	for _, l := range m.live.Listeners {
		if len(m.endpointGroupsOfOthers[l.ARN]) == 0 {
			listenerPlanner(m).deleteListener(l, after, "the accelerator is deleted")
			continue
		}
		with = append(with, l.ARN)
		for _, g := range l.Groups {
			listenerPlanner(m).deleteEndpointGroup(g, after, "the accelerator is deleted", plan.Wait{})
		}
	}
	m.reportHeldForGuest("", finding.Error, "the GlobalAccelerator is being deleted, and its accelerator is retained with its addresses", with...)
}
