package handover

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestResourcesOfAThirdStackAreAnObstacle checks that a Gateway does not take over a load balancer if a third stack has
// taken it over, or if the load balancer or one of its resources has the tags of a third stack.
func TestResourcesOfAThirdStackAreAnObstacle(t *testing.T) {
	third := model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "second"}
	tags := func(of ...model.StackID) map[string]string { return loadBalancerOf(false, of...).LoadBalancers[0].Tags }
	for name, c := range map[string]struct {
		change func(have *observed.Stack)
		why    string // "" for no obstacle
	}{
		"no other one":                      {func(*observed.Stack) {}, ""},
		"it has begun itself":               {func(have *observed.Stack) { have.AdoptedByStack = gateway }, ""},
		"another one has it":                {func(have *observed.Stack) { have.AdoptedByStack = third }, "Gateway shop/second has taken it over already"},
		"another one has it, nothing shows": {func(have *observed.Stack) { have.AdoptedByStack, have.LoadBalancers = third, nil }, "Gateway shop/second has taken it over already"},
		"its load balancer":                 {func(have *observed.Stack) { have.LoadBalancers[0].Tags = tags(ingressGroup, third) }, "has the tags of"},
		"one of its target groups": {func(have *observed.Stack) {
			have.TargetGroups = []observed.TargetGroup{{ARN: "tg", Name: "tg", Tags: tags(third)}}
		}, "target group tg has the tags of"},
		"its security group": {func(have *observed.Stack) {
			have.SecurityGroups = []observed.SecurityGroup{{ID: "sg-1", Tags: tags(third)}}
		}, "security group sg-1 has the tags of"},
		"a target group of both": {func(have *observed.Stack) {
			have.TargetGroups = []observed.TargetGroup{{ARN: "tg", Name: "tg", Tags: tags(ingressGroup, gateway)}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, have := adoptingGateway(false, true), loadBalancerOf(false, ingressGroup)
			want.LoadBalancer, have.AdoptedStack = nil, ingressGroup
			have.LoadBalancers[0].Tags = tags(ingressGroup)
			c.change(&have)
			var got []string
			for _, f := range Obstacles(want, have, nil) {
				got = append(got, f.Message)
			}
			text := strings.Join(got, "\n")
			if c.why == "" && text != "" || !strings.Contains(text, c.why) {
				t.Errorf("obstacles %q, want %q", text, c.why)
			}
		})
	}
}

// TestTagsOfAWSNeedNoRoomForAHandover checks that only the tags that count against the limit of AWS are an obstacle.
func TestTagsOfAWSNeedNoRoomForAHandover(t *testing.T) {
	for name, c := range map[string]struct {
		counted, ofAWS int
		why            string
	}{
		"room for two tags":               {48, 0, ""},
		"room for two tags, tags of AWS":  {48, 10, ""},
		"room for one tag":                {49, 0, "has 49 tags, and during the handover it needs 1 more than the 50 that AWS allows"},
		"room for one tag, with AWS tags": {49, 10, "has 49 tags, and during the handover it needs 1 more than the 50 that AWS allows"},
	} {
		t.Run(name, func(t *testing.T) {
			want, have := adoptingGateway(false, true), loadBalancerOf(false, ingressGroup)
			want.LoadBalancer, have.AdoptedStack = nil, ingressGroup
			tags := map[string]string{}
			for i := range c.counted {
				tags[fmt.Sprint("k", i)] = "v"
			}
			for i := range c.ofAWS {
				tags[fmt.Sprint("aws:k", i)] = "v"
			}
			have.TargetGroups = []observed.TargetGroup{{ARN: "tg", Name: "tg", Tags: tags}}
			text := ""
			for _, f := range Obstacles(want, have, nil) {
				text += f.Message
			}
			if c.why == "" && text != "" || !strings.Contains(text, c.why) {
				t.Errorf("obstacles %q, want %q", text, c.why)
			}
		})
	}
}

// TestMemberConsentsToOneGateway checks how a member in another namespace consents to the take-over by one Gateway: with an
// annotation, or, unless the members of the IngressGroup are isolated, with a route.
func TestMemberConsentsToOneGateway(t *testing.T) {
	const no = "Ingress blog/posts does not consent"
	of := func(namespace, name string) model.StackID {
		return model.StackID{Kind: model.ALBGateway, Namespace: namespace, Name: name}
	}
	for name, c := range map[string]struct {
		change func(m *model.Member, from, want *model.Stack)
		why    string // "" for no obstacle
	}{
		"nothing":                                {func(*model.Member, *model.Stack, *model.Stack) {}, no},
		"in the namespace of the Gateway":        {func(m *model.Member, _, _ *model.Stack) { m.Ref.Namespace = "shop" }, ""},
		"by annotation":                          {func(m *model.Member, _, _ *model.Stack) { m.Adopter = gateway }, ""},
		"to one of this name elsewhere":          {func(m *model.Member, _, _ *model.Stack) { m.Adopter = of("blog", gateway.Name) }, no},
		"to another one of the namespace":        {func(m *model.Member, _, _ *model.Stack) { m.Adopter = of(gateway.Namespace, "second") }, no},
		"by a route":                             {func(_ *model.Member, _, want *model.Stack) { want.Attached = []string{"blog"} }, ""},
		"by a route where members keep apart":    {func(_ *model.Member, from, want *model.Stack) { from.Isolated, want.Attached = true, []string{"blog"} }, no},
		"by annotation where members keep apart": {func(m *model.Member, from, _ *model.Stack) { from.Isolated, m.Adopter = true, gateway }, ""},
		"but cannot be built":                    {func(m *model.Member, _, _ *model.Stack) { m.Adopter, m.Blocked = gateway, true }, "Ingress blog/posts cannot be built"},
		"but is leaving":                         {func(m *model.Member, _, _ *model.Stack) { m.Adopter, m.Deleting = gateway, true }, "Ingress blog/posts is leaving it"},
	} {
		t.Run(name, func(t *testing.T) {
			want, from := adoptingGateway(false, false), stackOf(ingressGroup, true)
			m := &from.Members[0]
			m.Ref = finding.Ref{Kind: "Ingress", Namespace: "blog", Name: "posts"}
			c.change(m, &from, &want)
			var got []string
			for _, f := range ObjectObstacles(want, from) {
				got = append(got, f.Message)
			}
			text := strings.Join(got, "\n")
			if c.why == "" && text != "" || !strings.Contains(text, c.why) {
				t.Errorf("refusals %q, want %q", text, c.why)
			}
		})
	}
}
