package properties

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

var planOptions = plan.Options{Cluster: "rig", VPC: "vpc-1", RuleTags: true, SubnetClusterCheck: true}

// emptyState returns an observed state without load balancers, with the facts that plans need.
func emptyState() observed.Stack {
	return observed.Stack{Facts: observed.Facts{
		Region: "us-west-2", Account: "1", CertificatesAsked: true,
		Certificates: []observed.Certificate{
			{ARN: "arn:aws:acm:us-west-2:1:certificate/1", Status: "ISSUED", Domains: []string{"a.example.com", "*.example.com"}},
			{ARN: "arn:aws:acm:us-west-2:1:certificate/2", Status: "ISSUED", Domains: []string{"b.example.com"}},
		},
		Subnets: map[string]observed.SubnetAnswer{}, SecurityGroups: map[string]observed.SecurityGroupAnswer{}, TargetGroups: map[string]string{"external": "arn:external"},
		AddOns: map[string]observed.AddOn{}, WebACLs: map[string]observed.WebACL{"acl": {ARN: "arn:aws:wafv2:us-west-2:1:regional/webacl/acl/2"}, "gone": {}},
		Subscription: &observed.Subscription{Active: true}, TrustStores: map[string]string{"store": "arn:store", "gone": ""},
		ALBTargets: map[string][]observed.Target{}, Health: map[string]observed.Health{},
	}}
}

var subnets = []observed.Subnet{
	{ID: "subnet-a", Name: "net-a", Zone: "a", ZoneType: "availability-zone", FreeIPs: 100, CIDR: "10.0.1.0/24"},
	{ID: "subnet-b", Name: "net-b", Zone: "b", ZoneType: "availability-zone", FreeIPs: 100, CIDR: "10.0.2.0/24"},
}

// answerQuestions adds the facts that the questions ask for to have. state returns the health state of the targets of a
// target group, by its ARN.
func answerQuestions(have *observed.Stack, asks []model.Question, state func(arn string) string) {
	f := &have.Facts
	for _, q := range asks {
		switch q := q.(type) {
		case model.AskSubnets:
			f.Subnets[q.Key()] = subnetAnswer(q)
		case model.AskVPC:
			f.VPCRanges = []string{"10.0.0.0/16", "2001:db8::/56"}
		case model.AskNamedSecurityGroups:
			a := observed.SecurityGroupAnswer{ByName: map[string][]string{}}
			for _, ref := range q.List {
				switch {
				case strings.HasPrefix(ref, "sg-"):
					a.ByID = append(a.ByID, ref)
				case ref == "extra":
					a.ByName[ref] = []string{"sg-extra"}
				default:
					a.Missing = append(a.Missing, ref)
				}
			}
			f.SecurityGroups[q.Key()] = a
		case model.AskHealth:
			f.Health[q.ARN] = observed.Health{Targets: []*observed.Target{{ID: "t", Port: 1, State: state(q.ARN)}}}
		case model.AskAddOn:
			if _, known := f.AddOns[q.Key()]; !known {
				f.AddOns[q.Key()] = observed.AddOn{}
			}
		case model.AskALBTargets:
			if _, known := f.ALBTargets[q.ARN]; !known {
				f.ALBTargets[q.ARN] = nil
			}
		case model.AskCapacity:
			for i := range have.LoadBalancers {
				if lb := &have.LoadBalancers[i]; lb.ARN == q.ARN && lb.Capacity == nil {
					lb.Capacity = new(int32)
				}
			}
		}
	}
}

func subnetAnswer(q model.AskSubnets) (a observed.SubnetAnswer) {
	if q.Refs == "" {
		return observed.SubnetAnswer{Candidates: subnets}
	}
	for ref := range strings.SplitSeq(q.Refs, ",") {
		i := slices.IndexFunc(subnets, func(s observed.Subnet) bool { return s.ID == ref || s.Name == ref })
		if i < 0 {
			a.Missing = append(a.Missing, ref)
			continue
		}
		a.Candidates = append(a.Candidates, subnets[i])
	}
	return a
}

// planWithAllAnswers returns a plan without questions. It adds the answers to the questions of want and of earlier plans to
// have.
func planWithAllAnswers(t *testing.T, want model.Stack, have *observed.Stack, state func(string) string) plan.Plan {
	t.Helper()
	answerQuestions(have, want.Questions(), state)
	for range 10 {
		p, _ := planner.Make(want, *have, planOptions, plan.Memory{})
		if len(p.Questions) == 0 {
			return p
		}
		answerQuestions(have, p.Questions, state)
	}
	t.Fatal("the plan still has questions after 10 answers")
	return plan.Plan{}
}

// runnableSteps returns the steps of p that do not have to wait, in an order in which they can be performed.
func runnableSteps(p plan.Plan) (out []plan.Step) {
	done := p.NewProgress()
	for _, s := range p.Steps {
		if s.Waits() || !done.CanStart(s) {
			continue
		}
		done.MarkDone(s.ID)
		out = append(out, s)
	}
	return out
}

// hasOnlyUserWaits reports whether p has no steps, or only steps that wait until a user corrects something, such as the name
// of a web ACL that does not exist.
func hasOnlyUserWaits(p plan.Plan) bool {
	return !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !strings.HasPrefix(s.Wait.For, "the next attempt for ") })
}

func alwaysHealthy(string) string { return "healthy" }

// stepState is the observed state after a step of a plan.
type stepState struct {
	have observed.Stack
	plan plan.Plan
	step plan.StepID
}

// converge makes and simulates plans until no steps are left, and fails the test after 30 plans. It returns the final state
// and the state after each step. If sick is not empty, the targets of target groups with sick in their ARN are not healthy
// during the first three plans.
func converge(t *testing.T, want model.Stack, have observed.Stack, sick string) (end observed.Stack, moments []stepState) {
	t.Helper()
	for pass := range 30 {
		have.Facts.Health = map[string]observed.Health{}
		p := planWithAllAnswers(t, want, &have, func(arn string) string {
			if pass < 3 && sick != "" && strings.Contains(arn, sick) {
				return "initial"
			}
			return "healthy"
		})
		steps := runnableSteps(p)
		if hasOnlyUserWaits(p) {
			return have, moments
		}
		if len(steps) == 0 && pass > 3 {
			t.Fatalf("no step of the plan can be performed:\n%s", p.Text())
		}
		for i := range steps {
			moments = append(moments, stepState{plantest.Simulate(have, p.KnownIDs, steps[:i+1]), p, steps[i].ID})
		}
		if len(steps) > 0 {
			have = moments[len(moments)-1].have
		}
	}
	p := planWithAllAnswers(t, want, &have, alwaysHealthy)
	t.Fatalf("steps are left after 30 plans:\n%s", p.Text())
	return have, moments
}
