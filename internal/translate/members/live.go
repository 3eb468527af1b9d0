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

// This file reads from the observation which value of a contested setting is live.

// LiveLoadBalancer returns the load balancer of the stack as observed; nil if there is none or it is not known.
func (t *Translation) LiveLoadBalancer() *observed.LoadBalancer {
	if t.Live == nil {
		return nil
	}
	return plan.ShownLoadBalancer(*t.Live, model.LoadBalancerID)
}

// LiveFrontend returns the frontend NLB as observed.
func (t *Translation) LiveFrontend() *observed.LoadBalancer {
	if t.Live == nil {
		return nil
	}
	return plan.ShownLoadBalancer(*t.Live, model.FrontendNLBID)
}

// Compare asks for what shows which contested value is live, and reports whether the answer is there.
// Where AWS gives none, the live value may be what is asked for, and stays.
func (t *Translation) Compare(q model.Question, answered bool) bool {
	switch {
	case answered:
	case t.Live.Facts.Fault(q) != nil:
		t.NoteUnanswered()
	default:
		t.Stack.Compare = append(t.Stack.Compare, q)
	}
	return answered
}

// NoteUnanswered notes that something could not be compared with what is live, because AWS gives no answer.
func (t *Translation) NoteUnanswered() { t.unanswered++ }

// FieldOf returns the incumbent of a field of a live load balancer.
func FieldOf[T comparable](lb *observed.LoadBalancer, get func(*observed.LoadBalancer) T) func() Incumbent[T] {
	return func() Incumbent[T] {
		if lb == nil {
			return Incumbent[T]{}
		}
		return IncumbentOf(get(lb), true, Equal[T])
	}
}

// LiveAttributes returns the attributes of a live resource, nil if they were not read. Only a contested
// attribute is worth reading here; the plan reads them where they are to be changed.
func (t *Translation) LiveAttributes(lb *observed.LoadBalancer) map[string]string {
	if lb == nil || !t.Compare(model.AskAttributes{Of: string(plan.LoadBalancer), ARN: lb.ARN}, lb.Attributes != nil) {
		return nil
	}
	return lb.Attributes
}

// LiveListenerAttributes returns the attributes of the live listener of a port, likewise.
func (t *Translation) LiveListenerAttributes(port int32) map[string]string {
	l := t.LiveLoadBalancer().OnPort(port)
	if l == nil || !t.Compare(model.AskAttributes{Of: string(plan.Listener), ARN: l.ARN}, l.Attributes != nil) {
		return nil
	}
	return l.Attributes
}

// LiveBackendGroup returns the id of the shared backend group, empty if there is none.
func (t *Translation) LiveBackendGroup() string {
	if t.BackendGroup == "" && t.Live != nil && t.Live.Facts.BackendGroup != nil {
		return t.Live.Facts.BackendGroup.ID
	}
	return t.BackendGroup
}

// Owns reports whether a live rule or default action is a member's own: all its target groups carry the
// member's tag.
func (t *Translation) Owns(ref finding.Ref, actions []model.Action) bool {
	return plan.ActionsOwnedBy(*t.Live, ref, actions)
}

// Serves reports whether something live forwards to target groups of a member: that proves that it has
// had its part in the load balancer, which a finalizer does not.
func (t *Translation) Serves(m *Member) bool {
	lb := t.LiveLoadBalancer()
	if lb == nil {
		return false
	}
	ref := m.Ref
	for _, l := range lb.Listeners {
		if t.Owns(ref, l.Default) || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return t.Owns(ref, r.Actions) }) {
			return true
		}
	}
	return false
}

// liveProtocol reports whether the live listener of a port has the protocol, and whether there is one.
func (t *Translation) liveProtocol(lp settings.ListenPort) (same, known bool) {
	l := t.LiveLoadBalancer().OnPort(lp.Port)
	if l == nil {
		return false, false
	}
	return l.Protocol == lp.Protocol(), true
}

// LiveTags returns the tags of a live resource that users have set.
func LiveTags(tags map[string]string) map[string]string {
	if tags == nil {
		return nil
	}
	out := map[string]string{}
	for k, v := range tags {
		if !naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}
