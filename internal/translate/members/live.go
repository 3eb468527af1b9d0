package members

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// LiveLoadBalancer returns the load balancer of the stack in AWS; nil if there is none, or if it is not known.
func (t *Translation) LiveLoadBalancer() *observed.LoadBalancer {
	if t.Live == nil {
		return nil
	}
	return plan.ShownLoadBalancer(*t.Live, model.LoadBalancerID)
}

// LiveFrontendNLB returns the frontend NLB of the stack in AWS; nil if there is none, or if it is not known.
func (t *Translation) LiveFrontendNLB() *observed.LoadBalancer {
	if t.Live == nil {
		return nil
	}
	return plan.ShownLoadBalancer(*t.Live, model.FrontendNLBID)
}

// RequireFact reports whether question q, about the value in AWS of a contested setting, has an answer. A question that was
// not asked yet is added to the stack. If AWS gave no answer, CountUnknownLiveValue is called, because each value may be the
// value in AWS.
func (t *Translation) RequireFact(q model.Question, answered bool) bool {
	switch {
	case answered:
	case t.Live.Facts.Fault(q) != nil:
		t.CountUnknownLiveValue()
	default:
		t.Stack.Compare = append(t.Stack.Compare, q)
	}
	return answered
}

// CountUnknownLiveValue counts a value that could not be compared with the value in AWS, because AWS gave no answer.
func (t *Translation) CountUnknownLiveValue() { t.unknownLiveValues++ }

// LiveField returns a function that reads a field of a load balancer in AWS. lb can be nil.
func LiveField[T comparable](lb *observed.LoadBalancer, get func(*observed.LoadBalancer) T) func() LiveValue[T] {
	return func() LiveValue[T] {
		if lb == nil {
			return LiveValue[T]{}
		}
		return LiveValueOf(get(lb), true, Equal[T])
	}
}

// LiveAttributes returns the attributes of a load balancer in AWS; nil if they were not read. If they were not read, it adds
// a question about them to the stack, so call it only for contested attributes. The plan reads the attributes that it may
// change.
func (t *Translation) LiveAttributes(lb *observed.LoadBalancer) map[string]string {
	if lb == nil || !t.RequireFact(model.AskAttributes{Of: string(plan.LoadBalancer), ARN: lb.ARN}, lb.Attributes != nil) {
		return nil
	}
	return lb.Attributes
}

// LiveListenerAttributes returns the attributes of the listener on a port in AWS; nil if they were not read. Like
// LiveAttributes, call it only for contested attributes.
func (t *Translation) LiveListenerAttributes(port int32) map[string]string {
	l := t.LiveLoadBalancer().ListenerOnPort(port)
	if l == nil || !t.RequireFact(model.AskAttributes{Of: string(plan.Listener), ARN: l.ARN}, l.Attributes != nil) {
		return nil
	}
	return l.Attributes
}

// BackendSecurityGroupID returns the ID of the shared backend security group: that of the flags, or the one in AWS;
// "" if there is none, or if it is not known.
func (t *Translation) BackendSecurityGroupID() string {
	if t.BackendSecurityGroup == "" && t.Live != nil && t.Live.Facts.BackendSecurityGroup != nil {
		return t.Live.Facts.BackendSecurityGroup.ID
	}
	return t.BackendSecurityGroup
}

// IsServed reports whether an existing listener or rule forwards to target groups of a member. This proves that the member
// was accepted before. A finalizer does not prove that, because users can write it.
func (t *Translation) IsServed(m *Member) bool {
	lb := t.LiveLoadBalancer()
	if lb == nil {
		return false
	}
	return slices.ContainsFunc(lb.Listeners, func(l observed.Listener) bool { return t.OwnsListenerPart(m.Ref, &l) })
}

// OwnsListenerPart reports whether the default action or a rule of an existing listener belongs to an object: all its target
// groups have the tag of the object. l can be nil.
func (t *Translation) OwnsListenerPart(ref finding.Ref, l *observed.Listener) bool {
	owns := func(actions []model.Action) bool { return plan.AreActionsOwnedBy(*t.Live, ref, actions) }
	return l != nil && (owns(l.Default) || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return owns(r.Actions) }))
}

// matchesLiveProtocol reports whether the existing listener on the port of lp has the protocol of lp, and whether there is
// such a listener.
func (t *Translation) matchesLiveProtocol(lp settings.ListenPort) (same, known bool) {
	l := t.LiveLoadBalancer().ListenerOnPort(lp.Port)
	if l == nil {
		return false, false
	}
	return l.Protocol == lp.Protocol(), true
}

// LiveTags returns tags of a resource in AWS without the tags of the controller and of AWS; nil if the tags are not known.
func LiveTags(tags map[string]string) map[string]string {
	if tags == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range tags {
		if !naming.IsReservedTag(k) {
			out[k] = v
		}
	}
	return out
}
