package handover

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// A Gateway takes over what the other stack alone has, or what it is taking over itself, and nothing that a third stack has a part
// of.
func TestObstaclesAreOtherGateways(t *testing.T) {
	third := model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "second"}
	tags := func(of ...model.StackID) map[string]string { return live(false, of...).LoadBalancers[0].Tags }
	for name, c := range map[string]struct {
		change func(have *observed.Stack)
		why    string // "" for no obstacle
	}{
		"no other one":                      {func(*observed.Stack) {}, ""},
		"it has begun itself":               {func(have *observed.Stack) { have.AdoptedBy = gateway }, ""},
		"another one has it":                {func(have *observed.Stack) { have.AdoptedBy = third }, "Gateway shop/second has taken it over already"},
		"another one has it, nothing shows": {func(have *observed.Stack) { have.AdoptedBy, have.LoadBalancers = third, nil }, "Gateway shop/second has taken it over already"},
		"its load balancer":                 {func(have *observed.Stack) { have.LoadBalancers[0].Tags = tags(group, third) }, "carries the tags of"},
		"one of its target groups": {func(have *observed.Stack) {
			have.TargetGroups = []observed.TargetGroup{{ARN: "tg", Name: "tg", Tags: tags(third)}}
		}, "target group tg carries the tags of"},
		"its security group": {func(have *observed.Stack) {
			have.SecurityGroups = []observed.SecurityGroup{{ID: "sg-1", Tags: tags(third)}}
		}, "security group sg-1 carries the tags of"},
		"a target group of both": {func(have *observed.Stack) {
			have.TargetGroups = []observed.TargetGroup{{ARN: "tg", Name: "tg", Tags: tags(group, gateway)}}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			want, have := asking(false, true), live(false, group)
			want.LoadBalancer, have.Adopted = nil, group
			have.LoadBalancers[0].Tags = tags(group)
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
