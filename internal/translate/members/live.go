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

// LiveLoadBalancer returns the live load balancer of the stack; nil if there is none, or if it is not known.
func (t *Translation) LiveLoadBalancer() *observed.LoadBalancer {
	if t.Live == nil {
		return nil
	}
	return plan.ShownLoadBalancer(*t.Live, model.LoadBalancerID)
}

// LiveFrontendNLB returns the live frontend NLB of the stack; nil if there is none, or if it is not known.
func (t *Translation) LiveFrontendNLB() *observed.LoadBalancer {
	if t.Live == nil {
		return nil
	}
	return plan.ShownLoadBalancer(*t.Live, model.FrontendNLBID)
}

// RequireAnswer reports whether a question about the live value of a contested setting has an answer. If it was not asked
// yet, it is added to the stack. If AWS gave no answer, the value is counted by CountUnanswered, because any value may be
// the live one.
func (t *Translation) RequireAnswer(q model.Question, answered bool) bool {
	switch {
	case answered:
	case t.Live.Facts.Fault(q) != nil:
		t.CountUnanswered()
	default:
		t.Stack.Compare = append(t.Stack.Compare, q)
	}
	return answered
}

// CountUnanswered counts a value that could not be compared with the live value, because AWS gave no answer.
func (t *Translation) CountUnanswered() { t.unanswered++ }

// LiveField returns a function that reads the live value of a field of a load balancer.
func LiveField[T comparable](lb *observed.LoadBalancer, get func(*observed.LoadBalancer) T) func() LiveValue[T] {
	return func() LiveValue[T] {
		if lb == nil {
			return LiveValue[T]{}
		}
		return LiveValueOf(get(lb), true, Equal[T])
	}
}

// LiveAttributes returns the attributes of a live load balancer; nil if they were not read. Call it only for contested
// attributes, because it asks for a read of them. The plan asks for attributes that it may change.
func (t *Translation) LiveAttributes(lb *observed.LoadBalancer) map[string]string {
	if lb == nil || !t.RequireAnswer(model.AskAttributes{Of: string(plan.LoadBalancer), ARN: lb.ARN}, lb.Attributes != nil) {
		return nil
	}
	return lb.Attributes
}

// LiveListenerAttributes returns the attributes of the live listener on a port; nil if they were not read. Call it only for
// contested attributes, like LiveAttributes.
func (t *Translation) LiveListenerAttributes(port int32) map[string]string {
	l := t.LiveLoadBalancer().ListenerOnPort(port)
	if l == nil || !t.RequireAnswer(model.AskAttributes{Of: string(plan.Listener), ARN: l.ARN}, l.Attributes != nil) {
		return nil
	}
	return l.Attributes
}

// LiveBackendSecurityGroup returns the id of the shared backend security group; "" if there is none.
func (t *Translation) LiveBackendSecurityGroup() string {
	if t.BackendSecurityGroup == "" && t.Live != nil && t.Live.Facts.BackendSecurityGroup != nil {
		return t.Live.Facts.BackendSecurityGroup.ID
	}
	return t.BackendSecurityGroup
}

// Serves reports whether a live listener or rule forwards to target groups of a member. This proves that the member was
// accepted before; a finalizer does not prove that, because users can write it.
func (t *Translation) Serves(m *Member) bool {
	lb := t.LiveLoadBalancer()
	if lb == nil {
		return false
	}
	return slices.ContainsFunc(lb.Listeners, func(l observed.Listener) bool { return t.OwnsPart(m.Ref, &l) })
}

// OwnsPart reports whether the default action or a rule of a live listener belongs to an object: all its target groups have
// the tag of the object. l may be nil.
func (t *Translation) OwnsPart(ref finding.Ref, l *observed.Listener) bool {
	owns := func(actions []model.Action) bool { return plan.AreActionsOwnedBy(*t.Live, ref, actions) }
	return l != nil && (owns(l.Default) || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return owns(r.Actions) }))
}

// matchesLiveProtocol reports whether the live listener on the port of lp has the protocol of lp, and whether there is a
// live listener.
func (t *Translation) matchesLiveProtocol(lp settings.ListenPort) (same, known bool) {
	l := t.LiveLoadBalancer().ListenerOnPort(lp.Port)
	if l == nil {
		return false, false
	}
	return l.Protocol == lp.Protocol(), true
}

// LiveTags returns the tags of a live resource without the tags of the controller and of AWS; nil if the tags are not known.
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
