package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// FrontendNLB returns the frontend NLB of a stack as it would be by itself: with the security groups that it shares with the
// ALB, and with a name that was chosen where that of the ALB was. It is nil where there is none.
func FrontendNLB(s model.Stack) *model.LoadBalancer {
	if s.FrontendNLB == nil {
		return nil
	}
	out := *s.FrontendNLB
	out.Origins = map[string]finding.Origin{}
	maps.Copy(out.Origins, s.FrontendNLB.Origins)
	if given := s.LoadBalancer.Origins["name"]; given != (finding.Origin{}) {
		out.Origins["name"] = given
	}
	if out.SecurityGroups == (model.GroupsShared{}) {
		out.SecurityGroups = admitting(s.LoadBalancer.SecurityGroups, func(port int32) bool { return listens(&out, port) })
	}
	return &out
}

// withoutFrontend returns the load balancer of a stack. Its managed security group is without the rules for ports that
// the frontend NLB alone listens on: they open no port of the ALB.
func withoutFrontend(s model.Stack) *model.LoadBalancer {
	if s.FrontendNLB == nil || s.FrontendNLB.SecurityGroups != (model.GroupsShared{}) {
		return s.LoadBalancer
	}
	out := *s.LoadBalancer
	out.SecurityGroups = admitting(out.SecurityGroups, func(port int32) bool { return listens(&out, port) || !listens(s.FrontendNLB, port) })
	return &out
}

func listens(lb *model.LoadBalancer, port int32) bool {
	return slices.ContainsFunc(lb.Listeners, func(l model.Listener) bool { return l.Port == port })
}

// admitting returns a choice of security groups whose managed one has the rules of some ports alone.
func admitting(g model.GroupChoice, port func(int32) bool) model.GroupChoice {
	managed, ok := g.(model.GroupsManaged)
	if !ok {
		return g
	}
	managed.Group.Ingress = slices.DeleteFunc(slices.Clone(managed.Group.Ingress), func(r model.IngressRule) bool { return !port(r.From) })
	return managed
}

// network returns the network load balancer in front of that of the side, with the stack that has its target groups;
// nil where there is none.
func (s Side) network() (*model.LoadBalancer, *model.Stack) {
	switch {
	case s.Frontend == nil:
		return FrontendNLB(s.Stack), &s.Stack
	case s.Frontend.Held.Everything:
		return nil, s.Frontend
	}
	return s.Frontend.LoadBalancer, s.Frontend
}

// frontends compares the frontend NLB with the network load balancer of the Gateway that is in front of the other one.
func (c *comparing) frontends() {
	a, from := c.from.network()
	b, to := c.to.network()
	if a == nil || b == nil {
		c.compareText(0, "frontend NLB", a != nil, b != nil)
		return
	}
	x := &comparing{from: c.from, to: c.to, ignored: c.ignored}
	x.loadBalancer(a, b)
	x.compareText(0, "elastic addresses", a.Addresses, b.Addresses)
	for _, l := range a.Listeners {
		i := slices.IndexFunc(b.Listeners, func(o model.Listener) bool { return o.Port == l.Port })
		if i < 0 {
			x.setting(l.Port, "listener", l.Protocol(), "none")
			continue
		}
		x.compareText(l.Port, "protocol", l.Protocol(), b.Listeners[i].Protocol())
		x.targets(l.Port, from.TargetGroup(l.Target()), to.TargetGroup(b.Listeners[i].Target()))
	}
	for _, l := range b.Listeners {
		if !listens(a, l.Port) {
			x.setting(l.Port, "listener", "none", l.Protocol())
		}
	}
	for _, d := range x.Differences {
		d.Setting = "frontend NLB: " + d.Setting
		c.Differences = append(c.Differences, d)
	}
}

// targets compares where a port of the frontend NLB leads.
func (c *comparing) targets(port int32, a, b *model.TargetGroup) {
	leads := func(s Side, g *model.TargetGroup) string {
		switch {
		case g == nil:
			return "nowhere"
		case g.LoadBalancer == "" || g.LoadBalancer == s.ALB:
			return fmt.Sprintf("port %d of the ALB", g.Port)
		}
		return fmt.Sprintf("port %d of %s", g.Port, g.LoadBalancer)
	}
	c.compareText(port, "target", leads(c.from, a), leads(c.to, b))
	if a == nil || b == nil {
		return
	}
	for _, d := range c.groupDifferences(a, b) {
		d.Port, d.Setting = cmp.Or(d.Port, port), "target group: "+d.Setting
		c.Differences = append(c.Differences, d)
	}
}
