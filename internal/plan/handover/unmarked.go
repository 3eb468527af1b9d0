package handover

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A controller without support for adoption removes the tags that record from which stack a Gateway has taken over its load
// balancer. When this controller runs again, the Gateway still requests the load balancer of the other stack, and has a load
// balancer with the name that the other stack uses. The name does not prove the take-over, because users can choose names.
// The status of an Ingress or a Service proves it, because only controllers write the status. If a member of the other stack
// has the load balancer in its status, the tags are written again.

// relateWithoutTags returns the relation of the stack of a Gateway to the stack whose load balancer it requests, if the tags
// that record the take-over are missing. The status of the members determines the result, see the comment above.
func relateWithoutTags(stack model.Stack, live *observed.LoadBalancer, translate Translator, shown StatusDNSName) (Relation, error) {
	own := Relation{Kind: HasOwnLoadBalancer, Other: stack.Adopts.From}
	other, on, err := translate(own.Other)
	if err != nil || !on || !hasNameOf(live, own.Other, other) {
		return own, err
	}
	if hasNoObjects(other) {
		return Relation{}, nil // no object exists that may take back the load balancer
	}
	other.Members = membersReportingDNSNameOf(other.Members, live, shown)
	if len(other.Members) == 0 {
		return own, nil
	}
	return Relation{Kind: TakesOver, Other: own.Other, OtherStack: other, TagsMissing: true}, nil
}

// relateToAdopterWithoutTags returns the relation of a stack to a Gateway that requests and has its load balancer, if the
// tags that record the take-over are missing. The stack waits until the tags are written again. If the Gateway has not taken
// over the load balancer, the stacks are unrelated.
func relateToAdopterWithoutTags(stack model.Stack, live *observed.LoadBalancer, by observed.Adopter, translate Translator, shown StatusDNSName) (Relation, error) {
	if live != nil && live.ARN != by.LoadBalancer.ARN || len(membersReportingDNSNameOf(slices.Concat(stack.Members, stack.Leaving), &by.LoadBalancer, shown)) == 0 {
		return Relation{}, nil
	}
	gateway, on, err := translate(by.Stack)
	if err != nil || on && !isHeldEntirely(gateway) && (gateway.IsEmpty() || gateway.Adopts == nil || gateway.Adopts.From != stack.ID) {
		return Relation{}, err
	}
	return Relation{Kind: HandedOver, Other: by.Stack, OtherStack: gateway, TagsMissing: !stack.IsEmpty()}, nil
}

// AfterObservation returns the relation after the resources of the other stack were read. If the other stack has a load
// balancer, the Gateway has not taken over a load balancer from it.
func (rel Relation) AfterObservation(stack model.Stack, have observed.Stack) Relation {
	if rel.TagsMissing && slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return !naming.HasStackTags(stack.ID, lb.Tags) }) {
		return Relation{Kind: HasOwnLoadBalancer, Other: rel.Other}
	}
	return rel
}

// hasNameOf reports whether a load balancer has the name that the load balancer of a stack has. Names are unique in an
// account and region.
func hasNameOf(lb *observed.LoadBalancer, id model.StackID, stack model.Stack) bool {
	name := naming.IngressLoadBalancerName(lb.Tags[naming.ClusterTag], id, lb.Scheme)
	if stack.LoadBalancer != nil {
		name = stack.LoadBalancer.Name
	}
	return lb.Name == name && name != ""
}

// membersReportingDNSNameOf returns the members whose status has the DNS name of the load balancer. shown returns the DNS
// name in the status of an object.
func membersReportingDNSNameOf(members []model.Member, lb *observed.LoadBalancer, shown StatusDNSName) []model.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m model.Member) bool { return lb.DNSName == "" || shown(m.Ref) != lb.DNSName })
}

// hasNoObjects reports whether a stack has no objects, not even objects that are leaving it.
func hasNoObjects(stack model.Stack) bool {
	return stack.IsEmpty() && !stack.Held.AllResources && len(stack.Leaving) == 0
}
