package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// pairRules finds the existing rule that is kept or changed for each desired rule.
func (ro *Rollout) pairRules() *ruleSet {
	s := &ruleSet{desired: make([]*ruleChange, len(ro.Listener.Rules))}
	var live []observed.Rule
	if ro.Listener.Live != nil {
		live = ro.Listener.Live.Rules
	}
	for i := range ro.Listener.Rules {
		p := &ro.Listener.Rules[i]
		s.desired[i] = &ruleChange{rule: p, member: ro.memberOf(p), priority: int32(i + 1), actions: p.Desired.Actions, transforms: p.Desired.Transforms, shape: overlap.ShapeOf(p.Desired.Conditions)}
	}
	taken := ro.pairWithLive(s.desired, live)
	for j := range live {
		if !taken[j] {
			s.deleted = append(s.deleted, &deletedRule{Rule: live[j], shape: overlap.ShapeOf(live[j].Conditions), owners: ro.ownersOf(live[j])})
		}
	}
	for _, w := range s.desired {
		if w.live != nil && w.rule.ReplacedRule != nil {
			w.live, w.replaces = nil, w.live
		}
		if w.live == nil || w.rule.RetainedRule != nil {
			continue
		}
		if ro.isAsDesired(w, w.live) {
			ro.AssumeSecret(w.live.ARN, w.rule.Desired.Actions)
			continue
		}
		now := w.rule.Desired.Actions
		if !w.rule.Desired.InPlace {
			now, w.actionsWait = ro.interimActions(w, w.live.Actions)
		}
		if w.actionsWait.For != "" {
			w.transforms = w.live.Transforms
		}
		if w.actionsWait.For == "" || !equal.SameActions(now, w.live.Actions, ro.TargetGroupARN) {
			w.isModified, w.actions = true, now
		}
	}
	return s
}

// memberOf returns the member to which a desired rule belongs. The changes of one member wait for each other; the changes of
// different members do not. During a handover, the result is empty, so that all changes wait for each other, because
// existing rules belong to objects of the other stack.
func (ro *Rollout) memberOf(p *resolved.Rule) finding.Ref {
	if ro.IsHandingOver() {
		return finding.Ref{}
	}
	return p.Desired.Member
}

// ownersOf returns the owners of an existing rule; nil if they are not known.
func (ro *Rollout) ownersOf(r observed.Rule) []finding.Ref {
	if ro.IsHandingOver() {
		return nil
	}
	return ro.ActionOwners(r.Actions)
}

// pairWithLive sets the existing rules of desired rules, and reports which existing rules are paired. Rules with equal
// conditions and actions are paired first, and among them, rules with the same priority.
func (ro *Rollout) pairWithLive(desired []*ruleChange, live []observed.Rule) (taken []bool) {
	taken = make([]bool, len(live))
	arns, priorities := map[string]int{}, map[int32]int{}
	alike, equal := newLiveRulesByKey(len(live)), newLiveRulesByKey(len(live))
	for j := range live {
		o := &live[j]
		arns[o.ARN], priorities[o.Priority] = j, j
		alike.add(j, ro.Keys.KeyOf(o))
	}
	for j := range live {
		// If only one existing rule has these conditions, its actions need not be compared.
		key := alike.keys[j]
		if len(alike.lists[key]) > 1 {
			key = conditionsAndActionsKey(key, live[j].Actions, ro.TargetGroupARN)
		}
		equal.add(j, key)
	}
	take := func(w *ruleChange, j int) { w.live, taken[j] = &live[j], true }
	keys, equalKeys := make([]string, len(desired)), make([]string, len(desired))
	for i, w := range desired {
		if kept := w.rule.RetainedOrReplaced(); kept != nil {
			if j, ok := arns[kept.ARN]; ok && !taken[j] {
				take(w, j)
			}
			continue
		}
		keys[i] = w.rule.ConditionsKey()
		equalKeys[i] = keys[i]
		if len(alike.lists[keys[i]]) > 1 {
			equalKeys[i] = conditionsAndActionsKey(keys[i], w.rule.Desired.Actions, ro.TargetGroupARN)
		}
	}
	pass := func(keys []string, lists *liveRulesByKey, here bool, fits func(w *ruleChange, o *observed.Rule) bool) {
		for i, w := range desired {
			if w.rule.RetainedOrReplaced() != nil || w.live != nil {
				continue
			}
			candidates := lists.unpairedRules(keys[i], taken)
			if here {
				j, ok := priorities[w.priority]
				if !ok || lists.keys[j] != keys[i] {
					continue
				}
				candidates = []int{j}
			}
			if at := slices.IndexFunc(candidates, func(j int) bool { return !taken[j] && fits(w, &live[j]) }); at >= 0 {
				take(w, candidates[at])
			}
		}
	}
	// An existing rule of another namespace is not paired, so that its deletion does not wait for the desired rule.
	anyOf := func(w *ruleChange, o *observed.Rule) bool {
		d := deletedRule{owners: ro.ownersOf(*o)}
		return w.rule.Desired.InPlace || d.hasOwnerInNamespace(w.member)
	}
	pass(equalKeys, equal, true, ro.isAsDesired)
	pass(equalKeys, equal, false, ro.isAsDesired)
	pass(keys, alike, true, anyOf)
	pass(keys, alike, false, anyOf)
	return taken
}

// liveRulesByKey has the key of each existing rule (keys), and the ascending indexes of the rules with each key (lists).
type liveRulesByKey struct {
	keys  []string
	lists map[string][]int
}

func newLiveRulesByKey(n int) *liveRulesByKey {
	return &liveRulesByKey{keys: make([]string, n), lists: make(map[string][]int, n)}
}

func (l *liveRulesByKey) add(j int, key string) {
	l.keys[j] = key
	l.lists[key] = append(l.lists[key], j)
}

// unpairedRules returns the indexes of the existing rules with a key, beginning with the first rule that is not paired. It
// removes the paired rules before this rule from the list.
func (l *liveRulesByKey) unpairedRules(key string, taken []bool) []int {
	list := l.lists[key]
	for len(list) > 0 && taken[list[0]] {
		list = list[1:]
	}
	l.lists[key] = list
	return list
}

// isAsDesired reports whether an existing rule, which has the desired conditions, also has the desired actions, client
// secret and transforms.
func (ro *Rollout) isAsDesired(w *ruleChange, o *observed.Rule) bool {
	return equal.SameActions(w.rule.Desired.Actions, o.Actions, ro.TargetGroupARN) && !ro.SecretDiffers(o.ARN, w.rule.Desired.Actions) &&
		equal.SameTransforms(w.rule.Desired.Transforms, o.Transforms)
}

// conditionsAndActionsKey returns a key of the conditions and actions of a rule. Equal rules have the same key; rules with
// different actions seldom have the same key.
func conditionsAndActionsKey(conditions string, actions []model.Action, arn equal.ARNResolver) string {
	var out strings.Builder
	out.WriteString(conditions)
	for _, a := range actions {
		switch a := a.(type) {
		case model.Forward:
			parts, _ := equal.WeightsByARN(a, arn)
			var to []string
			for arn, n := range parts {
				if len(parts) == 1 {
					n = 1
				}
				to = append(to, fmt.Sprint(arn, " ", n))
			}
			slices.Sort(to)
			fmt.Fprint(&out, "\nforward ", to)
		case model.Redirect:
			fmt.Fprint(&out, "\nredirect ", equal.RedirectWithDefaults(a))
		case model.FixedResponse:
			fmt.Fprint(&out, "\nanswer ", a)
		default:
			fmt.Fprintf(&out, "\n%T", a)
		}
	}
	return out.String()
}
