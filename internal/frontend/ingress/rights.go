package ingress

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
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
	check := func(arn string, actions []model.Action) {
		for _, a := range actions {
			forward, ok := a.(model.Forward)
			if !ok {
				continue
			}
			for _, t := range forward.Groups {
				if ref, gone := owner[t.Group.ARN]; gone {
					out.Rules[arn] = model.Withdrawal{
						Object: ref, Field: classNameField, Reason: finding.NamespaceNotAllowed,
						Message: "the class does not admit Ingresses of this namespace", Fix: "use another class, or label the namespace as the class demands",
					}
				}
			}
		}
	}
	for _, lb := range have.LoadBalancers {
		for i := range lb.Listeners {
			l := &lb.Listeners[i]
			check(l.ARN, l.Default)
			for j := range l.Rules {
				check(l.Rules[j].ARN, l.Rules[j].Actions)
			}
		}
	}
	return out, nil
}
