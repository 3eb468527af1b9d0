package ingress

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// retainedBuilder holds the existing rules of members that cannot be translated, and of Ingresses that are no longer
// accepted. No other resources of these Ingresses are held.
type retainedBuilder struct{ *translation }

// retainPreviousMembers holds the existing rules of Ingresses that have the finalizer of the stack but are not accepted.
func (t retainedBuilder) retainPreviousMembers() {
	for _, m := range t.previousIngresses {
		t.retainMember(m)
	}
}

// retainUndeterminedMembers holds the existing rules and default actions of members whose ports are not known, or whose
// position in the order of the members is not known.
func (t retainedBuilder) retainUndeterminedMembers() {
	for _, m := range t.ingresses {
		if m.Undetermined {
			t.Stack.Contested = true
			t.retainMember(m)
		}
	}
	if t.Live == nil {
		return
	}
	for i := range t.Stack.LoadBalancer.Listeners {
		l := &t.Stack.LoadBalancer.Listeners[i]
		live := t.LiveLoadBalancer().ListenerOnPort(l.Port)
		if live == nil || l.DefaultHeld != 0 || !l.DefaultOf.Object.IsZero() || t.redirectsToHTTPS(*l) {
			continue
		}
		if slices.ContainsFunc(append(slices.Clone(t.ingresses), t.previousIngresses...), func(m *member) bool {
			return m.Undetermined && m.ing.Spec.DefaultBackend != nil && plan.AreActionsOwnedBy(*t.Live, m.Ref, live.Default)
		}) {
			l.DefaultHeld = model.HeldInvalid
		}
	}
}

// retainMember holds all existing rules of a member. A rule that forwards to target groups of the member is recognized by
// their tags. Other rules are recognized by comparing them with the rules to which the member translates. If the rules are
// withdrawn, only the load balancer is held.
func (t retainedBuilder) retainMember(m *member) {
	if m.withdrawn {
		t.Stack.Held.Members = append(t.Stack.Held.Members, model.HeldMember{Member: m.Ref, LoadBalancer: true})
		return
	}
	kept := model.HeldMember{Member: m.Ref, All: true, Redirects: (m.RetainsRights || m.DeletionProtected || slices.Contains(t.ingresses, m)) && t.IsServed(m.Member)}
	if !m.Oversized {
		alone := newTranslation(t.opt, t.view, t.ID, nil)
		alone.setMembers([]*member{m}, nil)
		kept.Rules = retainedBuilder{alone}.rulesWithoutForward(m)
	}
	kept.ForeignHosts = hostAssigner(t).hostsOfOtherNamespaces(m.Ref.Namespace)
	t.Stack.Held.Members = append(t.Stack.Held.Members, kept)
}

// rulesWithoutForward returns the rules of a member, for HTTP and for HTTPS ports, whose actions do not forward to a target
// group of the stack.
func (t retainedBuilder) rulesWithoutForward(m *member) []model.Rule {
	t.Stack.LoadBalancer = &model.LoadBalancer{}
	var out []model.Rule
	for _, path := range pathsOf(m.ing) {
		if svc := path.path.Backend.Service; svc == nil || svc.Port.Name != useAnnotationPort {
			continue
		}
		for _, p := range []*members.Port{{}, {TLS: true}} {
			if r, ok := t.buildRule(m, p, path, 0); ok && r.Held == 0 && !forwardsToStack(r.Actions) {
				out = append(out, r)
			}
		}
	}
	return out
}

// forwardsToStack reports whether actions forward to a target group of the stack.
func forwardsToStack(actions []model.Action) bool {
	return slices.ContainsFunc(model.ForwardedTargetGroups(actions), func(g model.WeightedTargetGroup) bool { return g.Group.ID != "" })
}

// retainLiveRule holds the existing rule for one path of a member, for which no new rule can be created. All rules that it
// holds for a member are in one HeldMember, because each HeldMember lists the hosts of other namespaces.
func (t retainedBuilder) retainLiveRule(m *member, r model.Rule) {
	held := t.Stack.Held.Members
	if i := slices.IndexFunc(held, func(h model.HeldMember) bool { return h.Member == m.Ref }); i >= 0 {
		held[i].Rules = append(held[i].Rules, r)
		return
	}
	t.Stack.Held.Members = append(held, model.HeldMember{Member: m.Ref, Rules: []model.Rule{r}, ForeignHosts: hostAssigner(t).hostsOfOtherNamespaces(m.Ref.Namespace)})
}
