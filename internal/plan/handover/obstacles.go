package handover

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Obstacles returns findings about observed resources and planned steps that prevent a take-over. want is the stack of the
// Gateway, have has the resources of both stacks, and steps is the plan of the Gateway. It must not be called after the
// take-over has begun.
func Obstacles(want model.Stack, have observed.Stack, steps []plan.Step) finding.List {
	return slices.Concat(resourceObstacles(want, have), stepObstacles(want, steps))
}

// refusal returns the finding that a Gateway does not take over the load balancer that it requests, because of why.
func refusal(want model.Stack, why, fix string) finding.Finding {
	return finding.Finding{
		Object: want.Adopts.At.Object, Field: want.Adopts.At.Field, Reason: finding.AdoptionRefused, Severity: finding.Error,
		Message: fmt.Sprintf("the load balancer of %s is not taken over: %s", want.Adopts.From.Title(), why), Fix: fix, Blocks: finding.BlocksStack,
	}
}

// ObjectObstacles returns findings about the objects of both stacks that prevent a take-over. from is the stack whose load
// balancer is requested.
func ObjectObstacles(want, from model.Stack) (out finding.List) {
	add := func(fix, format string, args ...any) { out.Add(refusal(want, fmt.Sprintf(format, args...), fix)) }
	_, shared := naming.SharedName(from.ID)
	switch {
	case want.ID.Kind != from.ID.Kind.AdopterKind():
		add("choose a GatewayClass of the same kind of load balancer", "a Gateway of this class has another kind of load balancer")
		return out
	case from.IsEmpty() && !from.Held.AllResources:
		add("correct the name in fulcrum.dev/adopt, or remove the annotation to get a new load balancer", "no object of that name is served by this controller")
		return out
	case shared:
		add("remove the annotation", "Services share it by fulcrum.dev/load-balancer-group, and no Gateway can take over a shared load balancer")
		return out
	case from.Held.AllResources || from.IsEmpty():
		add("correct the errors that the events of the objects report", "it is held because of errors of its objects, so that its desired state is not known")
		return out
	}
	if id, ok := naming.ParseAdoptedTag(naming.AdoptedTagValue(from.ID)); !ok || id != from.ID {
		add("choose a shorter name, or remove the annotation to get a new load balancer", "its name is too long for the tag that is needed to return the load balancer")
	}
	for _, m := range slices.Concat(from.Members, from.Leaving) {
		switch {
		case m.Deleting || slices.ContainsFunc(from.Leaving, func(l model.Member) bool { return l.Ref == m.Ref }):
			add("wait until it has left", "%s is leaving it", m.Ref)
		case m.Blocked:
			add("correct the errors that its events report", "%s cannot be built", m.Ref)
		case m.Adopter == want.ID || m.Ref.Namespace == want.ID.Namespace:
		case from.Isolated:
			// In such an IngressGroup, each host belongs to one namespace. On a Gateway, hosts do not belong to namespaces.
			// A user who attaches a route to the Gateway does not thereby consent to this difference.
			add(fmt.Sprintf("have its owner annotate it with %s: %s", naming.AdoptedByAnnotation, want.ID), "%s does not consent", m.Ref)
		case !slices.Contains(want.Attached, m.Ref.Namespace):
			add(fmt.Sprintf("attach a route of namespace %s to the Gateway, or have the owner of %s annotate it with %s: %s", m.Ref.Namespace, m.Ref, naming.AdoptedByAnnotation, want.ID),
				"%s does not consent", m.Ref)
		}
	}
	if from.FrontendNLB != nil {
		add("change the DNS records to the ALB, and then remove the frontend NLB; or run fulcrum migrate without --in-place, for a second ALB with a network load balancer in front of it",
			"it has a frontend NLB, which a Gateway cannot take over")
	}
	for _, c := range from.Certificates {
		if c.Import == nil {
			add("name the certificate by its ARN in the Ingress and in the LoadBalancerConfiguration, and remove create-acm-cert",
				"certificate %s was requested for it and would be deleted with it", c.ID)
		}
	}
	return out
}

// handoverTagCount is the number of additional tags that a resource has during a handover: the two tags by which the other
// stack finds the resource.
const handoverTagCount = 2

// resourceObstacles returns findings about observed resources that prevent a take-over.
func resourceObstacles(want model.Stack, have observed.Stack) (out finding.List) {
	add := func(fix, format string, args ...any) { out.Add(refusal(want, fmt.Sprintf(format, args...), fix)) }
	var lbs []observed.LoadBalancer
	for _, lb := range have.LoadBalancers {
		if lb.ResourceID == model.LoadBalancerID {
			lbs = append(lbs, lb)
		}
	}
	switch {
	case have.AdoptedByStack != (model.StackID{}) && have.AdoptedByStack != want.ID:
		add("return it first, or remove the annotation to create a new load balancer", "%s has taken it over already", have.AdoptedByStack.Title())
		return out
	case len(lbs) == 0:
		add("wait until it exists, or remove the annotation to get a new load balancer", "it does not exist")
		return out
	case len(lbs) > 1 || len(have.LoadBalancers) > 1 || lbs[0].Tags[naming.SuccessorTag] != "" || lbs[0].Tags[naming.ReplacedTag] != "":
		add("wait until the replacement is completed", "a replacement is not completed (number of load balancers: %d)", len(have.LoadBalancers))
	}
	checkTags := func(what string, tags map[string]string, additional int) {
		for _, k := range model.Kinds {
			if value, ok := tags[naming.StackTag(k)]; ok && (k != want.ID.Kind || value != naming.StackTagValue(want.ID)) &&
				(k != have.AdoptedStack.Kind || value != naming.StackTagValue(have.AdoptedStack)) {
				add("have the other stack return it first", "%s has the tags of %s %s", what, k, value)
			}
		}
		counted := naming.CountTags(tags)
		if over := counted + additional - naming.MaxTags; over > 0 {
			add("remove tags", "%s has %d tags, and during the handover it needs %d more than the %d that AWS allows", what, counted, over, naming.MaxTags)
		}
	}
	for _, lb := range have.LoadBalancers {
		checkTags("load balancer "+lb.Name, lb.Tags, handoverTagCount+len(naming.AdoptedTags(want.Adopts.From, want.Adopts.Namespaces)))
	}
	for _, g := range have.TargetGroups {
		checkTags("target group "+g.Name, g.Tags, handoverTagCount)
	}
	for _, g := range have.SecurityGroups {
		checkTags("security group "+g.ID, g.Tags, handoverTagCount)
	}
	if lb := want.LoadBalancer; lb != nil {
		if lb.Type.String() != lbs[0].Type {
			add("choose a GatewayClass of the same kind of load balancer", "it is of type %s", lbs[0].Type)
		}
		if lb.Scheme != lbs[0].Scheme {
			add("set scheme in the LoadBalancerConfiguration", "its scheme is %s and the scheme of the Gateway is %s, and AWS cannot change a scheme", lbs[0].Scheme, lb.Scheme)
		}
		if lb.AddressType != lbs[0].AddressType {
			add("set ipAddressType in the LoadBalancerConfiguration", "its address type is %s and the address type of the Gateway is %s", lbs[0].AddressType, lb.AddressType)
		}
	}
	return out
}

// stepObstacles returns a finding for each planned step that would interrupt clients. Such a step prevents the take-over.
func stepObstacles(want model.Stack, steps []plan.Step) (out finding.List) {
	add := func(why, fix string) { out.Add(refusal(want, why, fix)) }
	for _, s := range steps {
		switch action := s.Do.(type) {
		case plan.CreateLoadBalancer:
			add("another load balancer would be created", "set the scheme of the load balancer in the LoadBalancerConfiguration, and choose a GatewayClass for the type of the load balancer; fulcrum plan shows what differs")
		case plan.DeleteLoadBalancer:
			add(fmt.Sprintf("load balancer %s would be deleted", action.ARN), "set the scheme of the load balancer in the LoadBalancerConfiguration, and choose a GatewayClass for the type of the load balancer; fulcrum plan shows what differs")
		case plan.SetSubnets:
			add("its subnets would be changed", "name its current subnets in the LoadBalancerConfiguration")
		case plan.SetAddressType:
			add("its address type would be changed", "set ipAddressType in the LoadBalancerConfiguration")
		}
	}
	return out
}
