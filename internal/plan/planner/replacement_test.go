package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

var deletionDelay = config.Default().Replacement.DeletionDelay

var loadBalancerAddress = plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}

// replacementTest makes and carries out plans with the default options of the controller and a simulated clock.
type replacementTest struct {
	have       observed.Stack
	waitsSince map[string]time.Time
	health     func(arn string) string
	// afterStep is called after each step.
	afterStep       func(p plan.Plan, step plan.StepID)
	reportedReasons map[finding.Reason]bool
}

func newReplacementTest(have observed.Stack) *replacementTest {
	have.Facts.Now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	return &replacementTest{
		have: have, waitsSince: map[string]time.Time{}, reportedReasons: map[finding.Reason]bool{},
		health: func(string) string { return "healthy" }, afterStep: func(plan.Plan, plan.StepID) {},
	}
}

// plan makes a plan at the current time of the clock.
func (r *replacementTest) plan(t *testing.T, want model.Stack) plan.Plan {
	t.Helper()
	opt := testOptions
	opt.CreateFirst, opt.DeletionDelay = true, deletionDelay
	memory := plan.Memory{WaitedTimes: map[string]time.Duration{}}
	for k, at := range r.waitsSince {
		memory.WaitedTimes[k] = r.have.Facts.Now.Sub(at)
	}
	r.have.Facts.Health = map[string]observed.Health{}
	for range 10 {
		p, found := planner.Make(want, r.have, opt, memory)
		if len(p.Questions) == 0 {
			next := map[string]time.Time{}
			for _, k := range p.WaitKeys {
				next[k] = r.have.Facts.Now
				if at, ok := r.waitsSince[k]; ok {
					next[k] = at
				}
			}
			r.waitsSince = next
			for _, f := range found {
				r.reportedReasons[f.Reason] = true
			}
			return p
		}
		answerQuestions(&r.have, p.Questions, r.health)
		for i := range r.have.LoadBalancers {
			lb := &r.have.LoadBalancers[i]
			if lb.Attributes == nil {
				lb.Attributes = map[string]string{}
			}
			lb.State = "active"
		}
	}
	t.Fatal("the plan keeps asking")
	return plan.Plan{}
}

// run carries out plans for a duration, and returns the last plan.
func (r *replacementTest) run(t *testing.T, want model.Stack, d time.Duration) plan.Plan {
	t.Helper()
	end := r.have.Facts.Now.Add(d)
	for range 1000 {
		p := r.plan(t, want)
		steps := stepsInOrder(p)
		before := r.have
		for i, s := range steps {
			r.have = plantest.Simulate(before, p.KnownIDs, steps[:i+1])
			r.afterStep(p, s.ID)
		}
		if !slices.ContainsFunc(steps, func(s plan.Step) bool { return s.Address.Kind != plan.Finalizer }) {
			r.afterStep(p, "")
			if !r.have.Facts.Now.Before(end) || p.Empty() {
				return p
			}
		}
		// The state changes only with the clock, which may advance further if no step was made.
		tick := 10 * time.Second
		if len(steps) == 0 {
			tick = min(30*time.Second, max(end.Sub(r.have.Facts.Now), time.Second))
		}
		r.have.Facts.Now = r.have.Facts.Now.Add(tick)
	}
	t.Fatalf("no end of the plan:\n%s", r.plan(t, want).Text())
	return plan.Plan{}
}

// withDesiredScheme returns a stack whose member sets this scheme.
func withDesiredScheme(scheme model.Scheme, s model.Stack) model.Stack {
	s = withExplicitScheme(s)
	s.LoadBalancer.Scheme = scheme
	s.LoadBalancer.Name = "k8s-lb-" + string(scheme)
	return s
}

// withOnlyLoadBalancer returns the observed state with only one load balancer.
func withOnlyLoadBalancer(have observed.Stack, arn string) observed.Stack {
	have.LoadBalancers = slices.DeleteFunc(slices.Clone(have.LoadBalancers), func(lb observed.LoadBalancer) bool { return lb.ARN != arn })
	return have
}

// outcomesByTargetGroupID returns the outcomes with the IDs of target groups instead of their ARNs, so that they can be
// compared between load balancers.
func outcomesByTargetGroupID(have observed.Stack) []string {
	ids := map[string]string{}
	for _, g := range have.TargetGroups {
		ids[g.ARN] = g.ResourceID
	}
	out := allOutcomes(have)
	for i := range out {
		parts := strings.Fields(out[i])
		for j, p := range parts {
			arn, weight, _ := strings.Cut(p, ":")
			if id, ok := ids[arn]; ok {
				parts[j] = id + ":" + weight
			}
		}
		slices.Sort(parts)
		out[i] = strings.Join(parts, " ")
	}
	return out
}

// TestPreviousLoadBalancerServesUntilClientsFollowDNS checks that, while a load balancer is replaced and anything else
// changes at the same time, the previous load balancer answers every request as before as long as clients may still use it.
// The status shows the new load balancer only once it answers every request as desired.
func TestPreviousLoadBalancerServesUntilClientsFollowDNS(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 100, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		was, will := withDesiredScheme(model.Internal, randomDesired(rnd)), withDesiredScheme(model.InternetFacing, randomDesired(rnd))
		r := newReplacementTest(observed.Stack{Facts: publicFacts()})
		r.run(t, was, time.Minute)
		if r.have.LiveLoadBalancer(model.LoadBalancerID) == nil {
			return // all rules are held
		}
		if r.plan(t, will); r.reportedReasons[finding.ReplacementHeld] {
			return // the replacement is held
		}
		old := r.have.LiveLoadBalancer(model.LoadBalancerID).ARN
		before := outcomesByTargetGroupID(withOnlyLoadBalancer(r.have, old))
		var since time.Time // time since when the status shows the new load balancer
		type moment struct {
			have observed.Stack
			p    plan.Plan
			step plan.StepID
		}
		var moments []moment
		r.afterStep = func(p plan.Plan, step plan.StepID) {
			shown := p.ShownARNs[loadBalancerAddress]
			if shown != "" && shown != old {
				t.Fatalf("seed %d: the status shows %s", seed, shown)
			}
			switch {
			case shown == "" && since.IsZero():
				since = r.have.Facts.Now
			case shown != "" && !since.IsZero():
				t.Fatalf("seed %d: the status shows the old load balancer again\n%s", seed, p.Text())
			}
			there := len(withOnlyLoadBalancer(r.have, old).LoadBalancers) > 0
			if !there && (since.IsZero() || r.have.Facts.Now.Sub(since) < deletionDelay) {
				t.Fatalf("seed %d: the old load balancer is deleted at %s, the new one is shown since %s", seed, r.have.Facts.Now, since)
			}
			if there {
				for i, is := range outcomesByTargetGroupID(withOnlyLoadBalancer(r.have, old)) {
					if is != before[i] {
						t.Fatalf("seed %d: after %s %v is answered by %q, before by %q\n%s", seed, step, allRequests[i], is, before[i], p.Text())
					}
				}
			}
			if !since.IsZero() {
				moments = append(moments, moment{r.have, p, step})
			}
		}
		if p := r.run(t, will, time.Hour); !p.Empty() {
			t.Fatalf("seed %d: the plan is not empty in the end\n%s", seed, p.Text())
		}
		last := outcomesByTargetGroupID(r.have)
		for _, m := range moments {
			lb := plan.ShownLoadBalancer(m.have, model.LoadBalancerID)
			for i, is := range outcomesByTargetGroupID(withOnlyLoadBalancer(m.have, lb.ARN)) {
				if is != last[i] {
					t.Fatalf("seed %d: the new one is shown, and after %s %v is answered by %q, in the end by %q\n%s", seed, m.step, allRequests[i], is, last[i], m.p.Text())
				}
			}
		}
		if n := len(r.have.LoadBalancers); n != 1 {
			t.Fatalf("seed %d: %d load balancers", seed, n)
		}
		for _, g := range r.have.TargetGroups {
			if will.TargetGroup(g.ResourceID) == nil {
				t.Fatalf("seed %d: target group %s is left", seed, g.Name)
			}
		}
		for k := range r.have.LoadBalancers[0].Tags {
			if k == naming.SuccessorTag || k == naming.ReplacedTag {
				t.Fatalf("seed %d: tag %s is left", seed, k)
			}
		}
	})
}

// TestRepeatedSchemeChangesLoseNoRequest checks that a user who changes the scheme repeatedly, at any time, has at most two
// load balancers, and that no request is lost. In the end only the load balancer with the desired scheme exists.
func TestRepeatedSchemeChangesLoseNoRequest(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 30, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 12))
		desired := randomDesired(rnd)
		r := newReplacementTest(observed.Stack{Facts: publicFacts()})
		r.run(t, withDesiredScheme(model.Internal, desired), time.Minute)
		if r.have.LiveLoadBalancer(model.LoadBalancerID) == nil {
			return // all rules are held
		}
		before, groups := outcomesByTargetGroupID(r.have), len(r.have.TargetGroups)
		made := 0
		r.afterStep = func(p plan.Plan, step plan.StepID) {
			if strings.HasPrefix(string(step), "create load-balancer/") {
				made++
			}
			if n := len(r.have.LoadBalancers); n > 2 {
				t.Fatalf("seed %d: %d load balancers", seed, n)
			}
			shown := p.ShownARNs[loadBalancerAddress]
			if shown == "" {
				shown = p.KnownIDs[loadBalancerAddress]
			}
			if shown == "" || len(withOnlyLoadBalancer(r.have, shown).LoadBalancers) == 0 {
				return
			}
			for i, is := range outcomesByTargetGroupID(withOnlyLoadBalancer(r.have, shown)) {
				if is != before[i] {
					t.Fatalf("seed %d: after %s %v is answered by %q, before by %q\n%s", seed, step, allRequests[i], is, before[i], p.Text())
				}
			}
		}
		schemes := []model.Scheme{model.Internal, model.InternetFacing}
		for range 6 {
			r.run(t, withDesiredScheme(schemes[rnd.IntN(2)], desired), time.Duration(rnd.IntN(4))*time.Minute)
		}
		last := schemes[rnd.IntN(2)]
		if p := r.run(t, withDesiredScheme(last, desired), time.Hour); !p.Empty() {
			t.Fatalf("seed %d: the plan is not empty in the end\n%s", seed, p.Text())
		}
		if len(r.have.LoadBalancers) != 1 || r.have.LoadBalancers[0].Scheme != last || made > 6 {
			t.Fatalf("seed %d: %d load balancers, %d were made", seed, len(r.have.LoadBalancers), made)
		}
		if n := len(r.have.TargetGroups); n != groups {
			t.Fatalf("seed %d: %d target groups", seed, n)
		}
	})
}

// TestDeletionDuringReplacementDeletesBothLoadBalancers checks that, if a stack is deleted while its load balancer is
// replaced, both load balancers are deleted.
func TestDeletionDuringReplacementDeletesBothLoadBalancers(t *testing.T) {
	t.Parallel()
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	for _, after := range []time.Duration{0, 10 * time.Second, 5 * time.Minute} {
		r := newReplacementTest(observed.Stack{Facts: publicFacts()})
		r.run(t, withDesiredScheme(model.Internal, desired), time.Minute)
		r.run(t, withDesiredScheme(model.InternetFacing, desired), after)
		if n := len(r.have.LoadBalancers); n != 2 {
			t.Fatalf("%d load balancers", n)
		}
		gone := model.Stack{ID: testStackID, Leaving: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true, Deleting: true}}}
		r.run(t, gone, 10*time.Second)
		if n := len(r.have.LoadBalancers) + len(r.have.TargetGroups) + len(r.have.Bindings) + len(r.have.SecurityGroups); n > 0 {
			t.Errorf("after %s: %d resources are left", after, n)
		}
	}
}

func TestObstaclePreventsSecondLoadBalancer(t *testing.T) {
	t.Parallel()
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	cases := map[string]struct {
		was, will func(*model.Stack)
		live      func(*observed.LoadBalancer)
		reason    finding.Reason
		gap       bool
	}{
		"deletion protection by a person": {live: func(lb *observed.LoadBalancer) { lb.Attributes["deletion_protection.enabled"] = "true" }, reason: finding.ReplacementHeld},
		"deletion protection that is asked for": {
			was: func(s *model.Stack) {
				s.LoadBalancer.Attributes = map[string]string{"deletion_protection.enabled": "true"}
			},
			reason: finding.ReplacementHeld,
		},
		"a name that is asked for": {
			was: func(s *model.Stack) {
				s.LoadBalancer.Name = "mine"
				s.LoadBalancer.Origins["name"] = finding.Origin{Object: testMember, Field: "name"}
			},
			reason: finding.ReplacedWithGap, gap: true,
		},
		"no subnets": {will: func(s *model.Stack) { s.LoadBalancer.Subnets = model.SubnetsNamed{Refs: []string{"subnet-x"}} }, reason: finding.ReplacementHeld},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			was, will := withDesiredScheme(model.Internal, desired), withDesiredScheme(model.InternetFacing, desired)
			if c.was != nil {
				c.was(&was)
				c.was(&will)
			}
			if c.will != nil {
				c.will(&will)
			}
			r := newReplacementTest(observed.Stack{Facts: publicFacts()})
			r.run(t, was, time.Minute)
			if c.live != nil {
				c.live(&r.have.LoadBalancers[0])
			}
			most, least := 1, 1
			r.afterStep = func(plan.Plan, plan.StepID) {
				most, least = max(most, len(r.have.LoadBalancers)), min(least, len(r.have.LoadBalancers))
			}
			// Another rule is still created.
			will.LoadBalancer.Listeners = slices.Clone(will.LoadBalancer.Listeners)
			will.LoadBalancer.Listeners[0].Rules = append([]model.Rule{forwardRule("/new", "g1")}, will.LoadBalancer.Listeners[0].Rules...)
			r.run(t, will, time.Hour)
			if most != 1 || (least == 0) != c.gap || (r.have.LoadBalancers[0].Scheme == model.Internal) == c.gap {
				t.Errorf("from %d to %d load balancers; the last one is %s", least, most, r.have.LoadBalancers[0].Scheme)
			}
			if !r.reportedReasons[c.reason] || outcomeOfPath(r.have, "/new") == "" || len(r.have.LoadBalancers[0].Listeners[0].Rules) != 2 {
				t.Errorf("reported %v, rules %v", r.reportedReasons, r.have.LoadBalancers[0].Listeners[0].Rules)
			}
		})
	}
}

// TestReplacementIfProtectionIsRemovedInTheSameEdit checks that the load balancer is replaced if the edit that changes the
// scheme also removes the deletion protection.
func TestReplacementIfProtectionIsRemovedInTheSameEdit(t *testing.T) {
	t.Parallel()
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	was, will := withDesiredScheme(model.Internal, desired), withDesiredScheme(model.InternetFacing, desired)
	was.LoadBalancer.Attributes = map[string]string{"deletion_protection.enabled": "true"}
	will.LoadBalancer.Attributes = map[string]string{"deletion_protection.enabled": "false"}
	r := newReplacementTest(observed.Stack{Facts: publicFacts()})
	r.run(t, was, time.Minute)
	if p := r.plan(t, will); p.RetryAfter == 0 {
		t.Errorf("nothing looks again after\n%s", p.Text())
	}
	if p := r.run(t, will, time.Hour); !p.Empty() || r.have.LoadBalancers[0].Scheme != model.InternetFacing {
		t.Errorf("%s\n%s", r.have.LoadBalancers[0].Scheme, p.Text())
	}
}

// TestStatusShowsReplacementAfterItsTargetsAreHealthy checks that the status shows the new load balancer only after its
// targets are healthy, or after a maximum wait.
func TestStatusShowsReplacementAfterItsTargetsAreHealthy(t *testing.T) {
	t.Parallel()
	desired := withFinalizers(stackWithRules(forwardRule("/*", "g1"), forwardRule("/sick", "g2")))
	r := newReplacementTest(observed.Stack{Facts: publicFacts()})
	r.health = func(arn string) string {
		if strings.Contains(arn, "g2") {
			return "unhealthy" // with the previous load balancer too
		}
		return "healthy"
	}
	r.run(t, withDesiredScheme(model.Internal, desired), time.Hour)
	for _, g := range r.have.TargetGroups {
		t.Log(g.ARN, g.Name)
	}
	start := r.have.Facts.Now
	healthy, shown := r.health, time.Time{}
	r.health = func(arn string) string {
		if strings.HasSuffix(arn, "'") {
			return "initial"
		}
		return healthy(arn)
	}
	r.afterStep = func(p plan.Plan, _ plan.StepID) {
		if p.ShownARNs[loadBalancerAddress] == "" && shown.IsZero() {
			shown = r.have.Facts.Now
		}
	}
	r.run(t, withDesiredScheme(model.InternetFacing, desired), 4*time.Minute)
	if !shown.IsZero() {
		t.Errorf("shown after %s", shown.Sub(start))
	}
	r.run(t, withDesiredScheme(model.InternetFacing, desired), time.Minute)
	if took := shown.Sub(start); shown.IsZero() || took > durations.LongestWait || !r.reportedReasons[finding.WaitExpired] {
		t.Errorf("shown after %s, reported %v", took, r.reportedReasons)
	}
}

// TestMemberThatLeavesDuringReplacementDoesNotWait checks that, if a member leaves while the load balancer is replaced, its
// rules are deleted from both load balancers and its finalizer is removed without waiting for the replacement.
func TestMemberThatLeavesDuringReplacementDoesNotWait(t *testing.T) {
	t.Parallel()
	other := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "other"}
	id := naming.IngressTargetGroupID("shop", "other", "svc", "80")
	theirs := forwardRule("/theirs", id)
	theirs.Member = other
	both := withFinalizers(stackWithRules(forwardRule("/*", "shop/web-svc:80"), theirs))
	both.Members = append(both.Members, model.Member{Ref: other, Finalizer: "f", Claimed: true})
	both.TargetGroups[1].Members = []finding.Ref{other}
	for i, g := range both.TargetGroups {
		both.TargetGroups[i].Name, both.TargetGroups[i].Binding.Name = fmt.Sprint("tg", i), fmt.Sprint("tg", i)
		both.TargetGroups[i].Tags = g.Tags
	}
	r := newReplacementTest(observed.Stack{Facts: publicFacts()})
	r.run(t, withDesiredScheme(model.Internal, both), time.Minute)
	r.run(t, withDesiredScheme(model.InternetFacing, both), time.Minute)
	alone := withFinalizers(stackWithRules(forwardRule("/*", "shop/web-svc:80")))
	alone.TargetGroups[0].Name, alone.TargetGroups[0].Binding.Name = "tg0", "tg0"
	alone.Leaving = []model.Member{{Ref: other, Finalizer: "f", Claimed: true, Deleting: true}}
	released := time.Time{}
	r.afterStep = func(_ plan.Plan, step plan.StepID) {
		if strings.HasPrefix(string(step), "release") && released.IsZero() {
			released = r.have.Facts.Now
		}
	}
	start := r.have.Facts.Now
	r.run(t, withDesiredScheme(model.InternetFacing, alone), time.Minute)
	if len(r.have.LoadBalancers) != 2 || released.IsZero() || released.Sub(start) > 30*time.Second {
		t.Errorf("%d load balancers, released after %s", len(r.have.LoadBalancers), released.Sub(start))
	}
	for _, lb := range r.have.LoadBalancers {
		if n := len(lb.Listeners[0].Rules); n != 1 {
			t.Errorf("%s has %d rules", lb.Name, n)
		}
	}
	for _, g := range r.have.TargetGroups {
		if g.ResourceID == id {
			t.Errorf("%s is left", g.Name)
		}
	}
}
