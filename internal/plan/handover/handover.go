// Package handover decides how a Gateway takes over the load balancer of an IngressGroup, an Ingress or a Service. It
// determines the relation of the two stacks, which observed target group is used for which desired target group, and the
// obstacles.
package handover

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// AssignResourceIDs returns a copy of the observed state in which target groups of the other stack have the resource ids of
// the desired target groups for which they can be used. A target group can be used if it is for the same port of the same
// Service and AWS can change it in place. Other target groups retain their ids, and are deleted when nothing forwards to
// them. port returns the number of the Service port of a binding.
func AssignResourceIDs(want model.Stack, have observed.Stack, port func(model.Binding) string) observed.Stack {
	have.TargetGroups = slices.Clone(have.TargetGroups)
	taken := map[string]bool{}
	for _, g := range have.TargetGroups {
		taken[g.ResourceID] = naming.HasStackTags(want.ID, g.Tags)
	}
	bindingsByARN := map[string][]observed.Binding{}
	for _, b := range have.Bindings {
		bindingsByARN[b.ARN] = append(bindingsByARN[b.ARN], b)
	}
	uses := forwardCounts(have)
	type pair struct{ live, desired, sameNamespace, similarity, uses int }
	var pairs []pair
	candidates := map[int]int{} // by index of the desired target group
	for i, g := range have.TargetGroups {
		b, bound := bindingOf(g, bindingsByARN[g.ARN])
		for j, w := range want.TargetGroups {
			if bound && canTakeOver(w, g, b, port) {
				candidates[j]++
				if !naming.HasStackTags(want.ID, g.Tags) && !taken[w.ID] {
					pairs = append(pairs, pair{i, j, namespaceSimilarity(w, g), similarity(w, g), uses[g.ARN]})
				}
			}
		}
	}
	pairs = slices.DeleteFunc(pairs, func(p pair) bool {
		return candidates[p.desired] > 1 && hasUnsetAttribute(want.TargetGroups[p.desired], have.TargetGroups[p.live])
	})
	slices.SortStableFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.sameNamespace, x.sameNamespace), cmp.Compare(y.similarity, x.similarity), cmp.Compare(y.uses, x.uses))
	})
	assigned := map[int]bool{}
	for _, p := range pairs {
		if id := want.TargetGroups[p.desired].ID; !taken[id] && !assigned[p.live] {
			have.TargetGroups[p.live].ResourceID = id
			taken[id], assigned[p.live] = true, true
		}
	}
	return have
}

// bindingOf returns the binding of an observed target group; false if there is not exactly one. A tenant can create a
// binding with the labels of the stack for a target group of another tenant. Therefore bindings for a Service other than the
// Service in the resource id of the target group are excluded. A shortened resource id may not contain the Service. In this
// case, a single binding is assumed to belong to the target group.
func bindingOf(g observed.TargetGroup, bindings []observed.Binding) (observed.Binding, bool) {
	if len(bindings) != 1 || !naming.MayBeShortened(g.ResourceID) {
		bindings = slices.DeleteFunc(slices.Clone(bindings), func(b observed.Binding) bool {
			return !slices.ContainsFunc(model.Kinds, func(k model.Kind) bool {
				return naming.TargetGroupMayServe(k, g.Tags[naming.ResourceTag(k)], b.Namespace, b.Service.Service)
			})
		})
	}
	if len(bindings) != 1 {
		return observed.Binding{}, false
	}
	return bindings[0], true
}

// forwardCounts returns the number of rules and default actions that forward to each target group, by ARN of the target
// group.
func forwardCounts(have observed.Stack) map[string]int {
	out := map[string]int{}
	for _, lb := range have.LoadBalancers {
		equal.EachForwardedARN(lb.Listeners, func(arn string) { out[arn]++ })
	}
	return out
}

// canTakeOver reports whether an observed target group can be used for a desired target group: both have the same targets
// and the same values of the properties that AWS cannot change.
func canTakeOver(w model.TargetGroup, g observed.TargetGroup, b observed.Binding, port func(model.Binding) string) bool {
	return w.Binding != nil && w.Binding.Namespace == b.Namespace && w.Binding.Service == b.Service.Service && port(*w.Binding) == port(b.Service) &&
		equal.CanChangeInPlace(w, g)
}

// namespaceSimilarity returns 1 if a desired and an observed target group belong to objects in the same namespace, and
// otherwise 0. A route in another namespace may forward to the same Service. It should not get a target group to which rules
// of the Ingresses forward, because these rules would then belong to the route.
func namespaceSimilarity(w model.TargetGroup, g observed.TargetGroup) int {
	namespaces := naming.ObjectNamespaces(g.ResourceID)
	if slices.ContainsFunc(naming.ObjectNamespaces(w.ID), func(ns string) bool { return slices.Contains(namespaces, ns) }) {
		return 1
	}
	return 0
}

// similarity returns a score for how many settings of an observed target group equal the desired settings. A different
// attribute reduces the score by the number of desired attributes. Of several target groups with the same targets, the
// target group with the highest score is assigned.
func similarity(w model.TargetGroup, g observed.TargetGroup) (n int) {
	if w.HealthCheck == g.HealthCheck {
		n++
	}
	for k, v := range w.Attributes {
		switch live, known := g.Attributes[k]; {
		case !known:
		case live == v:
			n++
		default:
			n -= len(w.Attributes)
		}
	}
	return n
}

// hasUnsetAttribute reports whether an observed target group has an attribute that the desired target group does not set
// and whose value is not the AWS default. The attribute would keep its value. If several observed target groups have the
// same targets, a target group with such an attribute is not assigned, because another object may need the attribute.
func hasUnsetAttribute(w model.TargetGroup, g observed.TargetGroup) bool {
	for k, v := range attributeDefaults {
		_, named := w.Attributes[k]
		if live, known := g.Attributes[k]; known && !named && live != v {
			return true
		}
	}
	return false
}

// attributeDefaults has the AWS defaults of target group attributes that are often set.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetGroupAttribute.html
var attributeDefaults = map[string]string{
	"deregistration_delay.timeout_seconds": "300", "load_balancing.algorithm.type": "round_robin", "slow_start.duration_seconds": "0",
	"stickiness.enabled": "false",
}

// AttributeQuestions returns the questions for the target group attributes that AssignResourceIDs needs.
func AttributeQuestions(have observed.Stack) (out []model.Question) {
	for _, g := range have.TargetGroups {
		if g.Attributes == nil {
			out = append(out, model.AskAttributes{Of: "target-group", ARN: g.ARN})
		}
	}
	return out
}

// HasTagsOfStack reports whether a load balancer has the tags of a stack. It reports false if lb is nil.
func HasTagsOfStack(id model.StackID, lb *observed.LoadBalancer) bool {
	return lb != nil && naming.HasStackTags(id, lb.Tags)
}

// PreviousStack returns the stack from which a load balancer was taken over, according to its tag. It returns false if lb is
// nil or has no such tag.
func PreviousStack(lb *observed.LoadBalancer) (model.StackID, bool) {
	if lb == nil {
		return model.StackID{}, false
	}
	return naming.ParseAdoptedTag(lb.Tags[naming.AdoptedTag])
}

// withoutResourcesOf returns the observed state without the resources that the stack by has taken over, which have the tags
// of by, and without the bindings of their target groups. The labels of bindings are not trusted, because tenants can write
// them.
func withoutResourcesOf(have observed.Stack, by model.StackID) observed.Stack {
	have.LoadBalancers = slices.DeleteFunc(slices.Clone(have.LoadBalancers), func(lb observed.LoadBalancer) bool { return naming.HasStackTags(by, lb.Tags) })
	have.TargetGroups = slices.DeleteFunc(slices.Clone(have.TargetGroups), func(g observed.TargetGroup) bool { return naming.HasStackTags(by, g.Tags) })
	have.SecurityGroups = slices.DeleteFunc(slices.Clone(have.SecurityGroups), func(g observed.SecurityGroup) bool { return naming.HasStackTags(by, g.Tags) })
	have.Bindings = slices.DeleteFunc(slices.Clone(have.Bindings), func(b observed.Binding) bool {
		return !slices.ContainsFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == b.ARN })
	})
	return have
}

// isEmpty reports whether a stack has neither resources in AWS nor bindings.
func isEmpty(have observed.Stack) bool {
	return len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups)+len(have.Bindings) == 0
}
