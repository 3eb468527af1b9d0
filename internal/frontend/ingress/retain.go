package ingress

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Members that cannot be read, and Ingresses that are not accepted any more, keep rules of their own
// that are live, and nothing else.

// findMissingClass looks for a former member whose class cannot be read and that is served.
func (t *translation) findMissingClass() {
	for _, m := range t.former {
		t.stack.Contested = true // what is live tells what is theirs
		if t.missingClass == nil && m.classMissing && t.serves(m) && !t.hearsTheClassBefore(m) {
			t.missingClass = m
			t.stack.Held.Tags = true
		}
	}
}

// hearsTheClassBefore reports whether the class that decides in isolated tenancy is known without a member
// that is missing: one that names the IngressGroup, and did before the member was made.
func (t *translation) hearsTheClassBefore(missing *member) bool {
	return t.isolated() && slices.ContainsFunc(t.members, func(m *member) bool {
		return m.set.GroupName.Origin.Object.Kind == paramsKind && t.claimsBefore(m, missing)
	})
}

// absentFrom is a former member whose class cannot be read and that is served on a port; nil if there is
// none.
func (t *translation) absentFrom(number int32) *member {
	l := listenerOf(t.liveALB(), number)
	if l == nil {
		return nil
	}
	for _, m := range t.former {
		if m.classMissing && (t.owns(m.ref, l.Default) || slices.ContainsFunc(l.Rules, func(r observed.Rule) bool { return t.owns(m.ref, r.Actions) })) {
			return m
		}
	}
	return nil
}

// retainFormer keeps what is left of Ingresses that carry the finalizer and are not accepted.
func (t *translation) retainFormer() {
	for _, m := range t.former {
		m.ports = m.set.ListenPorts.Value
		if len(m.ports) == 0 {
			m.ports = defaultPorts(m)
		}
		t.retain(m)
	}
}

// retainLost keeps the live rules of members of which it is not known on which ports they listen, or
// where in the group they stand.
func (t *translation) retainLost() {
	for _, m := range t.members {
		if m.lost {
			t.stack.Contested = true
			t.retain(m)
		}
	}
	if t.live == nil {
		return
	}
	for i := range t.stack.LoadBalancer.Listeners {
		l := &t.stack.LoadBalancer.Listeners[i]
		live := listenerOf(t.liveALB(), l.Port)
		if live == nil || l.DefaultHeld != 0 || !l.DefaultOf.Object.IsZero() || t.redirects(*l) {
			continue
		}
		if slices.ContainsFunc(append(slices.Clone(t.members), t.former...), func(m *member) bool {
			return m.lost && m.ing.Spec.DefaultBackend != nil && t.owns(m.ref, live.Default)
		}) {
			l.DefaultHeld = model.HeldInvalid
		}
	}
}

// retain keeps all live rules of a member's own. Rules that forward to its target groups carry its tag;
// the others are known by what they do.
func (t *translation) retain(m *member) {
	kept := model.HeldMember{Member: m.ref, All: true, Redirects: (m.classMissing || m.guarded || slices.Contains(t.members, m)) && t.serves(m)}
	if !m.oversized {
		alone := newTranslation(t.opt, t.view, t.id, nil)
		alone.members = []*member{m}
		kept.Rules = alone.answers(m)
	}
	kept.ForeignHosts = t.foreignHosts(m.ref.Namespace)
	t.stack.Held.Members = append(t.stack.Held.Members, kept)
}

// answers are the member's rules that forward to no target group of the stack, on any of its ports.
func (t *translation) answers(m *member) []model.Rule {
	t.stack.LoadBalancer = &model.LoadBalancer{}
	var out []model.Rule
	for _, path := range pathsOf(m.ing) {
		if svc := path.path.Backend.Service; svc == nil || svc.Port.Name != useAnnotation {
			continue
		}
		for _, p := range []*port{{}, {tls: true}} {
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

// retainUnplaced keeps the live rule of one path of a member for which no new rule can be made.
func (t *translation) retainUnplaced(m *member, r model.Rule) {
	t.stack.Held.Members = append(t.stack.Held.Members, model.HeldMember{Member: m.ref, Rules: []model.Rule{r}, ForeignHosts: t.foreignHosts(m.ref.Namespace)})
}
