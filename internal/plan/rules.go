package plan

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// How the rules of a listener are changed without a gap
//
// Between any two steps every request must get its old or its new answer. AWS changes one rule a
// call, except that SetRulePriorities moves any number at once. With O the live rules and N the
// wished ones:
//
//  1. Rules that are in both (same conditions, transforms, actions) are only moved.
//  2. New rules are created from the top of N down: at their own place where that is free and in
//     order, else below everything, where an old rule that covers them still answers.
//  3. One SetRulePriorities brings N into order and pushes what is not in N below it, in order.
//  4. What is not in N is deleted from the bottom up.
//
// A rule whose conditions stay and whose action changes is modified in place where no other
// changing rule could match the same request: before (3) if nothing is new, at the end if nothing
// is deleted or reordered. Otherwise the new form is created and the old one deleted.
//
// A new rule whose targets are not healthy yet, and whose requests an old rule answers now, stays
// below until they are. Deletions wait for it.

// topPriority is the highest priority that AWS takes.
const topPriority = 50000

// ruleChange is what happens to one wished rule.
type ruleChange struct {
	plan     *rulePlan
	priority int32          // wished
	live     *observed.Rule // nil: to be created
	actions  []model.Action // to be set now
	// transforms to be set now: those of the traffic that the actions carry.
	transforms []model.Transform
	modify     bool   // conditions stay, actions or transforms change
	wait       string // for what the final actions wait
	below      string // for what the move to the final place waits
	at         int32  // where a new rule is created
	step       StepID // that creates or changes it
	split      bool   // it is created beside the live form that it takes the place of
}

// ruleSet is the difference of one listener's rules.
type ruleSet struct {
	wished  []ruleChange
	deleted []observed.Rule // ascending by priority
}

// at is where the rule stands, or will be created.
func (w *ruleChange) place() int32 {
	if w.live != nil {
		return w.live.Priority
	}
	return w.at
}

// comes says whether a rule is new, or not at its place because it waits.
func (s *ruleSet) comes() bool {
	return slices.ContainsFunc(s.wished, func(w ruleChange) bool { return w.live == nil || w.below != "" })
}

// pairRules finds for each wished rule the live one that it is, or grows out of.
func (b *builder) pairRules(l *listenerPlan) ruleSet {
	var s ruleSet
	var live []observed.Rule
	if l.live != nil {
		live = l.live.Rules
	}
	taken := make([]bool, len(live))
	for i := range l.rules {
		s.wished = append(s.wished, ruleChange{plan: &l.rules[i], priority: int32(i + 1), actions: l.rules[i].wish.Actions, transforms: l.rules[i].wish.Transforms})
	}
	pass := func(fits func(w *ruleChange, o observed.Rule) bool) {
		for i := range s.wished {
			w := &s.wished[i]
			for j, o := range live {
				if w.live == nil && !taken[j] && fits(w, o) {
					w.live, taken[j] = &live[j], true
				}
			}
		}
	}
	kept := func(w *ruleChange, o observed.Rule) bool { return w.plan.kept != nil && w.plan.kept.ARN == o.ARN }
	alike := func(w *ruleChange, o observed.Rule) bool {
		return w.plan.kept == nil && sameConditions(w.plan.wish.Conditions, o.Conditions)
	}
	equal := func(w *ruleChange, o observed.Rule) bool {
		return alike(w, o) && sameActions(w.plan.wish.Actions, o.Actions, b.arn) && !b.otherSecret(o.ARN, w.plan.wish.Actions) &&
			sameTransforms(w.plan.wish.Transforms, o.Transforms)
	}
	here := func(f func(*ruleChange, observed.Rule) bool) func(*ruleChange, observed.Rule) bool {
		return func(w *ruleChange, o observed.Rule) bool { return w.priority == o.Priority && f(w, o) }
	}
	pass(kept)
	pass(here(equal))
	pass(equal)
	pass(here(alike))
	pass(alike)
	for j, o := range live {
		if !taken[j] {
			s.deleted = append(s.deleted, o)
		}
	}
	for i := range s.wished {
		w := &s.wished[i]
		if w.live == nil || w.plan.kept != nil {
			continue
		}
		if equal(w, *w.live) {
			b.assumeSecret(w.live.ARN, w.plan.wish.Actions)
			continue
		}
		now, wait := b.shift(w.plan.wish.Actions, w.live.Actions)
		if w.plan.wish.InPlace {
			now, wait = w.plan.wish.Actions, ""
		}
		w.wait = wait
		if wait != "" {
			w.transforms = w.live.Transforms
		}
		if wait == "" || !sameActions(now, w.live.Actions, b.arn) {
			w.modify, w.actions = true, now
		}
	}
	return s
}

// inOrder says whether the rules that stay keep their order.
func (s *ruleSet) inOrder() bool {
	last := int32(0)
	for _, w := range s.wished {
		if w.live == nil || w.below != "" {
			continue
		}
		if w.live.Priority < last {
			return false
		}
		last = w.live.Priority
	}
	return true
}

// split turns a modification that other changes could interfere with into a new rule and a
// deletion. It says whether modifications that remain have to come last.
func (s *ruleSet) split() (modifyLast bool) {
	fresh, ordered := s.comes(), s.inOrder()
	if ordered && (!fresh || len(s.deleted) == 0) {
		return fresh
	}
	var gone []observed.Rule
	for i := range s.wished {
		w := &s.wished[i]
		if w.live == nil || !w.modify || w.wait != "" || w.plan.wish.InPlace || !s.interferes(w, ordered) {
			continue
		}
		gone = append(gone, *w.live)
		w.live, w.modify, w.split = nil, false, true
	}
	s.deleted = append(s.deleted, gone...)
	slices.SortFunc(s.deleted, func(a, b observed.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	return false
}

func (s *ruleSet) interferes(w *ruleChange, ordered bool) bool {
	for i := range s.wished {
		o := &s.wished[i]
		if o != w && (o.live == nil || o.below != "" || !ordered) && overlap(o.plan.wish.Conditions, w.plan.wish.Conditions) {
			return true
		}
	}
	return slices.ContainsFunc(s.deleted, func(o observed.Rule) bool { return overlap(o.Conditions, w.plan.wish.Conditions) })
}

func (b *builder) planRules(l *listenerPlan, listener []StepID, groups map[string][]StepID, middle func(after []StepID) ([]StepID, string)) []StepID {
	room := b.makeRoom(l, listener)
	listener = append(slices.Clone(listener), room...)
	s := b.pairRules(l)
	b.stage(l, &s)
	modifyLast := s.split()
	b.stage(l, &s)
	var live []observed.Rule
	if l.live != nil {
		live = l.live.Rules
	}
	s.place(live)
	r := rulePlanner{b: b, l: l, s: &s, listener: listener, groups: groups, steps: room}
	var early []StepID
	if b.opt.Tight {
		early = r.remove(nil, "")
	}
	if !modifyLast {
		r.modify()
	}
	r.create(early)
	mid, wait := middle(r.steps)
	r.steps = append(r.steps, mid...)
	r.reorder()
	if modifyLast {
		r.modify()
	}
	r.later()
	if !b.opt.Tight {
		r.remove(r.steps, wait)
	}
	r.retag()
	r.report()
	return r.steps
}
