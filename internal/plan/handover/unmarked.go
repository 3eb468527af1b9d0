package handover

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A controller that knows nothing of adoptions removes the tags that record whose load balancer a Gateway has. If the
// cluster comes back, the Gateway still asks for it, and its name, which AWS cannot change, is that of the other
// stack. Names prove nothing, as users may choose them. The status of an Ingress or a Service does, since only
// controllers write it: a member that shows the load balancer has had it. The tags are then written again.

// unmarked is for a Gateway that asks for the load balancer of another stack and has one without these tags.
func relateUnmarked(stack model.Stack, live *observed.LoadBalancer, translate Translator, shown ShownName) (Relation, error) {
	own := Relation{Standing: HasOwn, Other: stack.Adopts.From}
	of, on, err := translate(own.Other)
	if err != nil || !on || !madeFor(live, own.Other, of) {
		return own, err
	}
	if isGone(of) {
		return Relation{}, nil // no object is left that may have it back
	}
	of.Members = membersShowing(of.Members, live, shown)
	if len(of.Members) == 0 {
		return own, nil
	}
	return Relation{Standing: Takes, Other: own.Other, OtherStack: of, TagsMissing: true}, nil
}

// toUnmarked is for a stack whose load balancer a Gateway has that still asks for it. It waits until the tags are
// written again.
func relateToUnmarked(stack model.Stack, live *observed.LoadBalancer, by observed.Adopter, translate Translator, shown ShownName) (Relation, error) {
	if live != nil && live.ARN != by.LoadBalancer.ARN || len(membersShowing(slices.Concat(stack.Members, stack.Leaving), &by.LoadBalancer, shown)) == 0 {
		return Relation{}, nil
	}
	of, on, err := translate(by.Stack)
	if err != nil || on && !blocked(of) && (of.Empty() || of.Adopts == nil || of.Adopts.From != stack.ID) {
		return Relation{}, err
	}
	return Relation{Standing: Handed, Other: by.Stack, OtherStack: of, TagsMissing: !stack.Empty()}, nil
}

// Observed returns the relation once it is known what the other stack has: one that has another load balancer has not
// lost that of its name.
func (rel Relation) Observed(stack model.Stack, have observed.Stack) Relation {
	if rel.TagsMissing && slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return !naming.HasStackTags(stack.ID, lb.Tags) }) {
		return Relation{Standing: HasOwn, Other: rel.Other}
	}
	return rel
}

// madeFor reports whether a load balancer has the name of that of a stack. AWS has each name once.
func madeFor(lb *observed.LoadBalancer, id model.StackID, of model.Stack) bool {
	name := naming.LoadBalancer(lb.Tags[naming.ClusterTag], id, lb.Scheme)
	if of.LoadBalancer != nil {
		name = of.LoadBalancer.Name
	}
	return lb.Name == name && name != ""
}

// membersShowing returns the members whose status shows a load balancer.
func membersShowing(members []model.Member, lb *observed.LoadBalancer, shown ShownName) []model.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m model.Member) bool { return lb.DNSName == "" || shown(m.Ref) != lb.DNSName })
}

// isGone reports whether nothing is left of a stack, not even an object that leaves it.
func isGone(of model.Stack) bool { return of.Empty() && !of.Held.Everything && len(of.Leaving) == 0 }
