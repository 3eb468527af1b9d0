package ingress

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Withdrawn says which live rules are of Ingresses whose class does not admit their namespace. A class that is missing, or
// whose parameters cannot be read, withdraws nothing.
func (f *Frontend) Withdrawn(v *cluster.View, id model.StackID, have observed.Stack) (model.Withdrawn, []model.Question) {
	out := model.Withdrawn{Rules: map[string]model.Withdrawal{}}
	g := f.load(v, id)
	refused := slices.DeleteFunc(slices.Clone(g.former), func(m *member) bool { return !m.refused })
	if len(refused) == 0 {
		return out, nil
	}
	// An id begins with namespace and name of an Ingress, which another one of the namespace may begin with as well.
	owner := map[string]finding.Ref{}
	of := func(all []*member, id string) *member {
		i := slices.IndexFunc(all, func(m *member) bool { return naming.IsTargetGroupOf(id, m.Ref) })
		if i < 0 {
			return nil
		}
		return all[i]
	}
	for _, t := range have.TargetGroups {
		if m := of(refused, t.ResourceID); m != nil && of(g.members, t.ResourceID) == nil {
			owner[t.ARN] = m.Ref
		}
	}
	check := func(arn string, actions []model.Action, host []string) {
		if ref, gone := g.withoutRight(refused, have, actions, host); gone {
			out.Rules[arn] = notAdmitted(ref)
		}
		for _, a := range actions {
			forward, ok := a.(model.Forward)
			if !ok {
				continue
			}
			for _, t := range forward.Groups {
				if ref, gone := owner[t.Group.ARN]; gone {
					out.Rules[arn] = notAdmitted(ref)
				}
			}
		}
	}
	for _, lb := range have.LoadBalancers {
		for i := range lb.Listeners {
			l := &lb.Listeners[i]
			check(l.ARN, l.Default, nil)
			for j := range l.Rules {
				check(l.Rules[j].ARN, l.Rules[j].Actions, model.Rule{Conditions: l.Rules[j].Conditions}.Hosts())
			}
		}
	}
	return out, nil
}

func notAdmitted(ref finding.Ref) model.Withdrawal {
	return model.Withdrawal{
		Object: ref, Field: classNameField, Reason: finding.NamespaceNotAllowed,
		Message: "the class does not admit Ingresses of this namespace", Fix: "use another class, or label the namespace as the class demands",
	}
}

// withoutRight reports whether actions that forward to no target group of the stack, and so show no owner in AWS, are of
// an Ingress that is not admitted: one of those names the hosts, and no other Ingress does; or there is no other.
func (g *group) withoutRight(refused []*member, have observed.Stack, actions []model.Action, hosts []string) (finding.Ref, bool) {
	if plan.OnlyRefuses(actions) || slices.ContainsFunc(have.TargetGroups, func(t observed.TargetGroup) bool { return plan.ForwardsTo(actions, t.ARN) }) {
		return finding.Ref{}, false
	}
	names := func(m *member) bool { return m.names(hosts) }
	other := slices.DeleteFunc(append(slices.Clone(g.members), g.former...), func(m *member) bool { return m.refused })
	i := slices.IndexFunc(refused, names)
	if i >= 0 && !slices.ContainsFunc(other, names) {
		return refused[i].Ref, true
	}
	return refused[0].Ref, len(other) == 0
}

// names reports whether an Ingress has rules for hosts, or a default backend where they are none.
func (m *member) names(hosts []string) bool {
	if len(hosts) == 0 {
		return m.ing.Spec.DefaultBackend != nil || slices.ContainsFunc(m.ing.Spec.Rules, func(r networkingv1.IngressRule) bool { return r.Host == "" })
	}
	return !slices.ContainsFunc(hosts, func(h string) bool {
		return !slices.ContainsFunc(m.ing.Spec.Rules, func(r networkingv1.IngressRule) bool { return r.Host == h })
	})
}
