package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

func reasonsText(found finding.List) string {
	var out []string
	for _, f := range found {
		out = append(out, string(f.Reason))
	}
	return strings.Join(out, " ")
}

// withExplicitScheme returns a desired state whose member sets the scheme.
func withExplicitScheme(s model.Stack) model.Stack {
	alb := *s.LoadBalancer
	alb.Origins = map[string]finding.Origin{"scheme": {Object: testMember, Field: "scheme"}}
	s.LoadBalancer = &alb
	return s
}

func TestUnsetSchemeIsKept(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	desired.LoadBalancer.Scheme = model.InternetFacing
	have := converge(t, desired, observed.Stack{Facts: publicFacts()})
	desired = withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	p, found := planner.Make(desired, have, testOptions, plan.Memory{})
	if !p.Empty() || reasonsText(found) != "SchemeKept" {
		t.Errorf("findings %q, steps\n%s", reasonsText(found), p.Text())
	}
	if p, found := planner.Make(withExplicitScheme(desired), have, testOptions, plan.Memory{}); !hasStep(p, "create load-balancer/LoadBalancer") || reasonsText(found) != "" {
		t.Errorf("it is named: findings %q, steps\n%s", reasonsText(found), p.Text())
	}
}

// TestSecondLoadBalancerWithTheSameTagsIsNotChanged checks that a second load balancer, which another user has created with
// the same tags as the load balancer of the stack, is neither changed nor deleted, and keeps its targets.
func TestSecondLoadBalancerWithTheSameTagsIsNotChanged(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	desired.LoadBalancer.Listeners = append(desired.LoadBalancer.Listeners, model.Listener{Port: 8080, Default: []model.Action{plan.NotFoundResponse}})
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	double := have.LoadBalancers[0]
	group, binding := have.TargetGroups[0], have.Bindings[0]
	group.ARN, group.Name, binding.ARN, binding.Name = "a-group", "a-group", "a-group", "a-group"
	have.TargetGroups, have.Bindings = append(have.TargetGroups, group), append(have.Bindings, binding)
	forwards := observed.Listener{ARN: "a-listener", Port: 80, Protocol: "HTTP", Default: weightedForward(group.ARN, 1)}
	double.ARN, double.Listeners, double.SecurityGroups = "a-double", []observed.Listener{forwards}, []string{"sg-other"}
	have.LoadBalancers = append([]observed.LoadBalancer{double}, have.LoadBalancers...)
	p, found := planner.Make(desired, have, testOptions, plan.Memory{})
	if !p.Empty() || reasonsText(found) != "LoadBalancerDoubled" || p.KnownIDs[plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}] == double.ARN {
		t.Errorf("findings %q, steps\n%s", reasonsText(found), p.Text())
	}
}

func TestDeletedSecurityGroupRulesAreReported(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	// A range for the port of a listener may come from an earlier desired state, so its removal is not reported.
	own := model.IngressRule{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8"}
	have.SecurityGroups[0].Ingress = append(have.SecurityGroups[0].Ingress, own)
	if _, found := planner.Make(desired, have, testOptions, plan.Memory{}); reasonsText(found) != "" {
		t.Errorf("findings %v", found)
	}
	have.SecurityGroups[0].Ingress = append(have.SecurityGroups[0].Ingress, model.IngressRule{Protocol: "tcp", From: 22, To: 22, CIDR: "10.1.0.0/16"})
	p, found := planner.Make(desired, have, testOptions, plan.Memory{})
	if reasonsText(found) != "RulesRevoked" || !strings.Contains(found[0].Message, "tcp 22-22 10.1.0.0/16") || strings.Contains(found[0].Message, own.CIDR) {
		t.Errorf("findings %v, steps\n%s", found, p.Text())
	}
	// After an interrupted change, the rule may belong to a listener that was never created.
	unfinished := plan.Memory{LastChangeUnfinished: true}
	if p, found := planner.Make(desired, have, testOptions, unfinished); reasonsText(found) != "" || p.Empty() {
		t.Errorf("findings %v, steps\n%s", found, p.Text())
	}
	have.SecurityGroups[0].Ingress = append(have.SecurityGroups[0].Ingress, model.IngressRule{Protocol: "tcp", From: 23, To: 23, CIDR: "10.1.0.0/16", Description: "telnet"})
	if _, found := planner.Make(desired, have, testOptions, unfinished); reasonsText(found) != "RulesRevoked" || strings.Contains(found[0].Message, "22-22") {
		t.Errorf("findings %v", found)
	}
}

// TestRevokedRulesOfGatewaysAreNotReportedAsForeign checks that the removal of rules of a Gateway is not reported as that of
// rules of others: of the port of a listener that had no route, and of ICMP messages about the packet size.
func TestRevokedRulesOfGatewaysAreNotReportedAsForeign(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	desired.ID.Kind = model.ALBGateway
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	clients := have.SecurityGroups[0].Ingress[0].CIDR
	have.SecurityGroups[0].Ingress = append(have.SecurityGroups[0].Ingress,
		model.IngressRule{Protocol: "tcp", From: 8080, To: 8080, CIDR: clients}, model.IngressRule{Protocol: "icmp", From: 3, To: 4, CIDR: clients})
	if p, found := planner.Make(desired, have, testOptions, plan.Memory{}); reasonsText(found) != "" || p.Empty() {
		t.Errorf("findings %v, steps\n%s", found, p.Text())
	}
	have.SecurityGroups[0].Ingress = append(have.SecurityGroups[0].Ingress, model.IngressRule{Protocol: "tcp", From: 22, To: 22, CIDR: "10.1.0.0/16"})
	if _, found := planner.Make(desired, have, testOptions, plan.Memory{}); reasonsText(found) != "RulesRevoked" || !strings.HasSuffix(found[0].Message, "added: tcp 22-22 10.1.0.0/16") {
		t.Errorf("findings %v", found)
	}
}

func TestImmutableSettingsAreReported(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	desired.LoadBalancer.CoIPPool = "pool-1"
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	desired.LoadBalancer.CoIPPool = "pool-2"
	p, found := planner.Make(desired, have, testOptions, plan.Memory{})
	if !p.Empty() || reasonsText(found) != "SettingFixed" {
		t.Errorf("findings %q, steps\n%s", reasonsText(found), p.Text())
	}
}

func TestTargetGroupInUseIsPreferredOverDuplicate(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	used := &have.TargetGroups[0]
	used.Name, used.LoadBalancers = "renamed", []string{have.LoadBalancers[0].ARN}
	double := *used
	double.ARN, double.LoadBalancers = "a-double", nil
	have.TargetGroups = append([]observed.TargetGroup{double}, have.TargetGroups...)
	have.Facts.Health = map[string]observed.Health{}
	p := planUntilNoQuestions(t, desired, &have, func(string) string { return "healthy" })
	if ids := stepIDsText(p); ids != "delete target-group/a-double" {
		t.Errorf("got\n%s", ids)
	}
}

// publicFacts returns the facts of testFacts, with the same subnets also for an internet-facing load balancer.
func publicFacts() observed.Facts {
	f := testFacts()
	for _, answer := range f.Subnets {
		q := model.AskSubnets{Discover: model.InternetFacing}
		f.Subnets[q.Key()] = answer
	}
	return f
}

// TestSecurityGroupsOfNLBAreNotAddedOrRemovedLater checks that no plan adds the first security group to an existing NLB or
// removes the last one, because AWS permits neither.
func TestSecurityGroupsOfNLBAreNotAddedOrRemovedLater(t *testing.T) {
	with := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
	without := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
	without.LoadBalancer.SecurityGroups = nil
	for _, c := range [][2]model.Stack{{with, without}, {without, with}} {
		have := converge(t, c[0], observed.Stack{Facts: frontendFacts()})
		p, found := planner.Make(c[1], have, testOptions, plan.Memory{})
		if slices.ContainsFunc(p.Steps, func(s plan.Step) bool { _, ok := s.Do.(plan.SetSecurityGroups); return ok }) || reasonsText(found) != "SettingFixed" {
			t.Errorf("findings %q, steps\n%s", reasonsText(found), p.Text())
		}
	}
}
