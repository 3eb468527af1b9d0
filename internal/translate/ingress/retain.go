package ingress

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// Members that cannot be read, and Ingresses that are not accepted any more, keep rules of their own
// that are live, and nothing else.

// retainedBuilder keeps the live rules of members that cannot be translated.
type retainedBuilder struct{ *translation }

// retainPrevious keeps what is left of Ingresses that carry the finalizer and are not accepted.
func (t retainedBuilder) retainPrevious() {
	for _, m := range t.previousIngresses {
		m.Ports = m.set.ListenPorts.Value
		if len(m.Ports) == 0 {
			m.Ports = certificateBuilder(t).defaultPorts(m)
		}
		t.retain(m)
	}
}

// retainUndetermined keeps the live rules of members of which it is not known on which ports they listen, or
// where in the group they stand.
func (t retainedBuilder) retainUndetermined() {
	for _, m := range t.ingresses {
		if m.Undetermined {
			t.Stack.Contested = true
			t.retain(m)
		}
	}
	if t.Live == nil {
		return
	}
	for i := range t.Stack.LoadBalancer.Listeners {
		l := &t.Stack.LoadBalancer.Listeners[i]
		live := t.LiveLoadBalancer().OnPort(l.Port)
		if live == nil || l.DefaultHeld != 0 || !l.DefaultOf.Object.IsZero() || t.redirects(*l) {
			continue
		}
		if slices.ContainsFunc(append(slices.Clone(t.ingresses), t.previousIngresses...), func(m *member) bool {
			return m.Undetermined && m.ing.Spec.DefaultBackend != nil && t.Owns(m.Ref, live.Default)
		}) {
			l.DefaultHeld = model.HeldInvalid
		}
	}
}

// retain keeps all live rules of a member's own. Rules that forward to its target groups carry its tag;
// the others are known by what they do.
func (t retainedBuilder) retain(m *member) {
	if m.refused {
		t.Stack.Held.Members = append(t.Stack.Held.Members, model.HeldMember{Member: m.Ref, LoadBalancer: true})
		return
	}
	kept := model.HeldMember{Member: m.Ref, All: true, Redirects: (m.ClassMissing || m.DeletionGuarded || slices.Contains(t.ingresses, m)) && t.Serves(m.Member)}
	if !m.Oversized {
		alone := newTranslation(t.opt, t.view, t.ID, nil)
		alone.setMembers([]*member{m}, nil)
		kept.Rules = retainedBuilder{alone}.responseRules(m)
	}
	kept.ForeignHosts = hostBuilder(t).foreignHosts(m.Ref.Namespace)
	t.Stack.Held.Members = append(t.Stack.Held.Members, kept)
}

// responseRules returns the member's rules that forward to no target group of the stack, on any of its ports.
func (t retainedBuilder) responseRules(m *member) []model.Rule {
	t.Stack.LoadBalancer = &model.LoadBalancer{}
	var out []model.Rule
	for _, path := range pathsOf(m.ing) {
		if svc := path.path.Backend.Service; svc == nil || svc.Port.Name != useAnnotation {
			continue
		}
		for _, p := range []*members.Port{{}, {TLS: true}} {
			if r, ok := t.rule(m, p, path, 0); ok && r.Held == 0 && !forwardsToStack(r.Actions) {
				out = append(out, r)
			}
		}
	}
	return out
}

func forwardsToStack(actions []model.Action) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool {
		f, ok := a.(model.Forward)
		return ok && slices.ContainsFunc(f.Groups, func(g model.WeightedGroup) bool { return g.Group.ID != "" })
	})
}

// retainLiveRule keeps the live rule of one path of a member for which no new rule can be made.
func (t retainedBuilder) retainLiveRule(m *member, r model.Rule) {
	t.Stack.Held.Members = append(t.Stack.Held.Members, model.HeldMember{Member: m.Ref, Rules: []model.Rule{r}, ForeignHosts: hostBuilder(t).foreignHosts(m.Ref.Namespace)})
}
