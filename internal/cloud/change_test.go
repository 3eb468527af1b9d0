package cloud_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestEveryChangeConvergesAndUpdatesTheInventory applies each kind of change to a stack in AWS, and reverts it. After each
// step, the inventory and AWS must both show the desired state.
func TestEveryChangeConvergesAndUpdatesTheInventory(t *testing.T) {
	member := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
	cases := map[string]func(*model.Stack){
		"tags of everything": func(s *model.Stack) {
			s.LoadBalancer.Tags = map[string]string{"team": "red", "cost": "7"}
			s.LoadBalancer.Listeners[0].Tags = map[string]string{"l": "1"}
			s.LoadBalancer.Listeners[0].Rules[0].Tags = map[string]string{"r": "1"}
			s.TargetGroups[0].Tags = map[string]string{"g": "1"}
			g := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
			g.Group.Tags = map[string]string{"s": "1"}
			s.LoadBalancer.SecurityGroups = g
		},
		"attributes": func(s *model.Stack) {
			s.LoadBalancer.Attributes = map[string]string{"idle_timeout.timeout_seconds": "120", "routing.http2.enabled": "false"}
			s.LoadBalancer.Listeners[0].Attributes = map[string]string{"routing.http.response.server.enabled": "false"}
			s.TargetGroups[1].Attributes = map[string]string{"deregistration_delay.timeout_seconds": "10"}
		},
		"address type": func(s *model.Stack) { s.LoadBalancer.AddressType = model.DualStack },
		"subnets by name": func(s *model.Stack) {
			s.LoadBalancer.Subnets = model.SubnetsNamed{Refs: []string{"public-a", "public-b"}}
		},
		"given groups": func(s *model.Stack) {
			s.LoadBalancer.SecurityGroups = model.SecurityGroupsGiven{Refs: []string{"nodes-sg"}}
		},
		"backend group": func(s *model.Stack) {
			g := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
			g.Backend = true
			s.LoadBalancer.SecurityGroups = g
			s.BackendSecurityGroup = model.BackendSecurityGroupUse{Needed: true, Tags: map[string]string{"d": "1"}}
		},
		"sources": func(s *model.Stack) {
			g := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
			g.Group.Ingress = []model.IngressRule{
				{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8"}, {Protocol: "tcp", From: 80, To: 80, CIDR: "2001:db8::/32"},
			}
			s.LoadBalancer.SecurityGroups = g
		},
		"health check": func(s *model.Stack) {
			s.TargetGroups[0].HealthCheck.Path = "/healthz"
			s.TargetGroups[0].HealthCheck.HTTPCodes = "200-299"
			s.TargetGroups[0].HealthCheck.IntervalSeconds = 30
		},
		"another listener": func(s *model.Stack) {
			l := s.LoadBalancer.Listeners[0]
			l.Port = 8080
			l.Rules = []model.Rule{forwardRule(member, "/c", "api")}
			s.LoadBalancer.Listeners = append(s.LoadBalancer.Listeners, l)
		},
		"default action": func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].Default = []model.Action{model.FixedResponse{Status: "503", ContentType: "text/plain", Body: "closed"}}
		},
		"rule on top": func(s *model.Stack) {
			r := forwardRule(member, "/first", "shop")
			s.LoadBalancer.Listeners[0].Rules = append([]model.Rule{r}, s.LoadBalancer.Listeners[0].Rules...)
		},
		"rules swapped": func(s *model.Stack) {
			rs := s.LoadBalancer.Listeners[0].Rules
			s.LoadBalancer.Listeners[0].Rules = []model.Rule{rs[1], rs[0]}
		},
		"rule gone": func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].Rules = s.LoadBalancer.Listeners[0].Rules[:1]
		},
		"all conditions": func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].Rules = append(s.LoadBalancer.Listeners[0].Rules, model.Rule{
				Member: member, Conditions: []model.Condition{
					model.HostHeader{Values: []string{"*.example.com"}},
					model.HTTPHeader{Name: "X-Kind", Values: []string{"a"}},
					model.RequestMethod{Values: []string{"GET"}},
					model.QueryString{Pairs: []model.QueryPair{{Key: "q", Value: "1"}}},
					model.SourceIP{CIDRs: []string{"10.0.0.0/8"}},
				},
				Actions: []model.Action{model.Redirect{Host: "other.example.com", Status: "HTTP_301"}},
			}, model.Rule{
				Member: member, Conditions: []model.Condition{model.PathPattern{Regex: []string{"^/x[0-9]+"}}},
				Transforms: []model.Transform{{Kind: model.URLRewrite, Rewrites: []model.Rewrite{{Regex: "^/x", Replace: "/y"}}}},
				Actions: []model.Action{model.Forward{
					Groups: []model.WeightedTargetGroup{
						{Group: model.TargetGroupRef{ID: "api"}, Weight: aws.Int32(3)}, {Group: model.TargetGroupRef{ID: "shop"}, Weight: aws.Int32(1)},
					},
					Stickiness: &model.TargetGroupStickiness{Enabled: aws.Bool(true), Duration: aws.Int32(60)},
				}},
			})
		},
		"redirect to https": func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].Rules = nil
			s.LoadBalancer.Listeners[0].Default = []model.Action{model.Redirect{Protocol: "HTTPS", Port: "443", Status: "HTTP_301"}}
		},
	}
	for name, edit := range cases {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			r.checkConverges(desiredStack(webStack))
			r.checkConverges(desiredStack(webStack, edit))
			r.checkConverges(desiredStack(webStack))
			r = newHarness(t)
			r.checkConverges(desiredStack(webStack, edit))
		})
	}
}
