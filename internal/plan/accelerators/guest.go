package accelerators

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// An accelerator that several clusters share has one owner. The other clusters are guests: each of them owns only the
// endpoint groups in its region. In every run, a guest reads from the tags of the accelerator whether the owner still
// permits its endpoint groups.

// guestPlanner plans the endpoint groups of a guest.
type guestPlanner struct{ *acceleratorPlanner }

// isGuest reports whether the stack has no accelerator of its own, but endpoint groups in the accelerator of another owner.
func (m *acceleratorPlanner) isGuest() bool { return m.want != nil && m.want.Shared != "" }

// chooseSharedAccelerator chooses the accelerator of the other owner if the tags of this accelerator permit endpoint groups
// of the stack.
func (m guestPlanner) chooseSharedAccelerator() {
	a := m.Have.SharedAccelerator
	if a == nil || a.ARN != m.want.Shared || !naming.IsGuest(m.Opt.Cluster, m.Have.Facts.Region, m.Want.ID, a.Tags) {
		return
	}
	m.setLiveAccelerator(*a)
	m.separateOtherOwners(func(region string) bool { return region == m.Have.Facts.Region })
}

// separateOtherOwners moves the endpoint groups of other owners from live to endpointGroupsOfOthers, so that no step changes
// them. own is a function that reports whether the endpoint groups in a region belong to this stack.
func (m *acceleratorPlanner) separateOtherOwners(own func(region string) bool) {
	m.endpointGroupsOfOthers = map[string][]observed.EndpointGroup{}
	for i := range m.live.Listeners {
		l := &m.live.Listeners[i]
		var mine []observed.EndpointGroup
		for _, g := range l.Groups {
			if own(g.Region) {
				mine = append(mine, g)
			} else {
				m.endpointGroupsOfOthers[l.ARN] = append(m.endpointGroupsOfOthers[l.ARN], g)
			}
		}
		l.Groups = mine
	}
}

// unknownOwnerText is used in messages if the tags do not name the owner.
const unknownOwnerText = "another owner"

// ownerOfSharedAccelerator returns the owner of the accelerator for messages; "" if the stack owns the accelerator.
func (m *acceleratorPlanner) ownerOfSharedAccelerator() string {
	if !m.isGuest() {
		return ""
	}
	if m.live == nil {
		return unknownOwnerText
	}
	return cmp.Or(naming.AcceleratorOwner(m.live.Tags), unknownOwnerText)
}

// otherOwners returns the owner of each endpoint group in endpointGroupsOfOthers, by the ARN of the endpoint group.
func (m *acceleratorPlanner) otherOwners() map[string]string {
	out := map[string]string{}
	for _, groups := range m.endpointGroupsOfOthers {
		for _, g := range groups {
			out[g.ARN] = cmp.Or(m.want.Guests[g.Region], naming.GuestsInTags(m.live.Tags)[g.Region], m.ownerOfSharedAccelerator(), unknownOwnerText)
		}
	}
	return out
}

// planGuestEndpointGroups plans the endpoint groups of the guest in its region, under the existing listeners. It plans
// nothing if the owner does not permit endpoint groups of the guest.
func (m guestPlanner) planGuestEndpointGroups() {
	finalizers := draft.NewFinalizers(m.Want.Members)
	finalizers.PlanFinalizers(m.Steps)
	first := finalizers.AnyFinalizerSteps()
	if m.live == nil {
		m.RetryWithin(durations.MissingWait)
		return
	}
	m.matchSharedListeners()
	endpointGroupPlanner(m).removeUnpermittedEndpoints()
	endpointGroupPlanner(m).planDials()
	m.retainDialAndWeights()
	endpointGroupPlanner(m).holdOverrides()
	listenerPlanner(m).removeConflictingOverrides(first)
	if !m.areSurplusListenersRetained() {
		for _, l := range m.surplusListeners {
			for _, g := range l.Groups {
				listenerPlanner(m).deleteEndpointGroup(g, first, "no endpoint group of the listener is desired", plan.Wait{})
			}
		}
	}
	endpointGroupPlanner(m).planEndpointGroups(first)
	if len(m.listenerPairs) < len(m.want.Listeners) {
		m.RetryWithin(durations.MissingWait)
	}
	m.requestReplan()
}

// matchSharedListeners finds, for each desired listener, the existing listener with the same protocol and ports. If there is
// no such listener, it adds a finding.
func (m guestPlanner) matchSharedListeners() {
	found := map[string]bool{}
	if m.live == nil {
		return
	}
	for i := range m.want.Listeners {
		w := copyOfListener(m.want.Listeners[i])
		j := slices.IndexFunc(m.live.Listeners, func(l observed.AcceleratorListener) bool {
			common, either := countOverlap(w.Ports, l.Ports)
			return l.Protocol == w.Protocol && common == either
		})
		if j < 0 {
			m.Findings.Add(finding.Finding{
				Object: m.origin, Field: w.Origin.Field, Reason: finding.SharedListenerNotFound, Severity: finding.Error,
				Message: fmt.Sprintf("accelerator %q has no listener %s %s, and only its owner creates listeners; no endpoint group is created for this listener, and no existing endpoint group is deleted", m.live.ARN, w.Protocol, model.PortRangesText(w.Ports)),
				Fix:     "have the owner add the listener, or correct protocol and portRanges",
			})
			continue
		}
		live := &m.live.Listeners[j]
		found[live.ARN] = true
		w.Ports, w.SourceIP = live.Ports, live.SourceIP
		p := listenerPair{w, live}
		m.KnownIDs[p.address()] = live.ARN
		m.listenerPairs = append(m.listenerPairs, p)
	}
	for _, l := range m.live.Listeners {
		if !found[l.ARN] {
			m.surplusListeners = append(m.surplusListeners, l)
		}
	}
}

// hasFullDial reports whether an endpoint group takes all traffic of its region: its traffic dial is 100, and an endpoint
// has a weight above 0.
func hasFullDial(g observed.EndpointGroup) bool {
	return g.Dial >= fullDial-dialTolerance && hasWeight(g)
}

func hasWeight(g observed.EndpointGroup) bool {
	return slices.ContainsFunc(g.Endpoints, func(e observed.Endpoint) bool { return e.Weight > 0 })
}

// fullDial is the traffic dial, in percent, of an endpoint group that takes all traffic of its region.
const fullDial = 100

// retainDialAndWeights keeps the traffic dial and the endpoint weights of the guest's endpoint groups if no other endpoint
// group of the listener would take their traffic. It reports each setting that it keeps.
func (m guestPlanner) retainDialAndWeights() {
	for _, p := range m.listenerPairs {
		others := m.endpointGroupsOfOthers[p.live.ARN]
		for i := range p.want.Groups {
			w := &p.want.Groups[i]
			live := p.liveEndpointGroup(w.Region)
			exists := live != nil
			if !exists {
				live = &observed.EndpointGroup{Dial: fullDial}
			}
			if float64(w.Dial) < live.Dial-dialTolerance && !slices.ContainsFunc(others, hasFullDial) {
				m.reportRetainedSetting(w.Origin.Field+".trafficDialPercentage", fmt.Sprintf("the traffic dial stays at %v and does not become %d, because no other endpoint group of the listener takes all traffic for its region", live.Dial, w.Dial),
					"have another endpoint group take the traffic first, or set 100")
				w.DialHeld = exists
				w.Dial = int32(live.Dial)
			}
			allWeightsZero := len(w.Endpoints) > 0 && !slices.ContainsFunc(w.Endpoints, func(e model.Endpoint) bool { return e.Weight > 0 })
			if !allWeightsZero || slices.ContainsFunc(others, hasWeight) {
				continue
			}
			m.reportRetainedSetting(w.Origin.Field+".endpoints", "all endpoints have weight 0, and no other endpoint group of the listener has an endpoint that gets traffic; endpoints that get traffic keep their weights", "give an endpoint a weight, or have another endpoint group take the traffic first")
			w.Endpoints = slices.Clone(w.Endpoints)
			for k := range w.Endpoints {
				if e := live.Endpoint(w.Endpoints[k].ID); e != nil {
					w.Endpoints[k].Weight = e.Weight
				}
			}
		}
	}
}

// leaveSharedAccelerator plans to delete the endpoint groups of the guest in its region, and to remove the finalizer. If the
// owner does not permit the guest any more, no endpoint group is deleted, and a finding reports this.
func (m guestPlanner) leaveSharedAccelerator() {
	var before []plan.StepID
	if m.live == nil {
		m.Findings.Add(finding.Finding{
			Object: m.origin, Field: naming.SharedAnnotation, Reason: finding.AcceleratorNotShared, Severity: finding.Warning,
			Message: fmt.Sprintf("accelerator %q does not exist, or its owner does not permit endpoint groups of this object any more; no endpoint group is deleted", m.want.Shared),
			Fix:     "have the owner of the accelerator delete the remaining endpoint groups",
		})
	} else {
		for _, l := range m.live.Listeners {
			for _, g := range l.Groups {
				before = append(before, listenerPlanner(m).deleteEndpointGroup(g, nil, "the object is deleted", plan.Wait{}))
			}
		}
	}
	m.releaseFinalizers(before)
}
