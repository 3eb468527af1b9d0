package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

const albARN = "arn:aws:elasticloadbalancing:::loadbalancer/app/edge/0"

// albStack returns sampleStack with only its first rule.
func albStack() model.Stack {
	s := sampleStack()
	s.LoadBalancer.Listeners[0].Rules = s.LoadBalancer.Listeners[0].Rules[:1]
	return s
}

// frontendStack returns a stack with an NLB in front of the ALB alb, and the target groups of this NLB. groups are its
// security groups.
func frontendStack(groups model.SecurityGroupChoice, alb string) model.Stack {
	return model.Stack{
		LoadBalancer: &model.LoadBalancer{
			Type: model.Network, Name: "edge-nlb", Scheme: model.Internal, AddressType: model.IPv4, Subnets: model.SubnetsNamed{Refs: []string{"subnet-a"}}, Addresses: []string{"eipalloc-a"},
			SecurityGroups: groups, Attributes: map[string]string{"zonal_shift.config.enabled": "true"}, Tags: map[string]string{"team": "a"},
			Listeners: []model.Listener{
				{Port: 80, BaseProtocol: model.TCP, Default: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "80"}}}}}},
				{Port: 443, BaseProtocol: model.TCP, Default: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "443"}}}}}},
			},
		},
		TargetGroups: []model.TargetGroup{albTargetGroup("443", 443, alb), albTargetGroup("80", 443, alb)},
	}
}

// albTargetGroup returns a target group whose target is a port of an ALB.
func albTargetGroup(id string, port int32, alb string) model.TargetGroup {
	return model.TargetGroup{
		ID: id, Type: model.ALBTargets, Port: port, Protocol: "TCP", AddressType: model.IPv4, LoadBalancer: alb,
		HealthCheck: model.HealthCheck{Port: "traffic-port", Protocol: "HTTPS", Path: "/", HTTPCodes: "200"}, Tags: map[string]string{"team": "a"},
	}
}

// ingressSide returns a Side with a frontend NLB. The frontend NLB shares the managed security group of the ALB, which also
// opens port 80.
func ingressSide() check.Side {
	s := albStack()
	frontend := frontendStack(model.SecurityGroupsShared{}, "")
	s.FrontendNLB, s.TargetGroups = frontend.LoadBalancer, append(s.TargetGroups, frontend.TargetGroups...)
	managed := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
	managed.Group.Ingress = append(managed.Group.Ingress, model.IngressRule{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8"})
	s.LoadBalancer.SecurityGroups = managed
	return check.Side{Stack: s, Port: portText}
}

// gatewaySide returns a Side with the same settings as ingressSide, except that the frontend NLB has its own security group.
func gatewaySide() check.Side {
	frontend := frontendStack(model.SecurityGroupsManaged{Backend: true, Group: model.SecurityGroup{Ingress: []model.IngressRule{
		{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8"}, {Protocol: "tcp", From: 443, To: 443, CIDR: "10.0.0.0/8"},
	}}}, albARN)
	return check.Side{Stack: albStack(), Port: portText, FrontendStack: &frontend, ALBARN: albARN}
}

func portText(b *model.Binding) string { return b.Port.String() }

// TestEachChangeOfAFrontendNLBIsADifference checks that a difference is reported for each change of the Gateway that
// replaces a frontend NLB, and if there is no such Gateway.
func TestEachChangeOfAFrontendNLBIsADifference(t *testing.T) {
	t.Parallel()
	if got := check.Compare(ingressSide(), gatewaySide(), ignoredTag); len(got.Differences) > 0 || got.Requests == 0 {
		t.Fatalf("the same settings differ: %+v", got)
	}
	lb := func(change func(*model.LoadBalancer)) func(*check.Side) {
		return func(s *check.Side) { change(s.FrontendStack.LoadBalancer) }
	}
	group := func(change func(*model.TargetGroup)) func(*check.Side) {
		return func(s *check.Side) { change(&s.FrontendStack.TargetGroups[1]) }
	}
	for name, tt := range map[string]struct {
		change func(*check.Side)
		says   string
	}{
		"none":                 {func(s *check.Side) { s.FrontendStack = nil }, "frontend NLB: Ingress exists, Gateway none"},
		"held":                 {func(s *check.Side) { s.FrontendStack.Held.AllResources = true }, "frontend NLB: Ingress exists, Gateway none"},
		"nothing":              {func(s *check.Side) { s.FrontendStack.LoadBalancer = nil }, "frontend NLB: Ingress exists, Gateway none"},
		"another scheme":       {lb(func(lb *model.LoadBalancer) { lb.Scheme = model.InternetFacing }), "frontend NLB: scheme: Ingress internal, Gateway internet-facing"},
		"another address type": {lb(func(lb *model.LoadBalancer) { lb.AddressType = model.DualStack }), "frontend NLB: address type"},
		"other subnets":        {lb(func(lb *model.LoadBalancer) { lb.Subnets = model.SubnetsDiscovered{} }), "frontend NLB: subnets: Ingress subnet-a, Gateway discovered"},
		"other addresses":      {lb(func(lb *model.LoadBalancer) { lb.Addresses = nil }), "frontend NLB: elastic addresses: Ingress eipalloc-a, Gateway none"},
		"other groups":         {lb(func(lb *model.LoadBalancer) { lb.SecurityGroups = model.SecurityGroupsGiven{Refs: []string{"sg-1"}} }), "frontend NLB: security groups"},
		"no groups":            {lb(func(lb *model.LoadBalancer) { lb.SecurityGroups = nil }), "frontend NLB: security groups"},
		"other clients": {lb(func(lb *model.LoadBalancer) {
			lb.SecurityGroups.(model.SecurityGroupsManaged).Group.Ingress[0].CIDR = "0.0.0.0/0"
		}), "frontend NLB: admitted clients"},
		"another attribute": {lb(func(lb *model.LoadBalancer) { lb.Attributes = nil }), "frontend NLB: attributes"},
		"another tag":       {lb(func(lb *model.LoadBalancer) { lb.Tags = nil }), "frontend NLB: tags"},
		"PrivateLink":       {lb(func(lb *model.LoadBalancer) { lb.PrivateLinkRules = "off" }), "frontend NLB: rules for AWS PrivateLink: Ingress on, Gateway off"},
		"a port less":       {lb(func(lb *model.LoadBalancer) { lb.Listeners = lb.Listeners[1:] }), "port 80: frontend NLB: listener: Ingress TCP, Gateway none"},
		"a port more": {lb(func(lb *model.LoadBalancer) {
			lb.Listeners = append(lb.Listeners, model.Listener{Port: 9, BaseProtocol: model.TCP})
		}), "port 9: frontend NLB: listener: Ingress none, Gateway TCP"},
		"another protocol":     {lb(func(lb *model.LoadBalancer) { lb.Listeners[0].BaseProtocol = model.UDP }), "port 80: frontend NLB: protocol: Ingress TCP, Gateway UDP"},
		"held port":            {lb(func(lb *model.LoadBalancer) { lb.Listeners[0].Default = nil }), "port 80: frontend NLB: target: Ingress port 443 of the ALB, Gateway nowhere"},
		"another port":         {group(func(g *model.TargetGroup) { g.Port = 80 }), "port 80: frontend NLB: target: Ingress port 443 of the ALB, Gateway port 80 of the ALB"},
		"another ALB":          {group(func(g *model.TargetGroup) { g.LoadBalancer = "other" }), "port 80: frontend NLB: target: Ingress port 443 of the ALB, Gateway port 443 of other"},
		"another health check": {group(func(g *model.TargetGroup) { g.HealthCheck.HTTPCodes = "200-399" }), "port 80: frontend NLB: target group: health check"},
		"another target tag":   {group(func(g *model.TargetGroup) { g.Tags = nil }), "port 80: frontend NLB: target group: tags"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := gatewaySide()
			tt.change(&changed)
			got := check.Compare(ingressSide(), changed, ignoredTag)
			if len(got.Differences) == 0 || !strings.Contains(got.Differences[0].Text(), tt.says) ||
				slices.ContainsFunc(got.Differences, func(d check.Difference) bool { return !strings.Contains(d.Text(), "frontend NLB: ") }) {
				t.Errorf("want %q, got %+v", tt.says, got.Differences)
			}
		})
	}
}

// TestFrontendNLBNameFollowsALBName checks that the name of a frontend NLB is compared only if a user has set the name of
// the ALB. It also checks that a frontend NLB of the Gateway alone is a difference.
func TestFrontendNLBNameFollowsALBName(t *testing.T) {
	t.Parallel()
	from, to := ingressSide(), gatewaySide()
	to.FrontendStack.LoadBalancer.Name = "k8s-shop-edge"
	if got := check.Compare(from, to, ignoredTag); len(got.Differences) > 0 {
		t.Errorf("a generated name is a difference: %+v", got.Differences)
	}
	from.LoadBalancer.Origins = map[string]finding.Origin{"name": {Field: "load-balancer-name"}}
	if got := check.Compare(from, to, ignoredTag); len(got.Differences) != 1 || got.Differences[0].Text() != "frontend NLB: name: Ingress edge-nlb, Gateway k8s-shop-edge" {
		t.Errorf("%+v", got.Differences)
	}
	if got := check.Compare(check.Side{Stack: albStack(), Port: portText}, gatewaySide(), ignoredTag); len(got.Differences) != 1 || got.Differences[0].Text() != "frontend NLB: Ingress none, Gateway exists" {
		t.Errorf("%+v", got.Differences)
	}
}
