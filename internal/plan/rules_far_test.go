package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// far moves the last rules of a load balancer to the end of what AWS takes, where a run that was
// interrupted before it could delete them has left them.
func far(have observed.Stack, n int) observed.Stack {
	have = clone(have)
	for i := range have.LoadBalancers {
		for j := range have.LoadBalancers[i].Listeners {
			rules := have.LoadBalancers[i].Listeners[j].Rules
			p := int32(topPriority)
			for k := len(rules) - 1; k >= 0 && k >= len(rules)-n; k-- {
				rules[k].Priority = p
				p--
			}
		}
	}
	return have
}

func TestRulesAtTheEndLeaveRoomForOthers(t *testing.T) {
	have := converge(t, claimed(wishOf(ruleTo("/a", "g1"), ruleTo("/b", "g2"))), observed.Stack{Facts: testFacts()})
	have = far(have, 1)
	wish := claimed(wishOf(ruleTo("/c", "g3"), ruleTo("/a", "g1")))
	have.Facts.Health = map[string]observed.Health{}
	for range 10 {
		p := settled(t, wish, &have, func(string) string { return "healthy" })
		steps := runnable(p)
		if len(steps) == 0 {
			break
		}
		have = Simulate(have, p.Known, steps)
	}
	rules := have.Live(model.LoadBalancerID).Listeners[0].Rules
	if len(rules) != 2 || rules[0].Priority != 1 || rules[1].Priority != 2 {
		t.Errorf("%+v", rules)
	}
}

// Wherever rules are found, every request is answered in the old or in the new way.
func TestEveryPrefixAnswersOldOrNewFromFarRules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 9))
		have := far(converge(t, randomWish(r), observed.Stack{Facts: testFacts()}), 1+r.IntN(3))
		before, want := have, randomWish(r)
		var worlds []observed.Stack
		for pass := range 20 {
			have.Facts.Health = map[string]observed.Health{}
			p := settled(t, want, &have, func(string) string {
				if pass < 2 {
					return "initial"
				}
				return "healthy"
			})
			steps := runnable(p)
			for i := range steps {
				worlds = append(worlds, Simulate(have, p.Known, steps[:i+1]))
			}
			if len(steps) == 0 && len(p.Steps) == 0 {
				break
			}
			if len(steps) > 0 {
				have = worlds[len(worlds)-1]
			}
		}
		for _, now := range worlds {
			for _, q := range requests() {
				answers := []string{outcome(before, q), outcome(have, q), "nothing"}
				if is := outcome(now, q); !slices.Contains(answers, is) && before.Live(model.LoadBalancerID) != nil && answers[0] != "nothing" {
					t.Fatalf("seed %d: %v is answered by %q, and %q before and after", seed, q, is, answers[:2])
				}
			}
		}
	}
}
