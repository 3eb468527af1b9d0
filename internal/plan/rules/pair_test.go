package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/traffic"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// simplePairs is a reference implementation of pairWithLive that compares each desired rule with each existing rule. It
// returns the ARN of the existing rule for each desired rule; "" if there is none.
func simplePairs(ro *Rollout, desired []*ruleChange, live []observed.Rule) []string {
	out := make([]string, len(desired))
	taken := make([]bool, len(live))
	pass := func(fits func(w *ruleChange, o *observed.Rule) bool) {
		for i := range desired {
			for j := range live {
				if out[i] == "" && !taken[j] && fits(desired[i], &live[j]) {
					out[i], taken[j] = live[j].ARN, true
				}
			}
		}
	}
	alike := func(w *ruleChange, o *observed.Rule) bool {
		return w.rule.RetainedRule == nil && equal.SameConditions(w.rule.Desired.Conditions, o.Conditions)
	}
	equal := func(w *ruleChange, o *observed.Rule) bool { return alike(w, o) && ro.isAsDesired(w, o) }
	here := func(w *ruleChange, o *observed.Rule) bool { return w.priority == o.Priority }
	pass(func(w *ruleChange, o *observed.Rule) bool {
		return w.rule.RetainedRule != nil && w.rule.RetainedRule.ARN == o.ARN
	})
	pass(func(w *ruleChange, o *observed.Rule) bool { return here(w, o) && equal(w, o) })
	pass(equal)
	pass(func(w *ruleChange, o *observed.Rule) bool { return here(w, o) && alike(w, o) })
	pass(alike)
	return out
}

func TestPairingEqualsComparisonOfAllPairs(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 5000, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 6))
		tg := owners.NewTargetGroups(&draft.Draft{})
		ro := &Rollout{Traffic: &traffic.Traffic{TargetGroups: tg}, Keys: owners.ConditionKeys{}}
		action := func() []model.Action {
			switch r.IntN(4) {
			case 0:
				return []model.Action{model.Redirect{Host: fmt.Sprint(r.IntN(2)), Status: "HTTP_301"}}
			case 1:
				return []model.Action{plan.HeldResponse}
			}
			f := model.Forward{}
			for range 1 + r.IntN(2) {
				w := int32(r.IntN(3))
				f.Groups = append(f.Groups, model.WeightedTargetGroup{Group: model.TargetGroupRef{ARN: fmt.Sprint("arn", r.IntN(2))}, Weight: &w})
			}
			if r.IntN(3) == 0 {
				on := true
				f.Stickiness = &model.TargetGroupStickiness{Enabled: &on}
			}
			return []model.Action{f}
		}
		conditions := func() []model.Condition {
			return []model.Condition{model.PathPattern{Values: []string{[]string{"/a", "/b", "/c"}[r.IntN(3)]}}}
		}
		var live []observed.Rule
		for i := range r.IntN(8) {
			live = append(live, observed.Rule{ARN: fmt.Sprint("rule", i), Priority: int32(i + 1 + r.IntN(2)*20), Conditions: conditions(), Actions: action()})
		}
		var desired []*ruleChange
		for i := range r.IntN(8) {
			p := &resolved.Rule{Desired: model.Rule{Conditions: conditions(), Actions: action()}}
			if len(live) > 0 && r.IntN(8) == 0 {
				p.Desired.Held = model.HeldInvalid
				p.RetainLiveRule(&live[r.IntN(len(live))])
			}
			desired = append(desired, &ruleChange{rule: p, priority: int32(i + 1)})
		}
		want := simplePairs(ro, desired, live)
		ro.pairWithLive(desired, live)
		got := make([]string, len(desired))
		for i, w := range desired {
			if w.live != nil {
				got[i] = w.live.ARN
			}
		}
		if !slices.Equal(want, got) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	})
}
