package planner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// stackWithRules returns the desired state of a load balancer with one listener that has the given rules.
func stackWithRules(rules ...model.Rule) model.Stack {
	s := model.Stack{
		ID: testStackID, Members: []model.Member{{Ref: testMember, Finalizer: "f"}},
		BackendSecurityGroup: model.BackendSecurityGroupUse{Needed: true},
		LoadBalancer: &model.LoadBalancer{
			Name: "lb", Scheme: model.Internal, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{},
			SecurityGroups: model.SecurityGroupsManaged{Backend: true, Group: model.SecurityGroup{
				Name: "sg", Ingress: []model.IngressRule{{Protocol: "tcp", From: 80, To: 80, CIDR: "0.0.0.0/0"}},
			}},
			Listeners: []model.Listener{{Port: 80, Default: []model.Action{plan.NotFoundResponse}, Rules: rules, Members: []finding.Ref{testMember}}},
		},
	}
	for _, r := range rules {
		for _, a := range r.Actions {
			if f, ok := a.(model.Forward); ok {
				for _, g := range f.Groups {
					if s.TargetGroup(g.Group.ID) != nil {
						continue
					}
					s.TargetGroups = append(s.TargetGroups, model.TargetGroup{
						ID: g.Group.ID, Name: g.Group.ID, Type: model.IPTargets, Port: 80, Protocol: "HTTP", AddressType: model.IPv4,
						Binding: &model.Binding{Namespace: "shop", Name: g.Group.ID, Service: g.Group.ID}, Members: []finding.Ref{testMember},
					})
				}
			}
		}
	}
	return s
}

func forwardRule(path, group string) model.Rule {
	return model.Rule{
		Conditions: []model.Condition{model.PathPattern{Values: []string{path}}},
		Actions:    []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: group}}}}},
		Member:     testMember, Origin: finding.Origin{Object: testMember, Field: "spec.rules[0].http.paths[0]"},
	}
}

// withFinalizers returns the desired state after its members got the finalizer.
func withFinalizers(s model.Stack) model.Stack {
	for i := range s.Members {
		s.Members[i].Claimed = true
	}
	return s
}

func stepIDsText(p plan.Plan) string {
	var out []string
	for _, s := range p.Steps {
		out = append(out, string(s.ID))
	}
	return strings.Join(out, "\n")
}

func TestFirstPlanAddsFinalizerAndCreatesResourcesInOrder(t *testing.T) {
	p, found := planner.Make(stackWithRules(forwardRule("/*", "g1")), observed.Stack{Facts: testFacts()}, testOptions, plan.Memory{})
	if len(found) > 0 {
		t.Fatalf("findings: %v", found)
	}
	want := strings.Join([]string{
		"claim finalizer/Ingress shop/web",
		"create security-group/ManagedLBSecurityGroup",
		"rules security-group/ManagedLBSecurityGroup",
		"create backend-security-group/backend-sg",
		"create load-balancer/LoadBalancer",
		"create target-group/g1",
		"bind binding/g1",
		"create listener/80",
		"create rule/80:1",
	}, "\n")
	if got := stepIDsText(p); got != want {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

func TestNothingIsPlannedForAnEmptyStack(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: testFacts()})
	if p, _ := planner.Make(model.Stack{ID: testStackID}, have, testOptions, plan.Memory{}); !p.Empty() {
		t.Errorf("want no steps, got\n%s", p.Text())
	}
}

func TestDeletionRemovesTheFinalizerLast(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: testFacts()})
	gone := model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
	p, _ := planner.Make(gone, have, testOptions, plan.Memory{})
	order := []string{"delete load-balancer/", "unbind binding/", "delete target-group/", "delete security-group/", "delete backend-security-group/", "release finalizer/"}
	at := -1
	ids := stepIDsText(p)
	for _, o := range order {
		i := strings.Index(ids, o)
		if i <= at {
			t.Fatalf("%q is not in its place:\n%s", o, ids)
		}
		at = i
	}
	for _, s := range stepsInOrder(p) {
		if s.Address.Kind == plan.Finalizer {
			t.Errorf("the finalizer is released while a binding is still there:\n%s", p.Text())
		}
	}
}

func TestProtectionOfADeletedMemberKeepsTheLoadBalancer(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: testFacts()})
	guard := finding.Finding{Object: testMember, Reason: finding.DeletionProtected, Blocks: finding.BlocksStack}
	gone := model.Stack{ID: testStackID, DeletionGuard: &guard, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
	p, found := planner.Make(gone, have, testOptions, plan.Memory{})
	if !p.Empty() || len(found) != 1 || found[0].Reason != finding.DeletionProtected {
		t.Errorf("want no steps and one finding, got %v and\n%s", found, p.Text())
	}
}

func TestMissingCertificateHoldsOnlyItsMember(t *testing.T) {
	other := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "tenth"}
	desired := stackWithRules(forwardRule("/a", "g1"))
	l := &desired.LoadBalancer.Listeners[0]
	l.Port = 443
	l.TLS = &model.TLS{Policy: "p", Certificates: []model.CertChoice{
		model.CertARNs{Member: testMember, ARNs: []string{"arn:aws:acm:us-west-2:1:certificate/good"}},
		model.CertARNs{Member: other, ARNs: []string{"arn:aws:acm:us-west-2:1:certificate/gone"}, Field: "certificate-arn"},
	}}
	bad := forwardRule("/b", "g2")
	bad.Member = other
	l.Rules = append(l.Rules, bad)
	facts := testFacts()
	facts.Region, facts.Account, facts.CertificatesAsked = "us-west-2", "1", true
	facts.Certificates = []observed.Certificate{{ARN: "arn:aws:acm:us-west-2:1:certificate/good", Status: "ISSUED"}}
	p, found := planner.Make(desired, observed.Stack{Facts: facts}, testOptions, plan.Memory{})
	if len(found) != 1 || found[0].Object != other || found[0].Reason != finding.CertificateNotFound {
		t.Fatalf("want one finding on %s, got %v", other, found)
	}
	for _, s := range p.Steps {
		c, ok := s.Do.(plan.CreateRule)
		if !ok {
			continue
		}
		_, held := c.Rule.Actions[0].(model.FixedResponse)
		if held != (c.Rule.Member == other) {
			t.Errorf("rule of %s: held is %v", c.Rule.Member, held)
		}
	}
}

func TestNothingIsCreatedIfEveryRuleIsHeld(t *testing.T) {
	bad := forwardRule("/b", "g2")
	bad.Held = model.HeldInvalid
	p, _ := planner.Make(stackWithRules(bad), observed.Stack{Facts: testFacts()}, testOptions, plan.Memory{})
	if got, want := stepIDsText(p), "claim finalizer/Ingress shop/web"; got != want {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
}

func TestNoTargetGroupIsCreatedForAHeldRule(t *testing.T) {
	bad := forwardRule("/b", "g2")
	bad.Held = model.HeldInvalid
	p, _ := planner.Make(withFinalizers(stackWithRules(forwardRule("/a", "g1"), bad)), observed.Stack{Facts: testFacts()}, testOptions, plan.Memory{})
	if ids := stepIDsText(p); strings.Contains(ids, "g2") || !strings.Contains(ids, "create target-group/g1") {
		t.Errorf("want g1 and not g2, got\n%s", ids)
	}
}

// TestBindingOfAnotherNamespaceIsNotUsed checks that a binding of another namespace is not used, because any user may set
// the labels of the controller on a binding in their own namespace.
func TestBindingOfAnotherNamespaceIsNotUsed(t *testing.T) {
	desired := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
	have := converge(t, desired, observed.Stack{Facts: testFacts()})
	if len(have.Bindings) != 1 {
		t.Fatalf("%d bindings", len(have.Bindings))
	}
	have.Bindings[0].Namespace = "other"
	p := planUntilNoQuestions(t, desired, &have, func(string) string { return "healthy" })
	if diff := cmp.Diff("bind binding/g1", stepIDsText(p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
