package ingress

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// WithdrawnResources returns the existing rules of Ingresses that are no longer permitted. Either the class of the Ingress
// does not admit its namespace, or the class belongs to another controller while the load balancer is protected from
// deletion. If a class or its parameters cannot be read, nothing is withdrawn.
func (f *Frontend) WithdrawnResources(v *cluster.View, id model.StackID, have observed.Stack) (model.Withdrawn, []model.Question) {
	out := model.Withdrawn{Rules: map[string]model.Withdrawal{}}
	g := f.loadIngresses(v, id)
	refused := slices.DeleteFunc(slices.Clone(g.previous), func(m *member) bool { return !m.withdrawn })
	var unknown []model.Question
	if len(g.members) == 0 && len(g.ingressesOfOtherController) > 0 && !g.unprotected {
		var protected bool
		protected, unknown = plan.IsProtected(have)
		for _, m := range g.ingressesOfOtherController {
			if protected && !slices.Contains(refused, m) {
				refused = append(refused, m)
			}
		}
	}
	if len(refused) == 0 {
		return out, unknown
	}
	// The id of a target group begins with the namespace and name of its Ingress, but the name of another Ingress of the
	// namespace can begin in the same way. So a target group whose id may belong to a member is not withdrawn.
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
	withdraw := func(arn string, ref finding.Ref) {
		w := model.Withdrawal{
			Object: ref, Field: classNameField, Reason: finding.NamespaceNotAllowed,
			Message: "the class does not admit Ingresses of this namespace", Fix: "use another IngressClass, or set the labels of the namespace that the namespaceSelector requires",
		}
		if slices.ContainsFunc(refused, func(m *member) bool { return m.Ref == ref && m.hasOtherController }) {
			w.Reason, w.Message, w.Fix = finding.IngressClassInvalid, "the IngressClass belongs to another controller", "restore the IngressClass, or set spec.ingressClassName to a class of this controller"
		}
		out.Rules[arn] = w
	}
	check := func(arn string, actions []model.Action) {
		for _, g := range model.ForwardedTargetGroups(actions) {
			if ref, gone := owner[g.Group.ARN]; gone {
				withdraw(arn, ref)
			}
		}
	}
	t := &untaggedRules{ownTargetGroups: map[string]bool{}}
	for _, g := range have.TargetGroups {
		t.ownTargetGroups[g.ARN] = true
	}
	for _, m := range append(slices.Clone(g.members), g.previous...) {
		if !m.withdrawn {
			t.admitted = append(t.admitted, m)
		}
	}
	for _, lb := range have.LoadBalancers {
		if lb.Type == model.Network.String() {
			continue // a frontend NLB has no rules of Ingresses
		}
		for i := range lb.Listeners {
			l := &lb.Listeners[i]
			check(l.ARN, l.Default)
			if !t.mayBeDefaultActionOfAdmittedIngress(l.Default) {
				withdraw(l.ARN, refused[0].Ref)
			}
			for j := range l.Rules {
				r := &l.Rules[j]
				check(r.ARN, r.Actions)
				if !t.mayBelongToAdmittedIngress(r) {
					withdraw(r.ARN, ingressToReport(refused, r))
				}
			}
		}
	}
	return out, unknown
}

// untaggedRules finds the possible owners of existing rules that do not forward to a target group of the stack: redirects,
// fixed responses, and forwards to target groups that the controller does not own. No tag shows the owner of such a rule.
// A user can also edit an Ingress that is not admitted, so that it no longer matches its rules. Therefore, such a rule is
// permitted only if an admitted Ingress has an action for the same host and path, in an actions annotation of any name.
type untaggedRules struct {
	ownTargetGroups map[string]bool // target groups of the stack
	admitted        []*member
}

// mayBelongToAdmittedIngress reports whether an existing rule may belong to an admitted Ingress.
func (t *untaggedRules) mayBelongToAdmittedIngress(r *observed.Rule) bool {
	return t.forwardsToOwnTargetGroup(r.Actions) || plan.IsHeldResponse(r.Actions) || slices.ContainsFunc(t.admitted, func(m *member) bool { return m.hasActionFor(r) })
}

// mayBeDefaultActionOfAdmittedIngress reports whether the existing default actions of a listener may belong to an admitted
// Ingress. An action that refuses all requests, or that redirects them to HTTPS because of ssl-redirect, is the same for
// every Ingress.
func (t *untaggedRules) mayBeDefaultActionOfAdmittedIngress(actions []model.Action) bool {
	if len(actions) == 0 || t.forwardsToOwnTargetGroup(actions) {
		return true
	}
	switch a := actions[0].(type) {
	case model.FixedResponse:
		if a.Body == "" && (strings.HasPrefix(a.Status, "4") || strings.HasPrefix(a.Status, "5")) {
			return true
		}
	case model.Redirect:
		if a.Protocol == "HTTPS" && (a.Host == "" || a.Host == "#{host}") {
			return true
		}
	}
	return slices.ContainsFunc(t.admitted, func(m *member) bool { return m.ing.Spec.DefaultBackend != nil })
}

// forwardsToOwnTargetGroup reports whether actions forward to a target group of the stack. The tags of such a target group
// show its owner.
func (t *untaggedRules) forwardsToOwnTargetGroup(actions []model.Action) bool {
	return slices.ContainsFunc(model.ForwardedTargetGroups(actions), func(g model.WeightedTargetGroup) bool { return t.ownTargetGroups[g.Group.ARN] })
}

// hasActionFor reports whether an Ingress has a backend with port use-annotation for the host and path of an existing rule.
// The rule may have more hosts and paths, because conditions annotations can add some.
func (m *member) hasActionFor(r *observed.Rule) bool {
	var hosts, paths []string
	for _, c := range r.Conditions {
		switch c := c.(type) {
		case model.HostHeader:
			hosts = append(hosts, c.Values...)
		case model.PathPattern:
			paths = append(append(paths, c.Values...), c.Regex...)
		}
	}
	return slices.ContainsFunc(pathsOf(m.ing), func(p rulePath) bool {
		raw := p.path.Path
		return p.path.Backend.Service != nil && p.path.Backend.Service.Port.Name == useAnnotationPort &&
			(p.host == "" || slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, p.host) })) &&
			(raw == "" || slices.ContainsFunc(paths, func(s string) bool {
				return s == raw || s == strings.TrimSuffix(raw, "/") || s == strings.TrimSuffix(raw, "/")+"/*" || s == raw[1:]
			}))
	})
}

// ingressToReport returns the Ingress on which the deletion of a rule is reported: the first one in refused that has an
// action for the rule, otherwise the first one in refused.
func ingressToReport(refused []*member, r *observed.Rule) finding.Ref {
	if i := slices.IndexFunc(refused, func(m *member) bool { return m.hasActionFor(r) }); i >= 0 {
		return refused[i].Ref
	}
	return refused[0].Ref
}
