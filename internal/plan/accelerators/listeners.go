package accelerators

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// listenerPlanner plans the listeners of an accelerator.
type listenerPlanner struct{ *acceleratorPlanner }

// removeConflictingOverrides plans to remove existing port overrides that would make AWS refuse a later step. AWS refuses an
// endpoint port that is also a port of a listener, an endpoint port that port overrides of two listeners use, and an
// override for a port that its listener does not have.
func (m listenerPlanner) removeConflictingOverrides(after []plan.StepID) {
	for _, p := range m.listenerPairs {
		if p.live == nil {
			continue
		}
		for j, g := range p.live.Groups {
			keep := slices.DeleteFunc(slices.Clone(g.Overrides), func(o model.PortOverride) bool { return m.hasOverrideConflict(p, o) })
			if len(keep) == len(g.Overrides) {
				continue
			}
			a := endpointGroupPlanner(m).endpointGroupAddress(p, g)
			m.add(plan.Step{
				ID: plan.NewStepID("remove-overrides", a), Address: a, Verb: plan.Update, After: after, Impact: plan.BriefImpact,
				Do:      plan.ChangeEndpointGroup{Group: a, Overrides: &keep},
				Changes: []plan.Change{{Path: "port overrides", From: plan.OverridesText(g.Overrides), To: plan.OverridesText(keep)}},
				Why:     "listeners or other overrides need the endpoint ports, or the protocol or ports of the listener change",
			})
			p.live.Groups[j].Overrides = keep // later steps are planned from the remaining overrides
		}
	}
}

// hasOverrideConflict reports whether an existing override conflicts with a desired listener or with a desired override of
// another listener.
func (m listenerPlanner) hasOverrideConflict(p listenerPair, o model.PortOverride) bool {
	if p.needsChange() && (!p.want.HasPort(o.Listener) || p.live.Protocol != p.want.Protocol) {
		return true
	}
	for i := range m.listenerPairs {
		w := m.listenerPairs[i].want
		if w.HasPort(o.Endpoint) {
			return true
		}
		for _, x := range w.Groups {
			if w != p.want && slices.ContainsFunc(x.Overrides, func(y model.PortOverride) bool { return y.Endpoint == o.Endpoint }) {
				return true
			}
		}
	}
	return false
}

func listenerSettings(w *model.AcceleratorListener) plan.AcceleratorListenerSettings {
	return plan.AcceleratorListenerSettings{Protocol: w.Protocol, Ports: w.Ports, SourceIPAffinity: w.SourceIP}
}

// planListeners plans to delete, change and create listeners. If a port moves to another listener, the listener that has it
// releases the port first.
func (m listenerPlanner) planListeners(after []plan.StepID) {
	var free []portRelease
	var rest []observed.AcceleratorListener
	for _, l := range m.surplusListeners {
		if !slices.ContainsFunc(m.listenerPairs, func(p listenerPair) bool { return portsOverlap(l.Protocol, l.Ports, p.want.Protocol, p.want.Ports) }) {
			rest = append(rest, l)
			continue
		}
		free = append(free, portRelease{l.Protocol, l.Ports, m.deleteListener(l, after, "a desired listener needs its ports")})
	}
	free = m.changeListeners(free, after)
	for i, l := range rest {
		switch {
		case m.want.Held: // the listener is retained, because the unknown desired state may contain it
		case m.want.Protected && len(m.listenerPairs) == 0 && i == 0:
			m.reportRetainedSetting("spec.listeners", "the last listener is retained, because annotation fulcrum.dev/accelerator-protection is set", "remove the annotation, or add a listener")
		default:
			m.deleteListener(l, after, "the listener is not desired any more")
		}
	}
	for m.retainFirstBlockedListener() {
		continue
	}
	for _, p := range m.listenerPairs {
		if p.live != nil {
			continue
		}
		a, s := p.address(), listenerSettings(p.want)
		m.add(plan.Step{
			ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create, After: append(slices.Clone(after), stepsFreeingListenerPorts(free, s)...), Why: "the listener does not exist",
			Do: plan.CreateAcceleratorListener{Accelerator: plan.AcceleratorAddress, Settings: s, Token: m.idempotencyToken(m.KnownIDs[plan.AcceleratorAddress], a.ID, fmt.Sprint(s))},
		})
	}
}

// portRelease has the ports that a step removes from a listener, so that another listener can have them.
type portRelease struct {
	protocol model.BaseProtocol
	ports    []model.PortRange
	step     plan.StepID
}

// stepsFreeingListenerPorts returns the steps that release ports which a listener with the settings s needs.
func stepsFreeingListenerPorts(free []portRelease, s plan.AcceleratorListenerSettings) (out []plan.StepID) {
	for _, f := range free {
		if portsOverlap(f.protocol, f.ports, s.Protocol, s.Ports) {
			out = append(out, f.step)
		}
	}
	return out
}

// changeListeners plans the changes of existing listeners. A listener is changed when no other listener has its new ports
// any more. If all remaining listeners need ports of each other, freePorts releases some ports in a separate step. The
// result has free and the ports that the new steps release.
func (m listenerPlanner) changeListeners(free []portRelease, after []plan.StepID) []portRelease {
	var pending []listenerPair
	for _, p := range m.listenerPairs {
		if p.live != nil && p.needsChange() {
			pending = append(pending, p)
		}
	}
	for len(pending) > 0 {
		i := slices.IndexFunc(pending, func(p listenerPair) bool { return m.arePortsFree(p, pending) })
		if i < 0 {
			pending, free = m.freePorts(pending, free, after)
			continue
		}
		p := pending[i]
		pending = slices.Delete(slices.Clone(pending), i, i+1)
		a, s := p.address(), listenerSettings(p.want)
		id := m.add(plan.Step{
			ID: plan.NewStepID("change", a), Address: a, Verb: plan.Update, After: append(slices.Clone(after), stepsFreeingListenerPorts(free, s)...),
			Do: plan.ChangeAcceleratorListener{Listener: a, Settings: s}, Changes: listenerChanges(p), Why: "the listener differs", Impact: listenerImpact(p),
		})
		free = append(free, portRelease{p.live.Protocol, p.live.Ports, id})
	}
	return free
}

// arePortsFree reports whether no other pending listener has a port that the given listener needs.
func (m listenerPlanner) arePortsFree(p listenerPair, pending []listenerPair) bool {
	return !slices.ContainsFunc(pending, func(o listenerPair) bool {
		return o.want != p.want && portsOverlap(o.live.Protocol, o.live.Ports, p.want.Protocol, p.want.Ports)
	})
}

// portsNoOtherListenerNeeds returns the observed ports of the listener that no other pending listener needs.
func portsNoOtherListenerNeeds(p listenerPair, pending []listenerPair) []model.PortRange {
	keep := p.live.Ports
	for _, o := range pending {
		if o.want != p.want && o.want.Protocol == p.live.Protocol {
			keep = withoutPorts(keep, o.want.Ports)
		}
	}
	return keep
}

// freePorts plans a step in which the first listener that has ports of another pending listener releases these ports. If the
// listener would have no ports left, it is deleted and created again later. freePorts returns the listeners that are still
// pending, and the list free with the released ports added.
func (m listenerPlanner) freePorts(pending []listenerPair, free []portRelease, after []plan.StepID) ([]listenerPair, []portRelease) {
	i := slices.IndexFunc(pending, func(p listenerPair) bool {
		return slices.ContainsFunc(pending, func(o listenerPair) bool {
			return o.want != p.want && portsOverlap(p.live.Protocol, p.live.Ports, o.want.Protocol, o.want.Ports)
		}) && m.isAllowedByGuests(*p.live, p.live.Protocol, portsNoOtherListenerNeeds(p, pending))
	})
	if i < 0 {
		m.retainPendingListeners(pending)
		return nil, free
	}
	p, keep := pending[i], portsNoOtherListenerNeeds(pending[i], pending)
	if len(keep) == 0 {
		id := m.deleteListener(*p.live, after, "other listeners need its ports")
		for j := range m.listenerPairs {
			if m.listenerPairs[j].want == p.want {
				m.listenerPairs[j].live = nil
			}
		}
		delete(m.KnownIDs, p.address())
		return slices.Delete(slices.Clone(pending), i, i+1), append(free, portRelease{p.live.Protocol, p.live.Ports, id})
	}
	a := p.address()
	s := plan.AcceleratorListenerSettings{Protocol: p.live.Protocol, Ports: keep, SourceIPAffinity: p.live.SourceIP}
	id := m.add(plan.Step{
		ID: plan.NewStepID("release-ports", a), Address: a, Verb: plan.Update, After: after, Do: plan.ChangeAcceleratorListener{Listener: a, Settings: s},
		Changes: []plan.Change{{Path: "ports", From: model.PortRangesText(p.live.Ports), To: model.PortRangesText(keep)}},
		Why:     "other listeners need these ports", Impact: plan.BriefImpact,
	})
	free = append(free, portRelease{p.live.Protocol, p.live.Ports, id})
	l := *p.live
	l.Ports = keep
	pending = slices.Clone(pending)
	pending[i].live = &l
	return pending, free
}

func listenerChanges(p listenerPair) (out []plan.Change) {
	add := func(path, from, to string) {
		if from != to {
			out = append(out, plan.Change{Path: path, From: from, To: to})
		}
	}
	add("protocol", string(p.live.Protocol), string(p.want.Protocol))
	add("ports", model.PortRangesText(p.live.Ports), model.PortRangesText(p.want.Ports))
	add("client affinity", plan.AffinityText(p.live.SourceIP), plan.AffinityText(p.want.SourceIP))
	return out
}

// listenerImpact returns the impact of a listener change on traffic. Connections fail if the protocol changes or a port is
// removed.
func listenerImpact(p listenerPair) plan.Impact {
	common, _ := countOverlap(p.live.Ports, p.want.Ports)
	all, _ := countOverlap(p.live.Ports, p.live.Ports)
	if p.live.Protocol != p.want.Protocol || common < all {
		return plan.DeleteImpact
	}
	return plan.NoImpact
}

// deleteListener plans to delete a listener, after its endpoint groups. It returns the step that deletes the listener.
func (m listenerPlanner) deleteListener(l observed.AcceleratorListener, after []plan.StepID, why string) plan.StepID {
	a := plan.Address{Kind: plan.AcceleratorListener, ID: l.ARN}
	before := slices.Clone(after)
	for _, g := range l.Groups {
		before = append(before, m.deleteEndpointGroup(g, after, why, plan.Wait{}))
	}
	return m.add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteAcceleratorListener{ARN: l.ARN}, After: before,
		Changes: []plan.Change{{Path: "ports", From: fmt.Sprintf("%s %s", l.Protocol, model.PortRangesText(l.Ports))}}, Why: why, Impact: plan.DeleteImpact,
	})
}

func (m listenerPlanner) deleteEndpointGroup(g observed.EndpointGroup, after []plan.StepID, why string, wait plan.Wait) plan.StepID {
	a := plan.Address{Kind: plan.EndpointGroup, ID: g.ARN}
	return m.add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteEndpointGroup{ARN: g.ARN}, After: after,
		Changes: []plan.Change{{Path: "region", From: g.Region}}, Why: why, Impact: plan.DeleteImpact, Wait: wait,
	})
}
