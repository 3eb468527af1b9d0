package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

var (
	testStackID = model.StackID{Kind: model.Ingress, Name: "shop"}
	testOptions = plan.Options{Cluster: "rig", VPC: "vpc-1", RuleTags: true, SubnetClusterCheck: true}
	testMember  = finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
)

var testHosts = []string{"", "a.example.com", "b.example.com", "*.example.com"}
var testPaths = []string{"/*", "/a", "/a/*", "/b/*", "/a/x"}
var testTargetGroupIDs = []string{"g1", "g2", "g3", "g4"}

// randomDesired returns the desired state of a load balancer with one or two listeners and few different hosts, paths
// and target groups, so that rules often overlap.
func randomDesired(r *rand.Rand) model.Stack {
	s := model.Stack{ID: testStackID, Members: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true}}}
	alb := &model.LoadBalancer{
		Name: "lb", Scheme: model.Internal, AddressType: model.IPv4, Subnets: model.SubnetsDiscovered{},
		SecurityGroups: model.SecurityGroupsManaged{Group: model.SecurityGroup{Name: "sg"}, Backend: true},
	}
	s.BackendSecurityGroup.Needed = true
	used := map[string]bool{}
	forward := func() []model.Action {
		f := model.Forward{}
		n := 1 + r.IntN(2)
		for _, i := range r.Perm(len(testTargetGroupIDs))[:n] {
			g := testTargetGroupIDs[i]
			used[g] = true
			w := model.WeightedTargetGroup{Group: model.TargetGroupRef{ID: g}}
			if n > 1 {
				x := int32(1 + r.IntN(3))
				w.Weight = &x
			}
			f.Groups = append(f.Groups, w)
		}
		return []model.Action{f}
	}
	for _, port := range []int32{80, 443}[:1+r.IntN(2)] {
		l := model.Listener{Port: port, Default: []model.Action{plan.NotFoundResponse}, Members: []finding.Ref{testMember}}
		if r.IntN(4) == 0 {
			l.Default = forward()
			l.DefaultOf = finding.Origin{Object: testMember, Field: "spec.defaultBackend"}
		}
		for range r.IntN(6) {
			var cs []model.Condition
			if h := testHosts[r.IntN(len(testHosts))]; h != "" {
				cs = append(cs, model.HostHeader{Values: []string{h}})
			}
			cs = append(cs, model.PathPattern{Values: []string{testPaths[r.IntN(len(testPaths))]}})
			if slices.ContainsFunc(l.Rules, func(o model.Rule) bool { return equal.SameConditions(o.Conditions, cs) }) {
				continue
			}
			rule := model.Rule{
				Conditions: cs, Actions: forward(), Member: testMember,
				Origin: finding.Origin{Object: testMember, Field: fmt.Sprintf("rule %d", len(l.Rules))},
			}
			if r.IntN(12) == 0 {
				rule.Held = model.HeldInvalid
			}
			l.Rules = append(l.Rules, rule)
		}
		alb.Listeners = append(alb.Listeners, l)
	}
	// The same target group ID may get another target type in the next desired state, which replaces the target group.
	for _, g := range testTargetGroupIDs {
		if used[g] {
			s.TargetGroups = append(s.TargetGroups, model.TargetGroup{
				ID: g, Name: g, Type: []model.TargetType{model.IPTargets, model.InstanceTargets}[r.IntN(2)], Port: 80, Protocol: "HTTP",
				Binding: &model.Binding{Namespace: "shop", Name: g, Service: g}, Members: []finding.Ref{testMember},
			})
		}
	}
	s.LoadBalancer = alb
	return s
}

func testFacts() observed.Facts {
	f := observed.Facts{Health: map[string]observed.Health{}}
	key := model.Stack{LoadBalancer: &model.LoadBalancer{Scheme: model.Internal, Subnets: model.SubnetsDiscovered{}}}.Questions()
	f.Subnets = map[string]observed.SubnetAnswer{}
	for _, q := range key {
		if _, ok := q.(model.AskSubnets); ok {
			f.Subnets[q.Key()] = observed.SubnetAnswer{Candidates: []observed.Subnet{
				{ID: "subnet-a", Zone: "a", ZoneType: "availability-zone", FreeIPs: 100},
				{ID: "subnet-b", Zone: "b", ZoneType: "availability-zone", FreeIPs: 100},
			}}
		}
	}
	return f
}

// answerQuestions answers the questions of a plan. state returns the state of the targets of a target group.
func answerQuestions(have *observed.Stack, asks []model.Question, state func(arn string) string) {
	for _, q := range asks {
		if a, ok := q.(model.AskALBTargets); ok {
			if have.Facts.ALBTargets == nil {
				have.Facts.ALBTargets = map[string][]observed.Target{}
			}
			have.Facts.ALBTargets[a.ARN] = nil
		}
		if a, ok := q.(model.AskAddOn); ok {
			if have.Facts.AddOns == nil {
				have.Facts.AddOns = map[string]observed.AddOn{}
			}
			have.Facts.AddOns[a.Key()] = observed.AddOn{}
		}
		if h, ok := q.(model.AskHealth); ok {
			one := observed.Target{ID: "t", Port: 1, State: state(h.ARN)}
			if one.State == "unused" {
				one.Reason = "Target.NotInUse"
			}
			have.Facts.Health[h.ARN] = observed.Health{Targets: []*observed.Target{&one}}
		}
	}
}

// planUntilNoQuestions makes plans and answers their questions until a plan has no question.
func planUntilNoQuestions(t *testing.T, want model.Stack, have *observed.Stack, state func(string) string) plan.Plan {
	t.Helper()
	for range 10 {
		p, _ := planner.Make(want, *have, testOptions, plan.Memory{})
		if len(p.Questions) == 0 {
			return p
		}
		answerQuestions(have, p.Questions, state)
	}
	p, _ := planner.Make(want, *have, testOptions, plan.Memory{})
	t.Fatalf("the plan keeps asking %#v", p.Questions)
	return plan.Plan{}
}

func stepsInOrder(p plan.Plan) []plan.Step {
	done := p.NewProgress()
	var out []plan.Step
	for _, s := range p.Steps {
		if s.Waits() || !done.CanStart(s) {
			continue
		}
		done.MarkDone(s.ID)
		out = append(out, s)
	}
	return out
}

// converge carries out plans until a plan is empty, with all targets healthy.
func converge(t *testing.T, want model.Stack, have observed.Stack) observed.Stack {
	t.Helper()
	healthy := func(string) string { return "healthy" }
	for range 20 {
		have.Facts.Health = map[string]observed.Health{}
		p := planUntilNoQuestions(t, want, &have, healthy)
		steps := stepsInOrder(p)
		if len(steps) == 0 {
			if len(p.Steps) > 0 {
				t.Fatalf("the plan waits for ever:\n%s", p.Text())
			}
			return have
		}
		have = plantest.Simulate(have, p.KnownIDs, steps)
	}
	p := planUntilNoQuestions(t, want, &have, healthy)
	t.Fatalf("no end of the plan:\n%s", p.Text())
	return have
}

type request struct {
	port       int32
	host, path string
}

// allRequests cover every host, path and port of the random load balancers.
var allRequests = func() (out []request) {
	for _, port := range []int32{80, 443} {
		for _, h := range []string{"a.example.com", "b.example.com", "c.example.com", "other.test"} {
			for _, p := range []string{"/", "/a", "/a/x", "/a/y", "/b/z"} {
				out = append(out, request{port, h, p})
			}
		}
	}
	return out
}()

func allOutcomes(have observed.Stack) []string {
	out := make([]string, len(allRequests))
	for i, q := range allRequests {
		out[i] = outcome(have, q)
	}
	return out
}

// listenersOf returns the listeners of the load balancer. Outcomes depend only on them, and most steps do not change
// them.
func listenersOf(have observed.Stack) []observed.Listener {
	if lb := have.LiveLoadBalancer(model.LoadBalancerID); lb != nil {
		return lb.Listeners
	}
	return nil
}

// outcome returns the answer to a request: the target groups that it is forwarded to, or the status.
func outcome(have observed.Stack, q request) string {
	lb := have.LiveLoadBalancer(model.LoadBalancerID)
	if lb == nil {
		return "nothing"
	}
	for _, l := range lb.Listeners {
		if l.Port != q.port {
			continue
		}
		for _, r := range l.Rules {
			if conditionsMatch(r.Conditions, q) {
				return answerText(r.Actions)
			}
		}
		return answerText(l.Default)
	}
	return "nothing"
}

func conditionsMatch(cs []model.Condition, q request) bool {
	for _, c := range cs {
		var values []string
		subject := q.path
		switch c := c.(type) {
		case model.HostHeader:
			values, subject = c.Values, q.host
		case model.PathPattern:
			values = c.Values
		}
		if !slices.ContainsFunc(values, func(v string) bool { return globMatches(v, subject) }) {
			return false
		}
	}
	return true
}

// globMatches reports whether a pattern with * and ? matches all of s.
func globMatches(pattern, s string) bool {
	for pattern != "" && pattern[0] != '*' {
		if s == "" || pattern[0] != '?' && pattern[0] != s[0] {
			return false
		}
		pattern, s = pattern[1:], s[1:]
	}
	if pattern == "" {
		return s == ""
	}
	for i := range len(s) + 1 {
		if globMatches(pattern[1:], s[i:]) {
			return true
		}
	}
	return false
}

func answerText(as []model.Action) string {
	switch a := as[len(as)-1].(type) {
	case model.Forward:
		var out []string
		for i, g := range a.Groups {
			if n := equal.EffectiveWeight(a.Groups, i); n > 0 {
				out = append(out, fmt.Sprintf("%s:%d", g.Group.ARN, n))
			}
		}
		if len(out) == 1 {
			out[0], _, _ = strings.Cut(out[0], ":")
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	case model.FixedResponse:
		return "fixed " + a.Status
	}
	return "redirect"
}

func TestPlanIsEmptyAfterItsStepsAreCarriedOut(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 500, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		have := observed.Stack{Facts: testFacts()}
		for range 3 {
			have = converge(t, randomDesired(r), have)
		}
		empty := model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
		for range 4 {
			p := planUntilNoQuestions(t, empty, &have, func(string) string { return "healthy" })
			have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
		}
		if len(have.LoadBalancers)+len(have.TargetGroups)+len(have.SecurityGroups)+len(have.Bindings) > 0 || have.Facts.BackendSecurityGroup != nil {
			t.Fatalf("seed %d: deletion leaves %s", seed, cmp.Diff(observed.Stack{}, have))
		}
	})
}

func TestInterruptedPlanGivesOldOrNewAnswers(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 1000, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		have := converge(t, randomDesired(r), observed.Stack{Facts: testFacts()})
		before := have
		want := randomDesired(r)
		// In the first three passes, one of the target groups may have no healthy target yet.
		sick := testTargetGroupIDs[r.IntN(len(testTargetGroupIDs))]
		if r.IntN(3) == 0 {
			sick = "none"
		}
		type moment struct {
			have observed.Stack
			pass int
			step plan.StepID
			p    plan.Plan
		}
		var moments []moment
		for pass := range 20 {
			have.Facts.Health = map[string]observed.Health{}
			p := planUntilNoQuestions(t, want, &have, func(arn string) string {
				if pass < 3 && strings.Contains(arn, sick) {
					return "initial"
				}
				return "healthy"
			})
			steps := stepsInOrder(p)
			for i := range steps {
				moments = append(moments, moment{plantest.Simulate(have, p.KnownIDs, steps[:i+1]), pass, steps[i].ID, p})
			}
			if len(steps) > 0 {
				have = moments[len(moments)-1].have
			} else if len(p.Steps) == 0 {
				break
			}
		}
		was, will := allOutcomes(before), allOutcomes(have)
		var now seeds.LastValueCache[[]observed.Listener, []string]
		for _, m := range moments {
			for i, is := range now.Get(listenersOf(m.have), func() []string { return allOutcomes(m.have) }) {
				// A load balancer or listener that is being created is not checked.
				if was[i] == "nothing" && (before.LiveLoadBalancer(model.LoadBalancerID) == nil || strings.HasPrefix(is, "fixed")) {
					continue
				}
				if is != was[i] && is != will[i] {
					t.Fatalf("seed %d: %v is answered by %q; before by %q, at the end by %q\npass %d, after %s of\n%s",
						seed, allRequests[i], is, was[i], will[i], m.pass, m.step, m.p.Text())
				}
			}
		}
	})
}

func TestTrafficStaysUntilTheNewTargetsAreHealthy(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 1000, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		first := randomDesired(r)
		have := converge(t, first, observed.Stack{Facts: testFacts()})
		old := map[string]bool{}
		for _, g := range have.TargetGroups {
			old[g.ARN] = true
		}
		have.Facts.Health = map[string]observed.Health{}
		state := func(arn string) string {
			if old[arn] {
				return "healthy"
			}
			return "initial"
		}
		second := randomDesired(r)
		for range 2 { // the second plan finds the target groups that the first plan created
			p := planUntilNoQuestions(t, second, &have, state)
			before := allOutcomes(have)
			have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
			for i, is := range allOutcomes(have) {
				if is == before[i] || !outcomeForwardsTo(before[i], old) {
					continue
				}
				for _, part := range strings.Fields(is) {
					arn, _, _ := strings.Cut(part, ":")
					if strings.HasPrefix(arn, "target-group/") && !old[arn] {
						t.Fatalf("seed %d: %v moved from %q to %q, which has no healthy target\n%s", seed, allRequests[i], before[i], is, p.Text())
					}
				}
			}
		}
	})
}

func outcomeForwardsTo(outcome string, groups map[string]bool) bool {
	for _, part := range strings.Fields(outcome) {
		arn, _, _ := strings.Cut(part, ":")
		if groups[arn] || groups[part] {
			return true
		}
	}
	return false
}
