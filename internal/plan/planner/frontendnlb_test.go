package planner_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// withFrontendNLB adds a frontend NLB to an ALB. ports maps ports of the NLB to ports of the ALB.
func withFrontendNLB(s model.Stack, scheme model.Scheme, ports map[int32]int32) model.Stack {
	s.FrontendNLB = &model.LoadBalancer{
		Type: model.Network, Name: "lb-nlb", Scheme: scheme, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{}, SecurityGroups: model.SecurityGroupsShared{},
	}
	for _, p := range slices.Sorted(maps.Keys(ports)) {
		id := naming.FrontendTargetGroupID(p)
		l := model.Listener{Port: p, BaseProtocol: model.TCP, Members: []finding.Ref{testMember}, Default: []model.Action{
			model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: id}}}},
		}}
		s.FrontendNLB.Listeners = append(s.FrontendNLB.Listeners, l)
		s.TargetGroups = append(s.TargetGroups, model.TargetGroup{
			ID: id, Name: fmt.Sprintf("front-%d-%d", p, ports[p]), Type: model.ALBTargets, Port: ports[p], Protocol: "TCP", AddressType: model.IPv4,
			Members: l.Members,
		})
	}
	return s
}

func frontendFacts() observed.Facts {
	f := addOnFacts()
	answer := f.Subnets[model.SubnetQuestion(model.SubnetsDiscovered{}, model.Internal, false).Key()]
	for _, scheme := range []model.Scheme{model.Internal, model.InternetFacing} {
		for _, nlb := range []bool{false, true} {
			f.Subnets[model.SubnetQuestion(model.SubnetsDiscovered{}, scheme, nlb).Key()] = answer
		}
	}
	f.ALBTargets = map[string][]observed.Target{}
	return f
}

// albPortsByNLBPort returns the port of the ALB that each port of the frontend NLB forwards to.
func albPortsByNLBPort(have observed.Stack) map[int32]int32 {
	lb := have.LiveLoadBalancer(model.FrontendNLBID)
	if lb == nil {
		return nil
	}
	out := map[int32]int32{}
	for _, l := range lb.Listeners {
		arn := l.Default[0].(model.Forward).Groups[0].Group.ARN
		for _, t := range have.Facts.ALBTargets[arn] {
			if t.ID == have.LiveLoadBalancer(model.LoadBalancerID).ARN {
				out[l.Port] = t.Port
			}
		}
	}
	return out
}

func withRandomFrontendNLB(r *rand.Rand, s model.Stack) model.Stack {
	if r.IntN(4) == 0 {
		return s
	}
	ports := map[int32]int32{}
	for _, l := range s.LoadBalancer.Listeners {
		for _, p := range []int32{80, 443, 8443}[:1+r.IntN(3)] {
			ports[p] = l.Port
		}
	}
	return withFrontendNLB(s, []model.Scheme{model.Internal, model.InternetFacing}[r.IntN(2)], ports)
}

func TestFrontendNLBConvergesAndIsDeleted(t *testing.T) {
	seeds.Each(t, 250, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		have := observed.Stack{Facts: frontendFacts()}
		for range 4 {
			want := randomDesired(r)
			want.LoadBalancer.Scheme = []model.Scheme{model.Internal, model.InternetFacing}[r.IntN(2)]
			want = withRandomFrontendNLB(r, want)
			have = converge(t, want, have)
			if lb := have.LiveLoadBalancer(model.LoadBalancerID); lb == nil || lb.Scheme != want.LoadBalancer.Scheme {
				continue // all rules are held, so there is nothing to serve
			}
			asked := map[int32]int32(nil)
			if want.FrontendNLB != nil {
				asked = map[int32]int32{}
				for _, l := range want.FrontendNLB.Listeners {
					asked[l.Port] = want.TargetGroup(l.DefaultTargetGroupID()).Port
				}
			}
			if got := albPortsByNLBPort(have); !maps.Equal(got, asked) {
				t.Fatalf("seed %d: want %v, got %v", seed, asked, got)
			}
		}
		empty := model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
		for range 4 {
			p := planUntilNoQuestions(t, empty, &have, func(string) string { return "healthy" })
			have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
		}
		if len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups)+len(have.Bindings) > 0 {
			t.Fatalf("seed %d: deletion leaves %d load balancers, %d target groups", seed, len(have.LoadBalancers), len(have.TargetGroups))
		}
	})
}

func TestUnavailableFactsHoldOnlyTheFrontendNLB(t *testing.T) {
	first := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	have := converge(t, withFrontendNLB(first, model.InternetFacing, map[int32]int32{80: 80}), observed.Stack{Facts: frontendFacts()})
	for name, edit := range map[string]func(s *model.Stack, f *model.LoadBalancer){
		"held": func(s *model.Stack, _ *model.LoadBalancer) { s.Held.Frontend = true },
		"missing subnets": func(_ *model.Stack, f *model.LoadBalancer) {
			f.Subnets = model.SubnetsNamed{Refs: []string{"subnet-x"}}
		},
		"missing group": func(_ *model.Stack, f *model.LoadBalancer) {
			f.SecurityGroups = model.SecurityGroupsGiven{Refs: []string{"sg-x"}}
		},
		"too few addresses": func(_ *model.Stack, f *model.LoadBalancer) {
			f.Addresses = []string{"eipalloc-1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := withFrontendNLB(withFinalizers(stackWithRules(forwardRule("/*", "g1"), forwardRule("/b", "g2"))), model.Internal, nil)
			edit(&want, want.FrontendNLB)
			if want.Held.Frontend {
				want.FrontendNLB.Scheme = model.InternetFacing
			}
			p := planUntilNoQuestions(t, want, &have, func(string) string { return "healthy" })
			for _, s := range p.Steps {
				if s.Address.ID == model.FrontendNLBID || want.Held.Frontend && strings.Contains(string(s.ID), "Frontend") {
					t.Errorf("a step changes the frontend NLB: %s", s.ID)
				}
			}
			if !want.Held.Frontend && !strings.Contains(stepIDsText(p), "delete listener/listener/FrontendNlb-ls-TCP-80") {
				t.Errorf("the surplus port of the frontend NLB is not deleted:\n%s", p.Text())
			}
			if !strings.Contains(stepIDsText(p), "create target-group/g2") {
				t.Errorf("the ALB is not served:\n%s", p.Text())
			}
		})
	}
}

func TestFrontendPortsOfInvalidMembersAreKept(t *testing.T) {
	want := withFrontendNLB(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), model.Internal, map[int32]int32{80: 80, 8080: 80})
	have := converge(t, want, observed.Stack{Facts: frontendFacts()})
	want = withFrontendNLB(withFinalizers(stackWithRules(forwardRule("/*", "g1"))), model.Internal, map[int32]int32{80: 80})
	want.Held.FrontendPorts = true
	have.SecurityGroups[0].Ingress = append(have.SecurityGroups[0].Ingress, model.IngressRule{Protocol: "tcp", From: 8080, To: 8080, CIDR: "10.0.0.0/8"})
	if p := planUntilNoQuestions(t, want, &have, func(string) string { return "healthy" }); !p.Empty() {
		t.Errorf("want no steps, got\n%s", p.Text())
	}
}

// TestPreviousALBIsDeletedAfterItsFrontendNLB checks that a previous ALB is retained until the previous frontend NLB, which
// forwards to it, is deleted, even if clients of the ALB have had enough time to switch to the new ALB.
func TestPreviousALBIsDeletedAfterItsFrontendNLB(t *testing.T) {
	t.Parallel()
	in := func(scheme model.Scheme) model.Stack {
		s := withFrontendNLB(withDesiredScheme(scheme, withFinalizers(stackWithRules(forwardRule("/*", "g1")))), scheme, map[int32]int32{80: 80})
		s.FrontendNLB.Name += "-" + string(scheme)
		s.FrontendNLB.Origins = map[string]finding.Origin{"scheme": {Object: testMember, Field: "frontend-nlb-scheme"}}
		return s
	}
	r := newReplacementTest(observed.Stack{Facts: frontendFacts()})
	r.run(t, in(model.Internal), time.Minute)
	alb, nlb := r.have.LiveLoadBalancer(model.LoadBalancerID).ARN, r.have.LiveLoadBalancer(model.FrontendNLBID).ARN
	r.run(t, in(model.InternetFacing), time.Minute)
	for i := range r.have.LoadBalancers {
		if lb := &r.have.LoadBalancers[i]; lb.ARN == nlb {
			lb.Tags = maps.Clone(lb.Tags)
			lb.Tags[naming.ReplacedTag] = r.have.Facts.Now.Add(5 * time.Minute).Format(time.RFC3339) // as if its deletion were delayed
		}
	}
	r.afterStep = func(p plan.Plan, step plan.StepID) {
		if len(withOnlyLoadBalancer(r.have, nlb).LoadBalancers) > 0 && len(withOnlyLoadBalancer(r.have, alb).LoadBalancers) == 0 {
			t.Fatalf("after %s the frontend NLB forwards to a deleted ALB\n%s", step, p.Text())
		}
	}
	if p := r.run(t, in(model.InternetFacing), time.Hour); len(r.have.LoadBalancers) != 2 || !p.Empty() {
		t.Errorf("%d load balancers\n%s", len(r.have.LoadBalancers), p.Text())
	}
}
