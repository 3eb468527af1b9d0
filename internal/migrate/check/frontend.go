package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// FrontendNLB returns the frontend NLB of a stack; nil if there is none. The result includes the security groups that the
// frontend NLB shares with the ALB. If a user has set the name of the ALB, Origins of the result also has an origin for the
// name.
func FrontendNLB(s model.Stack) *model.LoadBalancer {
	if s.FrontendNLB == nil {
		return nil
	}
	out := *s.FrontendNLB
	out.Origins = map[string]finding.Origin{}
	maps.Copy(out.Origins, s.FrontendNLB.Origins)
	if nameOrigin := s.LoadBalancer.Origins["name"]; nameOrigin != (finding.Origin{}) {
		out.Origins["name"] = nameOrigin
	}
	if out.SecurityGroups == (model.SecurityGroupsShared{}) {
		out.SecurityGroups = limitToPorts(s.LoadBalancer.SecurityGroups, func(port int32) bool { return hasListener(&out, port) })
	}
	return &out
}

// loadBalancerOfStack returns the load balancer of a stack. If the frontend NLB shares its managed security group, the rules
// for ports that only the frontend NLB has are left out, because they open no port of the ALB.
func loadBalancerOfStack(s model.Stack) *model.LoadBalancer {
	if s.FrontendNLB == nil || s.FrontendNLB.SecurityGroups != (model.SecurityGroupsShared{}) {
		return s.LoadBalancer
	}
	out := *s.LoadBalancer
	out.SecurityGroups = limitToPorts(out.SecurityGroups, func(port int32) bool { return hasListener(&out, port) || !hasListener(s.FrontendNLB, port) })
	return &out
}

func hasListener(lb *model.LoadBalancer, port int32) bool {
	return slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port })
}

// limitToPorts returns a choice of security groups. In a managed security group, it retains only the ingress rules for ports
// for which included returns true.
func limitToPorts(g model.SecurityGroupChoice, included func(int32) bool) model.SecurityGroupChoice {
	managed, ok := g.(model.SecurityGroupsManaged)
	if !ok {
		return g
	}
	managed.Group.Ingress = slices.DeleteFunc(slices.Clone(managed.Group.Ingress), func(r model.IngressRule) bool { return !included(r.From) })
	return managed
}

// networkLoadBalancer returns the network load balancer in front of the ALB, nil if there is none, and the stack with its
// target groups.
func (s Side) networkLoadBalancer() (*model.LoadBalancer, *model.Stack) {
	switch {
	case s.FrontendStack == nil:
		return FrontendNLB(s.Stack), &s.Stack
	case s.FrontendStack.Held.AllResources:
		return nil, s.FrontendStack
	}
	return s.FrontendStack.LoadBalancer, s.FrontendStack
}

// existenceText returns the text that a difference shows for a load balancer: "exists", or "none" if lb is nil.
func existenceText(lb *model.LoadBalancer) string {
	if lb == nil {
		return "none"
	}
	return "exists"
}

// compareFrontends compares the frontend NLB with the network load balancer of the Gateway that replaces it.
func (c *comparison) compareFrontends() {
	fromNLB, from := c.ingressSide.networkLoadBalancer()
	toNLB, to := c.gatewaySide.networkLoadBalancer()
	if fromNLB == nil || toNLB == nil {
		c.compareText(0, "frontend NLB", existenceText(fromNLB), existenceText(toNLB))
		return
	}
	frontend := &comparison{ingressSide: c.ingressSide, gatewaySide: c.gatewaySide, ignoredTag: c.ignoredTag}
	frontend.compareLoadBalancers(fromNLB, toNLB)
	frontend.compareText(0, "elastic addresses", fromNLB.Addresses, toNLB.Addresses)
	for _, l := range fromNLB.Listeners {
		i := slices.IndexFunc(toNLB.Listeners, func(o model.Listener) bool { return o.Port == l.Port })
		if i < 0 {
			frontend.addDifference(l.Port, "listener", l.Protocol(), "none")
			continue
		}
		frontend.compareText(l.Port, "protocol", l.Protocol(), toNLB.Listeners[i].Protocol())
		frontend.compareFrontendTargets(l.Port, from.TargetGroup(l.DefaultTargetGroupID()), to.TargetGroup(toNLB.Listeners[i].DefaultTargetGroupID()))
	}
	for _, l := range toNLB.Listeners {
		if !hasListener(fromNLB, l.Port) {
			frontend.addDifference(l.Port, "listener", "none", l.Protocol())
		}
	}
	for _, d := range frontend.Differences {
		d.Setting = "frontend NLB: " + d.Setting
		c.Differences = append(c.Differences, d)
	}
}

// compareFrontendTargets compares the target groups to which the two network load balancers forward from the same port. A
// target group is nil if its load balancer does not forward.
func (c *comparison) compareFrontendTargets(port int32, a, b *model.TargetGroup) {
	targetText := func(s Side, g *model.TargetGroup) string {
		switch {
		case g == nil:
			return "nowhere"
		case g.LoadBalancer == "" || g.LoadBalancer == s.ALBARN:
			return fmt.Sprintf("port %d of the ALB", g.Port)
		}
		return fmt.Sprintf("port %d of %s", g.Port, g.LoadBalancer)
	}
	c.compareText(port, "target", targetText(c.ingressSide, a), targetText(c.gatewaySide, b))
	if a == nil || b == nil {
		return
	}
	for _, d := range c.targetGroupDifferences(a, b) {
		d.Port, d.Setting = cmp.Or(d.Port, port), "target group: "+d.Setting
		c.Differences = append(c.Differences, d)
	}
}
