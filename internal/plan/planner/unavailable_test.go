package planner_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

// withDeniedQuestions returns the observed state with AccessDenied as the answer to questions. action is the denied IAM
// action.
func withDeniedQuestions(have observed.Stack, action string, questions ...model.Question) observed.Stack {
	have.Facts.Faults = maps.Clone(have.Facts.Faults)
	if have.Facts.Faults == nil {
		have.Facts.Faults = map[string]observed.Fault{}
	}
	for _, q := range questions {
		have.Facts.Faults[q.Key()] = observed.Fault{Reason: finding.AccessDenied, Message: "AWS denies " + action, Action: action, RetryAfter: time.Minute}
	}
	return have
}

var deletedStack = model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}

// checkStepsAreHeld checks that a plan has none of the forbidden steps, reports the denial, has no question, and is made
// again after a minute.
func checkStepsAreHeld(t *testing.T, p plan.Plan, found finding.List, action string, forbidden ...string) {
	t.Helper()
	for _, s := range p.Steps {
		for _, f := range forbidden {
			if !s.Waits() && strings.HasPrefix(string(s.ID), f) {
				t.Errorf("%s is carried out", s.ID)
			}
		}
		if s.Wait.For == "an answer from AWS" && s.Wait.RetryAfter != time.Minute {
			t.Errorf("%s is looked at again after %v", s.ID, s.Wait.RetryAfter)
		}
	}
	if !slices.ContainsFunc(found, func(f finding.Finding) bool {
		return f.Object == testMember && strings.Contains(f.Fix, "add "+action+" to the controller's IAM policy")
	}) {
		t.Errorf("findings: %v", found)
	}
	if p.RetryAfter != time.Minute || len(p.Questions) > 0 {
		t.Errorf("made again after %v, asks %v", p.RetryAfter, p.Questions)
	}
}

func TestUnavailableTargetsOfTheFrontendNLBAreKept(t *testing.T) {
	want := withFrontendNLB(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), model.Internal, map[int32]int32{80: 80})
	have := converge(t, want, observed.Stack{Facts: frontendFacts()})
	arn := ""
	for _, g := range have.TargetGroups {
		if g.Type == model.ALBTargets {
			arn = g.ARN
		}
	}
	delete(have.Facts.ALBTargets, arn)
	denied := withDeniedQuestions(have, "elasticloadbalancing:DescribeTargetHealth", model.AskALBTargets{ARN: arn})
	t.Run("port of the ALB changes", func(t *testing.T) {
		moved := withFrontendNLB(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), model.Internal, map[int32]int32{81: 8080})
		moved.LoadBalancer.Listeners[0].Port = 8080
		p, found := planner.Make(moved, denied, testOptions, plan.Memory{})
		checkStepsAreHeld(t, p, found, "elasticloadbalancing:DescribeTargetHealth", "delete listener/"+have.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].ARN, "deregister", "delete target-group/"+arn)
	})
	t.Run("where all goes", func(t *testing.T) {
		p, found := planner.Make(deletedStack, denied, testOptions, plan.Memory{})
		checkStepsAreHeld(t, p, found, "elasticloadbalancing:DescribeTargetHealth", "release", "delete target-group/"+arn)
	})
}

func TestUnavailableSecurityGroupsAreKept(t *testing.T) {
	want := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	have := converge(t, want, observed.Stack{Facts: frontendFacts()})
	denied := withDeniedQuestions(have, "ec2:DescribeSecurityGroups", model.AskSecurityGroups{})
	forbidden := []string{"create security-group", "rules", "security-groups", "delete security-group", "create backend"}
	t.Run("client ranges change", func(t *testing.T) {
		next := withFinalizers(stackWithRules(forwardRule("/*", "g1"), forwardRule("/b", "g2")))
		g := next.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
		g.Group.Ingress = []model.IngressRule{{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8"}}
		next.LoadBalancer.SecurityGroups = g
		p, found := planner.Make(next, denied, testOptions, plan.Memory{})
		checkStepsAreHeld(t, p, found, "ec2:DescribeSecurityGroups", forbidden...)
		if !strings.Contains(stepIDsText(p), "create target-group/g2") {
			t.Errorf("the new rule is held too:\n%s", p.Text())
		}
	})
	t.Run("no load balancer exists", func(t *testing.T) {
		p, found := planner.Make(want, withDeniedQuestions(observed.Stack{Facts: frontendFacts()}, "ec2:DescribeSecurityGroups", model.AskSecurityGroups{}), testOptions, plan.Memory{})
		checkStepsAreHeld(t, p, found, "ec2:DescribeSecurityGroups", append(forbidden, "create load-balancer")...)
	})
	t.Run("where all goes", func(t *testing.T) {
		p, found := planner.Make(deletedStack, denied, testOptions, plan.Memory{})
		checkStepsAreHeld(t, p, found, "ec2:DescribeSecurityGroups", append(forbidden, "release")...)
		if !strings.Contains(stepIDsText(p), "delete load-balancer/") {
			t.Errorf("the load balancer stays:\n%s", p.Text())
		}
	})
}

func TestTrafficDoesNotMoveToTargetsOfUnknownHealth(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/*", "g1"))), observed.Stack{Facts: frontendFacts()})
	have.Facts.Health = nil
	var questions []model.Question
	for _, g := range have.TargetGroups {
		questions = append(questions, model.AskHealth{ARN: g.ARN})
	}
	p, found := planner.Make(withFinalizers(stackWithRules(forwardRule("/*", "g2"))), withDeniedQuestions(have, "elasticloadbalancing:DescribeTargetHealth", questions...), testOptions, plan.Memory{})
	checkStepsAreHeld(t, p, found, "elasticloadbalancing:DescribeTargetHealth", "delete", "switch")
	r := request{80, "a.example.com", "/"}
	before := outcome(have, r)
	ready := slices.DeleteFunc(stepsInOrder(p), plan.Step.Waits)
	if after := outcome(plantest.Simulate(have, p.KnownIDs, ready), r); after != before {
		t.Errorf("requests are answered by %s, before by %s:\n%s", after, before, p.Text())
	}
}

func TestFinalizerStaysWhileCertificatesAreUnavailable(t *testing.T) {
	opt := testOptions
	opt.ManageCertificates = true
	have := withDeniedQuestions(observed.Stack{Facts: frontendFacts()}, "acm:ListCertificates", model.AskOwnCertificates{})
	p, found := planner.Make(deletedStack, have, opt, plan.Memory{})
	checkStepsAreHeld(t, p, found, "acm:ListCertificates", "release")
}
