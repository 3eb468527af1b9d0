package planner_test

import (
	"math/rand/v2"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// withRulesAtLastPriorities moves the last rules of each listener to the last priorities that AWS permits. A run that
// was interrupted before it deleted rules can leave them there.
func withRulesAtLastPriorities(have observed.Stack, n int) observed.Stack {
	have = plantest.Clone(have)
	for i := range have.LoadBalancers {
		for j := range have.LoadBalancers[i].Listeners {
			all := have.LoadBalancers[i].Listeners[j].Rules
			p := int32(rules.MaxPriority)
			for k := len(all) - 1; k >= 0 && k >= len(all)-n; k-- {
				all[k].Priority = p
				p--
			}
		}
	}
	return have
}

func TestRulesAtTheLastPrioritiesAreMovedDown(t *testing.T) {
	have := converge(t, withFinalizers(stackWithRules(forwardRule("/a", "g1"), forwardRule("/b", "g2"))), observed.Stack{Facts: testFacts()})
	have = withRulesAtLastPriorities(have, 1)
	desired := withFinalizers(stackWithRules(forwardRule("/c", "g3"), forwardRule("/a", "g1")))
	have.Facts.Health = map[string]observed.Health{}
	for range 10 {
		p := planUntilNoQuestions(t, desired, &have, func(string) string { return "healthy" })
		steps := stepsInOrder(p)
		if len(steps) == 0 {
			break
		}
		have = plantest.Simulate(have, p.KnownIDs, steps)
	}
	rules := have.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].Rules
	if len(rules) != 2 || rules[0].Priority != 1 || rules[1].Priority != 2 {
		t.Errorf("%+v", rules)
	}
}

// TestInterruptedPlanFromLastPrioritiesGivesOldOrNewAnswers checks that, if a plan that begins with rules at the last
// priorities is interrupted, every request gets either its old or its new answer.
func TestInterruptedPlanFromLastPrioritiesGivesOldOrNewAnswers(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 500, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		have := withRulesAtLastPriorities(converge(t, randomDesired(r), observed.Stack{Facts: testFacts()}), 1+r.IntN(3))
		before, want := have, randomDesired(r)
		var worlds []observed.Stack
		for pass := range 20 {
			have.Facts.Health = map[string]observed.Health{}
			p := planUntilNoQuestions(t, want, &have, func(string) string {
				if pass < 2 {
					return "initial"
				}
				return "healthy"
			})
			steps := stepsInOrder(p)
			for i := range steps {
				worlds = append(worlds, plantest.Simulate(have, p.KnownIDs, steps[:i+1]))
			}
			if len(steps) == 0 && len(p.Steps) == 0 {
				break
			}
			if len(steps) > 0 {
				have = worlds[len(worlds)-1]
			}
		}
		if before.LiveLoadBalancer(model.LoadBalancerID) == nil {
			return
		}
		was, will := allOutcomes(before), allOutcomes(have)
		var now seeds.LastValueCache[[]observed.Listener, []string]
		for _, w := range worlds {
			for i, is := range now.Get(listenersOf(w), func() []string { return allOutcomes(w) }) {
				if is != was[i] && is != will[i] && is != "nothing" && was[i] != "nothing" {
					t.Fatalf("seed %d: %v is answered by %q, and by %q before and %q at the end", seed, allRequests[i], is, was[i], will[i])
				}
			}
		}
	})
}
