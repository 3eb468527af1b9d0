// Package accelerators plans the changes of accelerators, their listeners, endpoint groups and endpoints. A plan does not
// interrupt traffic even if only its first steps succeed: a port that gets traffic and is still desired keeps a listener, an
// endpoint group and, if there is one, a healthy endpoint. There is one exception. AWS does not admit two listeners with the
// same port. Therefore a port that moves to another listener belongs to no listener for a short time.
//
// An endpoint refers to a load balancer of a stack. The tags of the load balancers in AWS determine which load balancer this
// is, and whose consent is required. Therefore the objects are translated again after the load balancers are read. Each
// translation checks the rights to the desired and to the existing endpoints. The steps that remove endpoints in
// Accelerator.Revoked come first. The ARN of a new accelerator is written to the status right after the creation. Later runs
// use this ARN only if the accelerator has all tags of the stack. The deletion of a load balancer waits until no accelerator
// has it as an endpoint, or until a deadline. docs/accelerators.md describes the behavior for users.
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
	// member is the GlobalAccelerator, with the ARN that its status records.
	member           model.Member
	origin           finding.Ref
	listenerPairs    []listenerPair
	surplusListeners []observed.AcceleratorListener
	// endpointGroupsOfOthers has the observed endpoint groups of other owners, by the ARN of their listener. The field live
	// does not contain them.
	endpointGroupsOfOthers map[string][]observed.EndpointGroup
	// listenersRetainedForGuests are existing listeners that are retained because of the endpoint groups of guests.
	listenersRetainedForGuests []observed.AcceleratorListener
}

// Make returns the plan that changes an accelerator from its observed to its desired state, and findings.
func Make(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) (plan.Plan, finding.List) {
	m := newAcceleratorPlanner(want, have, opt, memory)
	switch {
	case want.DeletionGuard != nil && m.live != nil:
		m.Findings.Add(*want.DeletionGuard)
		endpointGroupPlanner{m}.removeUnpermittedEndpoints()
	case want.Held.AllResources, len(want.Members)+len(want.Leaving) == 0:
		// Either the object does not exist although this controller did not remove its finalizer, or the whole stack is
		// held. The accelerator is retained. Only endpoints that the object may not use are removed.
		endpointGroupPlanner{m}.removeUnpermittedEndpoints()
	case m.isGuest() && len(want.Members) == 0:
		guestPlanner{m}.leaveSharedAccelerator()
	case m.isGuest():
		guestPlanner{m}.planGuestEndpointGroups()
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

// Choose returns the observed accelerator and listeners that Make matches with the desired accelerator and listeners.
func Choose(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) resolved.Choices {
	m := newAcceleratorPlanner(want, have, opt, memory)
	out := resolved.Choices{Desired: want}
	if m.want == nil {
		return out
	}
	if m.isGuest() {
		guestPlanner{m}.matchSharedListeners()
	} else {
		m.matchListeners()
	}
	out.Accelerator = &resolved.AcceleratorChoices{Live: m.live, Owner: m.ownerOfSharedAccelerator(), OtherOwners: m.otherOwners()}
	for _, p := range m.listenerPairs {
		one := resolved.AcceleratorListenerChoices{Desired: p.want, Live: p.live}
		if p.live != nil {
			one.Score = similarity(*p.want, *p.live)
		}
		out.Accelerator.Listeners = append(out.Accelerator.Listeners, one)
	}
	return out
}

// newAcceleratorPlanner returns the planner of a stack, after it has chosen the observed accelerator.
func newAcceleratorPlanner(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) *acceleratorPlanner {
	m := &acceleratorPlanner{
		Draft: &draft.Draft{Steps: draft.NewSteps(want.ID, memory.WaitedTimes), Want: want, Have: have, Opt: opt, Memory: memory, KnownIDs: plan.KnownIDs{}},
		want:  want.Accelerator,
	}
	m.origin = finding.Ref{Kind: string(want.ID.Kind), Namespace: want.ID.Namespace, Name: want.ID.Name}
	if all := slices.Concat(want.Members, want.Leaving); len(all) > 0 {
		m.member, m.origin = all[0], all[0].Ref
	}
	m.chooseAccelerator()
	return m
}

// chooseAccelerator chooses the observed accelerator of the stack. This is the accelerator that the status of the object
// records, or the first accelerator if the status records none of them. Only accelerators with all tags of the stack are
// candidates. Accelerators that are not chosen are orphans.
func (m *acceleratorPlanner) chooseAccelerator() {
	if m.isGuest() {
		guestPlanner{m}.chooseSharedAccelerator()
	} else {
		for i, a := range m.Have.Accelerators {
			if i == 0 || a.ARN == m.member.Recorded {
				m.setLiveAccelerator(a)
			}
		}
		if m.live != nil {
			m.KnownIDs[plan.AcceleratorAddress] = m.live.ARN
			m.separateOtherOwners(func(region string) bool { return m.want == nil || m.want.Guests[region] == "" })
		}
	}
	if m.member.Recorded != "" && m.Have.Facts.RecordedAccelerator == observed.RecordedNotOwned {
		m.Findings.Add(finding.Finding{
			Object: m.origin, Field: "status.acceleratorARN", Reason: finding.AcceleratorNotOwned, Severity: finding.Warning,
			Message: fmt.Sprintf("accelerator %q does not have the tags of this object; it is not changed, and the field is corrected", finding.TruncateValue(m.member.Recorded)),
			Fix:     "check which client writes the status of the object",
		})
	}
}

// setLiveAccelerator sets the observed accelerator. It copies the lists of listeners and endpoint groups, because the
// planner changes these lists.
func (m *acceleratorPlanner) setLiveAccelerator(a observed.Accelerator) {
	a.Listeners = slices.Clone(a.Listeners)
	for i := range a.Listeners {
		a.Listeners[i].Groups = slices.Clone(a.Listeners[i].Groups)
	}
	m.live = &a
}

// converge plans the changes that the desired accelerator needs.
func (m *acceleratorPlanner) converge() {
	finalizers := draft.NewFinalizers(m.Want.Members)
	finalizers.PlanFinalizers(m.Steps)
	first := finalizers.AnyFinalizerSteps()
	m.matchListeners()
	endpointGroupPlanner{m}.removeUnpermittedEndpoints()
	if m.live == nil && m.isRecordedAcceleratorMissing() && m.want.Protected {
		m.reportRetainedSetting("", fmt.Sprintf("accelerator %q does not exist in AWS any more; no accelerator is created, because it would have other addresses and annotation fulcrum.dev/accelerator-protection is set", m.member.Recorded), "remove the annotation to create a new accelerator")
		return
	}
	if m.live == nil && m.want.Held && len(m.want.Listeners) == 0 {
		m.requestReplan() // AWS charges for an accelerator, so that none is created before a listener is known
		return
	}
	ready := m.planAccelerator(first)
	listenerPlanner{m}.retainListenersForGuests(ready)
	endpointGroupPlanner{m}.holdOverrides()
	listenerPlanner{m}.removeConflictingOverrides(ready)
	listenerPlanner{m}.planListeners(ready)
	endpointGroupPlanner{m}.holdOverrides() // called again, because more listeners may be retained now
	endpointGroupPlanner{m}.planDials()
	removed := endpointGroupPlanner{m}.planEndpointGroups(ready)
	m.changeToDualStack(append(slices.Clone(ready), removed...))
	m.requestReplan()
}

// isRecordedAcceleratorMissing reports whether the status of the object records an accelerator that does not exist any more.
func (m *acceleratorPlanner) isRecordedAcceleratorMissing() bool {
	return m.member.Recorded != "" && m.Have.Facts.RecordedAccelerator == observed.RecordedMissing
}

// planAccelerator plans to create the accelerator or to change its settings. It returns the steps after which the listeners
// can be created.
func (m *acceleratorPlanner) planAccelerator(first []plan.StepID) []plan.StepID {
	a := plan.AcceleratorAddress
	tags := plan.Tags(naming.AcceleratorTags(m.Opt.Cluster, m.Have.Facts.Region, m.Want.ID, m.want.Tags, m.want.Guests))
	ready := slices.Clone(first)
	if m.live == nil {
		token := m.want.UID
		if m.isRecordedAcceleratorMissing() {
			token = m.idempotencyToken("again", m.member.Recorded)
			m.Findings.Add(finding.Finding{
				Object: m.origin, Reason: finding.AcceleratorRecreated, Severity: finding.Warning,
				Message: fmt.Sprintf("accelerator %q does not exist in AWS any more; a new accelerator is created, with other addresses unless spec.ipAddresses sets them", m.member.Recorded), Fix: "update DNS records and clients that use the previous addresses",
			})
		}
		ready = append(ready, m.add(plan.Step{
			ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create, After: first, Why: "the accelerator does not exist",
			NameOrigin: m.want.Origins["name"],
			Do:         plan.CreateAccelerator{Name: m.want.Name, AddressType: m.want.AddressType, Addresses: m.want.Addresses, Tags: tags, Token: token},
		}))
	}
	if m.live == nil || m.member.Recorded != m.live.ARN {
		ready = append(ready, m.add(plan.Step{
			ID: plan.NewStepID("record", a), Address: a, Verb: plan.Update, After: slices.Clone(ready),
			Do: plan.RecordAccelerator{Ref: m.origin}, Why: "to find the accelerator again after a restart",
		}))
	}
	if m.live == nil {
		return ready
	}
	if tag := m.Retag(a, tags, m.live.Tags, false, ready, m.requestedBy()); tag != "" && (ownerPlanner{m}).removesGuestTag() {
		ready = append(ready, tag) // the tag is removed first, so that the guest does not create its endpoint group again
	}
	if !m.live.Enabled {
		m.changeAccelerator("enable", plan.ChangeAccelerator{Accelerator: a, Enabled: new(true)}, plan.Change{Path: "enabled", From: "false", To: "true"}, plan.NoImpact, ready)
	}
	if m.live.Name != m.want.Name && m.want.Name != "" {
		m.changeAccelerator("rename", plan.ChangeAccelerator{Accelerator: a, Name: m.want.Name}, plan.Change{Path: "name", From: m.live.Name, To: m.want.Name}, plan.NoImpact, ready)
	}
	if m.live.AddressType == model.DualStack && m.want.AddressType == model.IPv4 {
		if m.want.Protected {
			m.reportRetainedSetting("spec.ipAddressType", "the accelerator keeps its IPv6 addresses, because annotation fulcrum.dev/accelerator-protection is set", "remove the annotation, or set DUAL_STACK")
		} else {
			ready = append(ready, m.changeAccelerator("address-type", plan.ChangeAccelerator{Accelerator: a, AddressType: model.IPv4},
				plan.Change{Path: "address type", From: string(model.DualStack), To: string(model.IPv4)}, plan.DeleteImpact, ready))
		}
	}
	m.reportAddresses()
	return ready
}

// changeToDualStack plans to change the address type of the accelerator to DUAL_STACK. after are the steps that remove
// endpoints: an endpoint with only IPv4 addresses must be removed first.
func (m *acceleratorPlanner) changeToDualStack(after []plan.StepID) {
	if m.live == nil || m.live.AddressType == model.DualStack || m.want.AddressType != model.DualStack {
		return
	}
	m.changeAccelerator("address-type", plan.ChangeAccelerator{Accelerator: plan.AcceleratorAddress, AddressType: model.DualStack},
		plan.Change{Path: "address type", From: string(model.IPv4), To: string(model.DualStack)}, plan.NoImpact, after)
}

func (m *acceleratorPlanner) changeAccelerator(what string, do plan.ChangeAccelerator, c plan.Change, impact plan.Impact, after []plan.StepID) plan.StepID {
	return m.add(plan.Step{
		ID: plan.NewStepID(what, do.Accelerator), Address: do.Accelerator, Verb: plan.Update, Do: do, Changes: []plan.Change{c},
		Why: "the accelerator differs", Impact: impact, After: after,
	})
}

func (m *acceleratorPlanner) requestedBy() []finding.Ref { return []finding.Ref{m.origin} }

// add adds a step for the GlobalAccelerator to the plan.
func (m *acceleratorPlanner) add(s plan.Step) plan.StepID {
	s.RequestedBy = m.requestedBy()
	return m.Add(s)
}

// reportRetainedSetting reports that a setting of the accelerator keeps its observed value, although another value is
// desired.
func (m *acceleratorPlanner) reportRetainedSetting(field, message, fix string) {
	m.Findings.Add(finding.Finding{Object: m.origin, Field: field, Reason: finding.AcceleratorSettingKept, Severity: finding.Warning, Message: message, Fix: fix})
}

// reportAddresses reports the first requested address that the accelerator does not have.
func (m *acceleratorPlanner) reportAddresses() {
	for _, address := range m.want.Addresses {
		if !slices.ContainsFunc(m.live.Addresses, func(s observed.AddressSet) bool { return slices.Contains(s.Addresses, address) }) {
			m.reportRetainedSetting("spec.ipAddresses", fmt.Sprintf("the accelerator does not have address %q, and keeps its addresses: AWS sets the addresses only when an accelerator is created", address), "restore the field, or delete the GlobalAccelerator and create another one")
			return
		}
	}
}

// idempotencyToken returns the idempotency token for the creation of a resource: a hash of the UID of the object and of
// parts. Repeated attempts have the same token, so that AWS creates the resource only once.
func (m *acceleratorPlanner) idempotencyToken(parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{m.want.UID}, parts...) {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// requestReplan requests another plan if AWS deploys changes, if an endpoint has no load balancer yet, or if this plan has
// steps for AWS.
func (m *acceleratorPlanner) requestReplan() {
	if m.want != nil && m.want.Pending {
		m.RetryWithin(durations.MissingWait)
	}
	if m.live != nil && m.live.State != observed.AcceleratorDeployed {
		m.Ask(model.AskAcceleratorState{ARN: m.live.ARN})
		m.RetryWithin(durations.MissingWait)
		return
	}
	if slices.ContainsFunc(m.Plan.Steps, func(s plan.Step) bool { return !plan.WritesToKubernetes(s.Do) && !s.Waits() }) {
		m.RetryWithin(durations.MissingWait)
	}
}
