package planner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

func TestBackendSecurityGroupKeepsForeignTags(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	desired.BackendSecurityGroup.Tags = map[string]string{"team": "a"}
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	have.Facts.BackendSecurityGroup.Tags["foreign"] = "x"
	if p, _ := planner.Make(desired, have, testOptions, plan.Memory{}); !p.Empty() {
		t.Errorf("want no steps, got\n%s", p.Text())
	}
	desired.BackendSecurityGroup.Tags = map[string]string{"team": "b", "cost": "1", "elsewhere": "set"}
	opt := testOptions
	opt.ExternalTags = []string{"elsewhere"}
	p, _ := planner.Make(desired, have, opt, plan.Memory{})
	have = plantest.Simulate(have, p.KnownIDs, p.Steps)
	want := map[string]string{"team": "b", "cost": "1", "foreign": "x", "elbv2.k8s.aws/cluster": "rig", "elbv2.k8s.aws/resource": model.BackendSecurityGroupID}
	if d := cmp.Diff(want, have.Facts.BackendSecurityGroup.Tags); d != "" || len(p.Steps) != 1 {
		t.Errorf("%s\n%s", d, p.Text())
	}
}

// TestLiveSecurityGroupsAreKeptIfNamedGroupsDoNotExist checks that, while the named security groups do not exist, the
// current security groups and the rules that depend on them are retained, and all other changes are made.
func TestLiveSecurityGroupsAreKeptIfNamedGroupsDoNotExist(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: testFacts()})
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1"), forwardRule("/b", "g2")))
	desired.LoadBalancer.SecurityGroups = model.SecurityGroupsGiven{Refs: []string{"no-such"}}
	have.Facts.Health = map[string]observed.Health{}
	p := planUntilNoQuestions(t, desired, &have, func(string) string { return "healthy" })
	for _, s := range p.Steps {
		switch s.Do.(type) {
		case plan.SetSecurityGroups, plan.ChangeIngress, plan.DeleteSecurityGroup:
			t.Errorf("want no %s", s.ID)
		case plan.PutBinding:
			if s.Verb != plan.Create {
				t.Errorf("want no %s", s.ID)
			}
		}
	}
	if !hasStep(p, "create target-group/g2") {
		t.Errorf("want g2 to be made, got\n%s", p.Text())
	}
}

func hasStep(p plan.Plan, id plan.StepID) bool {
	for _, s := range p.Steps {
		if s.ID == id {
			return true
		}
	}
	return false
}

// countRulesByPort returns the number of rules in the managed security groups, by port.
func countRulesByPort(have observed.Stack) map[int32]int {
	out := map[int32]int{}
	for _, g := range have.SecurityGroups {
		for _, r := range g.Ingress {
			out[r.From]++
		}
	}
	return out
}

// TestPortIsOpenedWhenItsListenerCanBeCreated checks that the port of a listener without a certificate is opened only when
// the listener can be created, and is not closed while the listener exists.
func TestPortIsOpenedWhenItsListenerCanBeCreated(t *testing.T) {
	withTLS := func(certificate string) model.Stack {
		s := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
		secure := s.LoadBalancer.Listeners[0]
		secure.Port = 443
		secure.TLS = &model.TLS{Policy: "p", Certificates: []model.CertChoice{
			model.CertARNs{Member: testMember, ARNs: []string{certificate}, Field: "certificate-arn"},
		}}
		s.LoadBalancer.Listeners = append(s.LoadBalancer.Listeners, secure)
		managed := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
		managed.Group.Ingress = append(managed.Group.Ingress, model.IngressRule{Protocol: "tcp", From: 443, To: 443, CIDR: "0.0.0.0/0"})
		s.LoadBalancer.SecurityGroups = managed
		return s
	}
	const good, gone = "arn:aws:acm:us-west-2:1:certificate/good", "arn:aws:acm:us-west-2:1:certificate/gone"
	facts := testFacts()
	facts.Region, facts.Account, facts.CertificatesAsked = "us-west-2", "1", true
	facts.Certificates = []observed.Certificate{{ARN: good, Status: "ISSUED"}}
	plain := withFinalizers(stackWithRules(forwardRule("/*", "g1")))

	have := converge(t, plain, observed.Stack{Facts: facts})
	have = converge(t, withTLS(gone), have)
	if d := cmp.Diff(map[int32]int{80: 1}, countRulesByPort(have)); d != "" {
		t.Errorf("port 443 has no listener yet: %s", d)
	}
	if p, found := planner.Make(plain, have, testOptions, plan.Memory{}); !p.Empty() || reasonsText(found) != "" {
		t.Errorf("the port is given up: findings %q, steps\n%s", reasonsText(found), p.Text())
	}

	// A port that an earlier version of the controller opened is closed, and is not reported as a rule of another user.
	early := have
	early.SecurityGroups = append([]observed.SecurityGroup{}, have.SecurityGroups...)
	early.SecurityGroups[0].Ingress = withTLS(gone).LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged).Group.Ingress
	if p, found := planner.Make(withTLS(gone), early, testOptions, plan.Memory{}); !hasStep(p, "rules security-group/ManagedLBSecurityGroup") || reasonsText(found) != "CertificateNotFound" {
		t.Errorf("opened early: findings %q, steps\n%s", reasonsText(found), p.Text())
	}

	both := map[int32]int{80: 1, 443: 1}
	have = converge(t, withTLS(good), have)
	if d := cmp.Diff(both, countRulesByPort(have)); d != "" {
		t.Errorf("port 443 is served: %s", d)
	}
	have = converge(t, withTLS(gone), have)
	if d := cmp.Diff(both, countRulesByPort(have)); d != "" {
		t.Errorf("port 443 is still live: %s", d)
	}
	have = converge(t, plain, have)
	if d := cmp.Diff(map[int32]int{80: 1}, countRulesByPort(have)); d != "" {
		t.Errorf("port 443 is given up: %s", d)
	}
}

// TestHeldPortOfNetworkLoadBalancerIsNotOpened checks that the port of a held listener of an NLB is not opened if the
// listener was never created.
func TestHeldPortOfNetworkLoadBalancerIsNotOpened(t *testing.T) {
	want := networkStack(model.Internal, map[int32]model.BaseProtocol{53: model.UDP, 80: model.TCP})
	want.LoadBalancer.Listeners[0].DefaultHeld = model.HeldInvalid
	have := converge(t, want, observed.Stack{Facts: frontendFacts()})
	if d := cmp.Diff(map[int32]int{80: 1}, countRulesByPort(have)); d != "" {
		t.Errorf("port 53 is held: %s", d)
	}
	want.LoadBalancer.Listeners[0].DefaultHeld = 0
	have = converge(t, want, have)
	if d := cmp.Diff(map[int32]int{53: 1, 80: 1}, countRulesByPort(have)); d != "" {
		t.Errorf("port 53 is served: %s", d)
	}
	want.LoadBalancer.Listeners[0].DefaultHeld = model.HeldInvalid
	have = converge(t, want, have)
	if d := cmp.Diff(map[int32]int{53: 1, 80: 1}, countRulesByPort(have)); d != "" {
		t.Errorf("port 53 is live: %s", d)
	}
}
