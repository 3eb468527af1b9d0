// Package accelerators plans accelerators: the accelerator itself, its listeners, their endpoint groups and endpoints. Each
// prefix of a plan is safe: a port that is served and is to be served keeps a listener, an endpoint group and, if it has
// one, a healthy endpoint, except that AWS lets no two listeners have one port, so that a port which goes from one to another
// is free in between.
package accelerators

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// acceleratorPlanner makes the plan of a stack that has an accelerator.
type acceleratorPlanner struct {
	*draft.Draft
	want *model.Accelerator
	live *observed.Accelerator
	// member is the object of the accelerator, with the ARN that its status records.
	member  model.Member
	origin  finding.Ref
	pairs   []listenerPair
	surplus []observed.AcceleratorListener
	// others are the live endpoint groups that are not the stack's, by the ARN of their listener. live has none of them.
	others map[string][]observed.EndpointGroup
	// keptForGuests are live listeners that stay because of the endpoint groups of guests.
	keptForGuests []observed.AcceleratorListener
}

// Make computes what has to be done to reach the desired state.
func Make(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) (plan.Plan, finding.List) {
	m := newAcceleratorPlanner(want, have, opt, memory)
	switch {
	case want.DeletionGuard != nil && m.live != nil:
		m.Findings.Add(*want.DeletionGuard)
		endpointGroupPlanner{m}.removeUnpermittedEndpoints()
	case want.Held.Everything, len(want.Members)+len(want.Leaving) == 0:
		// The object is gone, but was not deleted through its finalizer (or everything is held). The accelerator
		// stays; only endpoints that the object may not use are removed.
		endpointGroupPlanner{m}.removeUnpermittedEndpoints()
	case m.isGuest() && len(want.Members) == 0:
		guestPlanner{m}.leaveShared()
	case m.isGuest():
		guestPlanner{m}.serveAsGuest()
	case len(want.Members) == 0:
		m.tearDown()
	default:
		m.converge()
	}
	m.Plan.KnownIDs = m.KnownIDs
	if !m.isGuest() && (m.live != nil || m.want != nil) {
		m.Plan.LoadBalancers = []plan.Address{plan.AcceleratorAddress}
	}
	return m.Plan, m.Findings
}

// Choose returns which accelerator and which of its listeners are kept, as Make chooses them.
func Choose(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) resolved.Choices {
	m := newAcceleratorPlanner(want, have, opt, memory)
	out := resolved.Choices{Desired: want}
	if m.want == nil {
		return out
	}
	if m.isGuest() {
		guestPlanner{m}.matchShared()
	} else {
		m.match()
	}
	out.Accelerator = &resolved.AcceleratorChoices{Live: m.live, Owner: m.owner(), OtherOwners: m.ownersOfOthers()}
	for _, p := range m.pairs {
		one := resolved.AcceleratorListenerChoices{Desired: p.want, Live: p.live}
		if p.live != nil {
			one.Score = Score(*p.want, *p.live)
		}
		out.Accelerator.Listeners = append(out.Accelerator.Listeners, one)
	}
	return out
}

// newAcceleratorPlanner returns the planner of a stack, with the live accelerator chosen.
func newAcceleratorPlanner(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *acceleratorPlanner {
	m := &acceleratorPlanner{
		Draft: &draft.Draft{Steps: draft.NewSteps(want.ID, memory.Waited), Want: want, Have: have, Opt: opt, Memory: memory, KnownIDs: plan.KnownIDs{}},
		want:  want.Accelerator,
	}
	m.origin = finding.Ref{Kind: string(want.ID.Kind), Namespace: want.ID.Namespace, Name: want.ID.Name}
	if all := slices.Concat(want.Members, want.Leaving); len(all) > 0 {
		m.member, m.origin = all[0], all[0].Ref
	}
	m.choose()
	return m
}

// choose finds the accelerator of the stack: the one that the status names, or else the first. What does not carry all tags
// of the stack is not among them. Others stay, and are orphans.
func (m *acceleratorPlanner) choose() {
	if m.isGuest() {
		guestPlanner{m}.chooseShared()
	} else {
		for i, a := range m.Have.Accelerators {
			if i == 0 || a.ARN == m.member.Recorded {
				m.chooseLive(a)
			}
		}
		if m.live != nil {
			m.KnownIDs[plan.AcceleratorAddress] = m.live.ARN
			m.separateOtherOwners(func(region string) bool { return m.want == nil || m.want.Guests[region] == "" })
		}
	}
	if m.member.Recorded != "" && m.Have.Facts.Recorded == observed.RecordedForeign {
		m.Findings.Add(finding.Finding{
			Object: m.origin, Field: "status.acceleratorARN", Reason: finding.AcceleratorNotOwned, Severity: finding.Warning,
			Message: fmt.Sprintf("accelerator %q does not carry the tags of this object; it is left alone, and the field is corrected", finding.Cut(m.member.Recorded)),
			Fix:     "see who writes the status of the object",
		})
	}
}

// chooseLive chooses an accelerator. Parts of it change while the plan is made.
func (m *acceleratorPlanner) chooseLive(a observed.Accelerator) {
	a.Listeners = slices.Clone(a.Listeners)
	for i := range a.Listeners {
		a.Listeners[i].Groups = slices.Clone(a.Listeners[i].Groups)
	}
	m.live = &a
}

// converge plans towards an accelerator as it is desired.
func (m *acceleratorPlanner) converge() {
	finalizers := draft.NewFinalizers(m.Want.Members)
	finalizers.Claim(m.Steps)
	first := finalizers.HolderSteps()
	m.match()
	endpointGroupPlanner{m}.removeUnpermittedEndpoints()
	if m.live == nil && m.isGone() && m.want.Protected {
		m.reportKept("", fmt.Sprintf("accelerator %q is gone, and a new one would have other addresses; none is made, because the annotation asks for protection", m.member.Recorded), "remove the annotation to have a new accelerator made")
		return
	}
	if m.live == nil && m.want.Held && len(m.want.Listeners) == 0 {
		m.requestReplan() // nothing can be built yet, and an accelerator costs money
		return
	}
	ready := m.planAccelerator(first)
	listenerPlanner{m}.keepForGuests(ready)
	endpointGroupPlanner{m}.holdOverrides()
	listenerPlanner{m}.dropOverrides(ready)
	listenerPlanner{m}.planListeners(ready)
	endpointGroupPlanner{m}.holdOverrides() // more listeners may stay
	endpointGroupPlanner{m}.followDials()
	removed := endpointGroupPlanner{m}.planEndpointGroups(ready)
	m.changeToDualStack(append(slices.Clone(ready), removed...))
	m.requestReplan()
}

// isGone reports whether the accelerator that the status names is not there any more.
func (m *acceleratorPlanner) isGone() bool {
	return m.member.Recorded != "" && m.Have.Facts.Recorded == observed.RecordedGone
}

// planAccelerator makes the accelerator, or changes its settings. It returns the steps after which its parts can be made.
func (m *acceleratorPlanner) planAccelerator(first []plan.StepID) []plan.StepID {
	a := plan.AcceleratorAddress
	blames := []finding.Ref{m.origin}
	tags := plan.Tags(naming.AcceleratorTags(m.Opt.Cluster, m.Have.Facts.Region, m.Want.ID, m.want.Tags, m.want.Guests))
	ready := slices.Clone(first)
	if m.live == nil {
		token := m.want.UID
		if m.isGone() {
			token = m.token("again", m.member.Recorded)
			m.Findings.Add(finding.Finding{
				Object: m.origin, Reason: finding.AcceleratorRecreated, Severity: finding.Warning,
				Message: fmt.Sprintf("accelerator %q is gone from AWS; a new one is made, with other addresses", m.member.Recorded), Fix: "change what names the old addresses",
			})
		}
		ready = append(ready, m.Add(plan.Step{
			ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create, After: first, Blames: blames, Why: "there is none",
			NameOf: m.want.Origins["name"],
			Do:     plan.CreateAccelerator{Name: m.want.Name, AddressType: m.want.AddressType, Addresses: m.want.Addresses, Tags: tags, Token: token},
		}))
	}
	if m.live == nil || m.member.Recorded != m.live.ARN {
		ready = append(ready, m.Add(plan.Step{
			ID: plan.NewStepID("record", a), Address: a, Verb: plan.Update, After: slices.Clone(ready), Blames: blames,
			Do: plan.RecordAccelerator{Ref: m.origin}, Why: "so that it is known again whatever happens",
		}))
	}
	if m.live == nil {
		return ready
	}
	if tag := m.Retag(a, tags, m.live.Tags, false, ready, blames); tag != "" && (hostPlanner{m}).removesGuestTag() {
		ready = append(ready, tag) // a guest must not make again what is deleted after it
	}
	if !m.live.Enabled {
		m.changeAccelerator("enable", plan.ChangeAccelerator{Accelerator: a, Enabled: new(true)}, plan.Change{Path: "enabled", From: "false", To: "true"}, plan.NoImpact, ready)
	}
	if m.live.Name != m.want.Name && m.want.Name != "" {
		m.changeAccelerator("rename", plan.ChangeAccelerator{Accelerator: a, Name: m.want.Name}, plan.Change{Path: "name", From: m.live.Name, To: m.want.Name}, plan.NoImpact, ready)
	}
	if m.live.AddressType == model.DualStack && m.want.AddressType == model.IPv4 {
		if m.want.Protected {
			m.reportKept("spec.ipAddressType", "the accelerator keeps its IPv6 addresses, because the annotation asks for protection", "remove the annotation, or set DUAL_STACK")
		} else {
			ready = append(ready, m.changeAccelerator("address-type", plan.ChangeAccelerator{Accelerator: a, AddressType: model.IPv4},
				plan.Change{Path: "address type", From: string(model.DualStack), To: string(model.IPv4)}, plan.DeleteImpact, ready))
		}
	}
	m.reportAddresses()
	return ready
}

// changeToDualStack plans the address type DUAL_STACK, after endpoints that only have IPv4 addresses are removed.
func (m *acceleratorPlanner) changeToDualStack(after []plan.StepID) {
	if m.live == nil || m.live.AddressType == model.DualStack || m.want.AddressType != model.DualStack {
		return
	}
	m.changeAccelerator("address-type", plan.ChangeAccelerator{Accelerator: plan.AcceleratorAddress, AddressType: model.DualStack},
		plan.Change{Path: "address type", From: string(model.IPv4), To: string(model.DualStack)}, plan.NoImpact, after)
}

func (m *acceleratorPlanner) changeAccelerator(what string, do plan.ChangeAccelerator, c plan.Change, impact plan.Impact, after []plan.StepID) plan.StepID {
	return m.Add(plan.Step{
		ID: plan.NewStepID(what, do.Accelerator), Address: do.Accelerator, Verb: plan.Update, Do: do, Changes: []plan.Change{c},
		Why: "the accelerator differs", Impact: impact, After: after, Blames: []finding.Ref{m.origin},
	})
}

func (m *acceleratorPlanner) blames() []finding.Ref { return []finding.Ref{m.origin} }

// reportKept reports a setting that stays as it is live.
func (m *acceleratorPlanner) reportKept(field, message, fix string) {
	m.Findings.Add(finding.Finding{Object: m.origin, Field: field, Reason: finding.AcceleratorSettingKept, Severity: finding.Warning, Message: message, Fix: fix})
}

// reportAddresses reports addresses that are asked for and that the accelerator does not have.
func (m *acceleratorPlanner) reportAddresses() {
	for _, address := range m.want.Addresses {
		if !slices.ContainsFunc(m.live.Addresses, func(s observed.AddressSet) bool { return slices.Contains(s.Addresses, address) }) {
			m.reportKept("spec.ipAddresses", fmt.Sprintf("the accelerator does not have address %q, and keeps the ones that it has: addresses are given to an accelerator when it is made", address), "restore the field, or delete the GlobalAccelerator and make another one")
			return
		}
	}
}

// token returns an idempotency token that is the same for each attempt of a creation.
func (m *acceleratorPlanner) token(parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{m.want.UID}, parts...) {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// requestReplan makes the plan be made again while AWS deploys changes or an endpoint is missing.
func (m *acceleratorPlanner) requestReplan() {
	if m.want != nil && m.want.Pending {
		m.RetryWithin(durations.MissingWait)
	}
	if m.live != nil && m.live.State != observed.Deployed {
		m.Ask(model.AskAcceleratorState{ARN: m.live.ARN})
		m.RetryWithin(durations.MissingWait)
		return
	}
	if slices.ContainsFunc(m.Plan.Steps, func(s plan.Step) bool { return !plan.InKubernetes(s.Do) && !s.Waits() }) {
		m.RetryWithin(durations.MissingWait)
	}
}
