// Package handover decides how a Gateway takes over the load balancer of an IngressGroup, an Ingress or a Service: the relation
// of the two stacks, which live target group becomes which desired one, and the obstacles.
package handover

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// Assign gives live target groups of the other stack the ids of the desired target groups that they become: those for
// the same port of the same Service that AWS need not replace. Others keep their id, and are deleted when nothing
// forwards to them. port returns the number of a port of a Service.
func Assign(want model.Stack, have observed.Stack, port func(model.Binding) string) observed.Stack {
	have.TargetGroups = slices.Clone(have.TargetGroups)
	taken := map[string]bool{}
	for _, g := range have.TargetGroups {
		taken[g.ResourceID] = naming.HasStackTags(want.ID, g.Tags)
	}
	filledBy := map[string][]observed.Binding{}
	for _, b := range have.Bindings {
		filledBy[b.ARN] = append(filledBy[b.ARN], b)
	}
	uses := forwardCounts(have)
	type pair struct{ live, desired, own, likeness, uses int }
	var pairs []pair
	candidates := map[int]int{} // of desired ones
	for i, g := range have.TargetGroups {
		b, filled := bindingOf(g, filledBy[g.ARN])
		for j, w := range want.TargetGroups {
			if filled && canTakeOver(w, g, b, port) {
				candidates[j]++
				if !naming.HasStackTags(want.ID, g.Tags) && !taken[w.ID] {
					pairs = append(pairs, pair{i, j, sameNamespace(w, g), similarity(w, g), uses[g.ARN]})
				}
			}
		}
	}
	pairs = slices.DeleteFunc(pairs, func(p pair) bool {
		return candidates[p.desired] > 1 && hasUnnamedAttribute(want.TargetGroups[p.desired], have.TargetGroups[p.live])
	})
	slices.SortStableFunc(pairs, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.own, x.own), cmp.Compare(y.likeness, x.likeness), cmp.Compare(y.uses, x.uses))
	})
	given := map[int]bool{}
	for _, p := range pairs {
		if id := want.TargetGroups[p.desired].ID; !taken[id] && !given[p.live] {
			have.TargetGroups[p.live].ResourceID = id
			taken[id], given[p.live] = true, true
		}
	}
	return have
}

// bindingOf returns the binding of a live target group. Tenants can write bindings with the labels of a stack for
// target groups of others, even where the controller has deleted its own binding and a rule still uses the target
// group. A binding of the controller is for the Service in the resource id of the target group. A shortened id may
// not show the Service, so that a single binding is then assumed to be the right one.
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

// forwardCounts returns, by ARN, how many rules and default actions forward to a target group.
func forwardCounts(have observed.Stack) map[string]int {
	out := map[string]int{}
	for _, lb := range have.LoadBalancers {
		equal.EachForward(lb.Listeners, func(arn string) { out[arn]++ })
	}
	return out
}

// canTakeOver reports whether a live target group has the targets of a desired one, and the properties that AWS
// cannot change.
func canTakeOver(w model.TargetGroup, g observed.TargetGroup, b observed.Binding, port func(model.Binding) string) bool {
	return w.Binding != nil && w.Binding.Namespace == b.Namespace && w.Binding.Service == b.Service.Service && port(*w.Binding) == port(b.Service) &&
		equal.CanBecome(w, g)
}

// sameNamespace returns 1 where a desired target group and a live one are of objects of the same namespace. A route of
// another namespace may have the same Service, and must not get what rules of the Ingresses forward to: these would
// count as rules of that route.
func sameNamespace(w model.TargetGroup, g observed.TargetGroup) int {
	of := naming.ObjectNamespaces(g.ResourceID)
	if slices.ContainsFunc(naming.ObjectNamespaces(w.ID), func(ns string) bool { return slices.Contains(of, ns) }) {
		return 1
	}
	return 0
}

// similarity returns how many settings of a live target group are as desired. It chooses among target groups with the
// same targets.
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

// hasUnnamedAttribute reports whether a live target group has an attribute that the desired one does not set, with
// another value than AWS's default, which it would keep. Such a target group is not used if several have the same
// targets, because another object may have asked for it.
func hasUnnamedAttribute(w model.TargetGroup, g observed.TargetGroup) bool {
	for k, v := range attributeDefaults {
		_, named := w.Attributes[k]
		if live, known := g.Attributes[k]; known && !named && live != v {
			return true
		}
	}
	return false
}

// attributeDefaults are attributes that are often set, with what AWS gives to new target groups.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetGroupAttribute.html
var attributeDefaults = map[string]string{
	"deregistration_delay.timeout_seconds": "300", "load_balancing.algorithm.type": "round_robin", "slow_start.duration_seconds": "0",
	"stickiness.enabled": "false",
}

// Questions returns the questions for the attributes on which Assign depends.
func Questions(have observed.Stack) (out []model.Question) {
	for _, g := range have.TargetGroups {
		if g.Attributes == nil {
			out = append(out, model.AskAttributes{Of: "target-group", ARN: g.ARN})
		}
	}
	return out
}

// Claimed reports whether a load balancer carries the tags of a stack, so that the stack has taken it over.
func Claimed(id model.StackID, lb *observed.LoadBalancer) bool {
	return lb != nil && naming.HasStackTags(id, lb.Tags)
}

// PreviousStack returns the stack that a load balancer was made for, by its tag; false if it has none.
func PreviousStack(lb *observed.LoadBalancer) (model.StackID, bool) {
	if lb == nil {
		return model.StackID{}, false
	}
	return naming.AdoptedFrom(lb.Tags[naming.AdoptedTag])
}

// notTakenOver returns the resources that do not carry the tags of the stack by which they could have been taken
// over, and the bindings of these target groups. Labels of bindings prove nothing, because tenants can write them.
func notTakenOver(have observed.Stack, by model.StackID) observed.Stack {
	have.LoadBalancers = slices.DeleteFunc(slices.Clone(have.LoadBalancers), func(lb observed.LoadBalancer) bool { return naming.HasStackTags(by, lb.Tags) })
	have.TargetGroups = slices.DeleteFunc(slices.Clone(have.TargetGroups), func(g observed.TargetGroup) bool { return naming.HasStackTags(by, g.Tags) })
	have.SecurityGroups = slices.DeleteFunc(slices.Clone(have.SecurityGroups), func(g observed.SecurityGroup) bool { return naming.HasStackTags(by, g.Tags) })
	have.Bindings = slices.DeleteFunc(slices.Clone(have.Bindings), func(b observed.Binding) bool {
		return !slices.ContainsFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == b.ARN })
	})
	return have
}

// isEmpty reports whether a stack has no resources in AWS.
func isEmpty(have observed.Stack) bool {
	return len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups)+len(have.Bindings) == 0
}
