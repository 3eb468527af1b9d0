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
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// clockedPlanner makes plans with a simulated clock, and records since when each wait lasts, as the engine does.
type clockedPlanner struct {
	now        time.Duration
	waitsSince map[string]time.Duration
	findings   finding.List // of the last plan
}

// plan makes plans until one has no question. state returns the health state of the targets of a target group.
func (c *clockedPlanner) plan(t *testing.T, want model.Stack, have *observed.Stack, state func(arn string) string) plan.Plan {
	t.Helper()
	memory := plan.Memory{WaitedTimes: map[string]time.Duration{}}
	for key, since := range c.waitsSince {
		memory.WaitedTimes[key] = c.now - since
	}
	have.Facts.Health = map[string]observed.Health{}
	for range 6 { // the same limit as in the engine
		p, found := planner.Make(want, *have, testOptions, memory)
		if len(p.Questions) == 0 {
			next := map[string]time.Duration{}
			for _, key := range p.WaitKeys {
				next[key] = c.now
				if since, known := c.waitsSince[key]; known {
					next[key] = since
				}
			}
			c.waitsSince, c.findings = next, found.Sorted()
			return p
		}
		answerQuestions(have, p.Questions, state)
	}
	t.Fatal("the plan keeps asking")
	return plan.Plan{}
}

// convergeInTime carries out plans until a plan is empty, and returns the observed state and how long that takes.
func (c *clockedPlanner) convergeInTime(t *testing.T, want model.Stack, have observed.Stack, state func(arn string) string) (observed.Stack, time.Duration) {
	t.Helper()
	begun := c.now
	var p plan.Plan
	for range 2000 {
		p = c.plan(t, want, &have, state)
		steps := stepsInOrder(p)
		if len(p.Steps) == 0 {
			return have, c.now - begun
		}
		have = plantest.Simulate(have, p.KnownIDs, steps)
		again := time.Hour
		for _, s := range p.Steps {
			if s.Waits() {
				again = min(again, max(s.Wait.RetryAfter, time.Second))
			}
		}
		if len(steps) > 0 && again == time.Hour {
			again = 0
		}
		c.now += again
	}
	t.Fatalf("no end after %s of\n%s", c.now-begun, p.Text())
	return have, 0
}

// randomFixedHealth returns a function that gives each target group a random health state, which does not change.
func randomFixedHealth(r *rand.Rand) func(arn string) string {
	states := map[string]string{}
	return func(arn string) string {
		if states[arn] == "" {
			states[arn] = []string{"healthy", "initial", "unhealthy", "unused", "draining"}[r.IntN(5)]
		}
		return states[arn]
	}
}

func TestEveryWaitEnds(t *testing.T) {
	t.Parallel()
	const drain = 6 * time.Minute
	seeds.Each(t, 200, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		have := converge(t, randomDesired(r), observed.Stack{Facts: testFacts()})
		want := randomDesired(r)
		desired := converge(t, want, have)
		got, took := (&clockedPlanner{}).convergeInTime(t, want, have, randomFixedHealth(r))
		// The waits are for new rules, for the rules after them, and for the draining of their target groups.
		if took > 2*durations.LongestWait+drain {
			t.Errorf("seed %d: it takes %s", seed, took)
		}
		will := allOutcomes(desired)
		for i, is := range allOutcomes(got) {
			if is != will[i] {
				t.Errorf("seed %d: %v is answered by %q, want %q", seed, allRequests[i], is, will[i])
			}
		}
	})
}

func TestDeadlineDependsOnTheHealthCheck(t *testing.T) {
	for name, c := range map[string]struct {
		check model.HealthCheck
		want  time.Duration
	}{
		"the defaults of annotations": {model.HealthCheck{IntervalSeconds: 15, HealthyThreshold: 2}, 150 * time.Second},
		"quick":                       {model.HealthCheck{IntervalSeconds: 5, HealthyThreshold: 2}, 130 * time.Second},
		"nothing known":               {model.HealthCheck{}, 270 * time.Second},
		"as slow as can be":           {model.HealthCheck{IntervalSeconds: 300, HealthyThreshold: 10}, 5 * time.Minute},
	} {
		want := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
		want.TargetGroups[0].HealthCheck = c.check
		if got := planner.TargetsDeadline(want, observed.Stack{Facts: testFacts()}, testOptions, []model.TargetGroupRef{{ID: "g1"}}); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPollIntervalOfTargetsGrows(t *testing.T) {
	polls, last := 0, time.Duration(0)
	for waited := time.Duration(0); waited < durations.LongestWait; waited += last {
		next := draft.PollInterval(waited)
		if next < last {
			t.Errorf("the interval shrinks from %s to %s after %s", last, next, waited)
		}
		polls, last = polls+1, next
	}
	if first := draft.PollInterval(0); polls > 25 || first != durations.FirstPoll || last != durations.LastPoll {
		t.Errorf("%d polls in %s, the first after %s, the last after %s", polls, durations.LongestWait, first, last)
	}
}

var otherMember = finding.Ref{Kind: "Ingress", Namespace: "other", Name: "theirs"}

func withOtherMember(r model.Rule) model.Rule {
	r.Member, r.Origin.Object = otherMember, otherMember
	return r
}

func addOtherMember(s model.Stack) model.Stack {
	s.Members = append(s.Members, model.Member{Ref: otherMember, Finalizer: "f", Claimed: true})
	return withFinalizers(s)
}

func outcomeOfPath(have observed.Stack, path string) string {
	return outcome(have, request{80, "a.example.com", path})
}

func TestTrafficMovesAfterTheDeadlineAndIsReported(t *testing.T) {
	withZeroWeight := func(r model.Rule) model.Rule {
		zero := int32(0)
		r.Actions[0].(model.Forward).Groups[0].Weight = &zero
		return r
	}
	sick := func(arn string) string {
		if strings.Contains(arn, "g2") {
			return "unhealthy"
		}
		return "healthy"
	}
	for name, c := range map[string]struct{ before, after model.Stack }{
		"another backend": {withFinalizers(stackWithRules(forwardRule("/a", "g1"))), withFinalizers(stackWithRules(forwardRule("/a", "g2")))},
		"from weight 0":   {withFinalizers(stackWithRules(withZeroWeight(forwardRule("/a", "g1")))), withFinalizers(stackWithRules(forwardRule("/a", "g2")))},
		"to weight 0":     {withFinalizers(stackWithRules(forwardRule("/a", "g1"))), withFinalizers(stackWithRules(withZeroWeight(forwardRule("/a", "g2"))))},
		"another path":    {withFinalizers(stackWithRules(forwardRule("/a", "g1"))), withFinalizers(stackWithRules(forwardRule("/a*", "g2")))},
		"a new rule":      {withFinalizers(stackWithRules(forwardRule("/*", "g1"))), withFinalizers(stackWithRules(forwardRule("/a", "g2"), forwardRule("/*", "g1")))},
	} {
		t.Run(name, func(t *testing.T) {
			have := converge(t, c.before, observed.Stack{Facts: testFacts()})
			var k clockedPlanner
			reported := 0
			for k.now < durations.LongestWait {
				p := k.plan(t, c.after, &have, sick)
				for _, f := range k.findings {
					if f.Reason == finding.WaitExpired {
						reported++
						if f.Object != testMember || !strings.Contains(f.Message, `"g2"`) || !strings.Contains(f.Message, "4m30s") {
							t.Errorf("%+v", f)
						}
					}
				}
				have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
				by := "target-group/g1"
				if k.now >= 270*time.Second {
					by = "target-group/g2"
				}
				if is := outcomeOfPath(have, "/a"); is != by {
					t.Fatalf("after %s it is answered by %q\n%s", k.now, is, p.Text())
				}
				k.now += 10 * time.Second
			}
			if reported != 1 {
				t.Errorf("reported %d times", reported)
			}
		})
	}
}

// TestOldTargetsDrainAfterASlowChange checks that the time for the deregistration of the old targets begins when nothing
// forwards to them any more, and not with the wait for new targets that are slow to become healthy.
func TestOldTargetsDrainAfterASlowChange(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/a", "g1"))), observed.Stack{Facts: testFacts()})
	want := withFinalizers(stackWithRules(forwardRule("/a", "g2")))
	want.TargetGroups[0].HealthCheck = model.HealthCheck{IntervalSeconds: 300, HealthyThreshold: 10}
	old, unbound := have.TargetGroups[0].ARN, false
	sick := func(arn string) string {
		if arn == old {
			return "healthy"
		}
		return "unhealthy"
	}
	for k := (clockedPlanner{}); k.now < 2*durations.LongestWait && !unbound; k.now += 10 * time.Second {
		p := k.plan(t, want, &have, sick)
		for _, f := range k.findings {
			if strings.Contains(f.Message, "does not deregister") {
				t.Errorf("after %s: %s", k.now, f.Message)
			}
		}
		for _, s := range stepsInOrder(p) {
			_, unbinds := s.Do.(plan.DeleteBinding)
			unbound = unbound || unbinds
			if do, deletes := s.Do.(plan.DeleteTargetGroup); deletes && do.ARN == old {
				t.Errorf("after %s the target group is deleted together with its binding", k.now)
			}
		}
		have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
	}
	if !unbound {
		t.Error("the binding is not deleted")
	}
}

// TestRemovedRuleIsDeletedDespiteNewRulesOfOthers checks that a rule that a member removes is deleted, although another
// member keeps creating new rules before it whose targets are never healthy.
func TestRemovedRuleIsDeletedDespiteNewRulesOfOthers(t *testing.T) {
	mine := func(paths ...string) []model.Rule {
		var out []model.Rule
		for _, p := range paths {
			out = append(out, forwardRule(p, "mine"))
		}
		return out
	}
	have := converge(t, addOtherMember(stackWithRules(mine("/a", "/b")...)), observed.Stack{Facts: testFacts()})
	sick := func(arn string) string {
		if strings.Contains(arn, "theirs") {
			return "unhealthy"
		}
		return "healthy"
	}
	var k clockedPlanner
	for outcomeOfPath(have, "/b") == "target-group/mine" {
		if k.now > durations.LongestWait {
			t.Fatalf("/b is still served after %s", k.now)
		}
		n := int(k.now / time.Minute)
		want := addOtherMember(stackWithRules(append(mine("/a"), withOtherMember(forwardRule("/*", fmt.Sprint("theirs", n))))...))
		p := k.plan(t, want, &have, sick)
		have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
		k.now += 5 * time.Second
	}
	if outcomeOfPath(have, "/a") != "target-group/mine" {
		t.Errorf("/a is answered by %q", outcomeOfPath(have, "/a"))
	}
}

func TestRulesDoNotWaitForRulesOfOthers(t *testing.T) {
	slow := withOtherMember(forwardRule("/*", "slow"))
	fast := withOtherMember(forwardRule("/*", "fast"))
	sick := func(arn string) string {
		if strings.Contains(arn, "slow") {
			return "initial"
		}
		return "healthy"
	}
	for name, c := range map[string]struct {
		before, after []model.Rule
		want          map[string]string
	}{
		"a new rule before a change in progress": {
			[]model.Rule{forwardRule("/a", "mine"), fast}, []model.Rule{forwardRule("/a", "mine"), forwardRule("/new", "mine"), slow},
			map[string]string{"/new": "mine", "/a": "mine", "/x": "fast"},
		},
		"a new rule behind one that stays below": {
			[]model.Rule{forwardRule("/*", "mine")}, []model.Rule{withOtherMember(forwardRule("/n*", "slow")), forwardRule("/new", "mine2"), forwardRule("/*", "mine")},
			map[string]string{"/new": "mine2", "/x": "mine"},
		},
		"a changed rule behind one that stays below": {
			[]model.Rule{forwardRule("/a", "mine")}, []model.Rule{withOtherMember(forwardRule("/a*", "slow")), forwardRule("/a", "mine2")},
			map[string]string{"/a": "mine2"},
		},
		"another order while a change is in progress": {
			[]model.Rule{forwardRule("/a", "mine"), forwardRule("/a*", "mine2"), fast}, []model.Rule{forwardRule("/a*", "mine2"), forwardRule("/a", "mine"), slow},
			map[string]string{"/a": "mine2", "/x": "fast"},
		},
		"a rule removed while a change is in progress": {
			[]model.Rule{forwardRule("/a", "mine"), withOtherMember(forwardRule("/b*", "fast"))}, []model.Rule{withOtherMember(forwardRule("/b*", "slow"))},
			map[string]string{"/a": "fixed 404", "/b": "fast"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := converge(t, addOtherMember(stackWithRules(c.before...)), observed.Stack{Facts: testFacts()})
			var k clockedPlanner
			p := k.plan(t, addOtherMember(stackWithRules(c.after...)), &have, sick)
			have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
			p = k.plan(t, addOtherMember(stackWithRules(c.after...)), &have, sick) // with the new target groups
			have = plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
			for _, path := range slices.Sorted(maps.Keys(c.want)) {
				if got := strings.TrimPrefix(outcomeOfPath(have, path), "target-group/"); got != c.want[path] {
					t.Errorf("%s is answered by %q, want %q\n%s", path, got, c.want[path], p.Text())
				}
			}
		})
	}
}
