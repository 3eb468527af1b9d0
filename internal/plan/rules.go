package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
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
	modify   bool           // conditions stay, actions or transforms change
	wait     string         // for what the final actions, or the move to the final place, wait
	at       int32          // where a new rule is created
	step     StepID         // that creates or changes it
}

// ruleSet is the difference of one listener's rules.
type ruleSet struct {
	wished  []ruleChange
	deleted []observed.Rule // ascending by priority
}

func (s *ruleSet) fresh() []*ruleChange {
	var out []*ruleChange
	for i := range s.wished {
		if s.wished[i].live == nil {
			out = append(out, &s.wished[i])
		}
	}
	return out
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
		s.wished = append(s.wished, ruleChange{plan: &l.rules[i], priority: int32(i + 1), actions: l.rules[i].wish.Actions})
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
		return alike(w, o) && sameActions(w.plan.wish.Actions, o.Actions, b.arn) && sameTransforms(w.plan.wish.Transforms, o.Transforms)
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
		if w.live == nil || equal(w, *w.live) || w.plan.kept != nil {
			continue
		}
		now, wait := b.shift(w.plan.wish.Actions, w.live.Actions)
		w.wait = wait
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
		if w.live == nil {
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
	fresh, ordered := len(s.fresh()) > 0, s.inOrder()
	if ordered && (!fresh || len(s.deleted) == 0) {
		return fresh
	}
	var gone []observed.Rule
	for i := range s.wished {
		w := &s.wished[i]
		if w.live == nil || !w.modify || w.wait != "" || !s.interferes(w, ordered) {
			continue
		}
		gone = append(gone, *w.live)
		w.live, w.modify = nil, false
	}
	s.deleted = append(s.deleted, gone...)
	slices.SortFunc(s.deleted, func(a, b observed.Rule) int { return cmp.Compare(a.Priority, b.Priority) })
	return false
}

func (s *ruleSet) interferes(w *ruleChange, ordered bool) bool {
	for i := range s.wished {
		o := &s.wished[i]
		if o != w && (o.live == nil || !ordered) && overlap(o.plan.wish.Conditions, w.plan.wish.Conditions) {
			return true
		}
	}
	return slices.ContainsFunc(s.deleted, func(o observed.Rule) bool { return overlap(o.Conditions, w.plan.wish.Conditions) })
}

// stage decides which new rules have to stay below until their targets are healthy.
func (b *builder) stage(l *listenerPlan, s *ruleSet) {
	if l.live == nil {
		return
	}
	for i := range s.wished {
		n := &s.wished[i]
		if n.live != nil {
			continue
		}
		f := forwardOf(n.plan.wish.Actions)
		if f == nil {
			n.wait = ""
			continue
		}
		old := s.answering(i)
		if len(old) == 0 || !b.serving(old) {
			n.wait = s.behindStaged(i)
			continue
		}
		for _, g := range f.Groups {
			if weight(g.Weight) > 0 && !b.ready(b.arn(g.Group)) {
				n.wait = "healthy targets in " + refText(g.Group)
			}
		}
		n.wait = cmp.Or(n.wait, s.behindStaged(i))
	}
}

// answering lists the target groups of live rules that answer requests of the i-th wished rule now.
func (s *ruleSet) answering(i int) []string {
	var out []string
	note := func(o observed.Rule) {
		if f := forwardOf(o.Actions); f != nil && overlap(o.Conditions, s.wished[i].plan.wish.Conditions) {
			for _, g := range f.Groups {
				out = append(out, g.Group.ARN)
			}
		}
	}
	for j := i + 1; j < len(s.wished); j++ {
		if s.wished[j].live != nil {
			note(*s.wished[j].live)
		}
	}
	for _, d := range s.deleted {
		note(d)
	}
	return out
}

// behindStaged is the reason for which a rule has to stay behind one of higher precedence.
func (s *ruleSet) behindStaged(i int) string {
	for j := range i {
		o := &s.wished[j]
		if o.live == nil && o.wait != "" && overlap(o.plan.wish.Conditions, s.wished[i].plan.wish.Conditions) {
			return o.wait
		}
	}
	return ""
}

// place chooses where new rules are created.
func (s *ruleSet) place(live []observed.Rule) {
	used := map[int32]bool{}
	bottom := int32(len(s.wished))
	for _, o := range live {
		used[o.Priority] = true
		bottom = max(bottom, o.Priority)
	}
	for i := range s.wished {
		n := &s.wished[i]
		if n.live != nil {
			continue
		}
		if n.wait == "" && !used[n.priority] && s.fits(i) {
			n.at = n.priority
		} else {
			bottom++
			if bottom > topPriority {
				bottom = int32(len(s.wished)) + 1
			}
			for used[bottom] {
				bottom++
			}
			n.at = bottom
		}
		used[n.at] = true
	}
}

// fits says whether the i-th rule's own place is between its neighbours that stay.
func (s *ruleSet) fits(i int) bool {
	for j, o := range s.wished {
		if o.live != nil && (j < i) != (o.live.Priority < s.wished[i].priority) {
			return false
		}
		if o.live == nil && j < i && o.at > s.wished[i].priority {
			return false
		}
	}
	return true
}

func (b *builder) planRules(l *listenerPlan, listener []StepID, groups map[string][]StepID, middle func(after []StepID) ([]StepID, string)) []StepID {
	s := b.pairRules(l)
	modifyLast := s.split()
	b.stage(l, &s)
	var live []observed.Rule
	if l.live != nil {
		live = l.live.Rules
	}
	s.place(live)
	r := rulePlanner{b: b, l: l, s: &s, listener: listener, groups: groups}
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
	if !b.opt.Tight {
		r.remove(r.steps, wait)
	}
	r.retag()
	r.report()
	return r.steps
}

// rulePlanner emits the steps of one listener.
type rulePlanner struct {
	b        *builder
	l        *listenerPlan
	s        *ruleSet
	listener []StepID
	groups   map[string][]StepID
	steps    []StepID
	moved    []StepID
}

func (r *rulePlanner) address(w *ruleChange) Address {
	if w.live != nil {
		return ruleAddress(w.live.ARN)
	}
	return Address{Kind: Rule, ID: naming.RuleID(r.l.wish.Port, w.priority)}
}

func (r *rulePlanner) tags(w *ruleChange) Tags {
	return r.b.tags(naming.RuleID(r.l.wish.Port, w.priority), w.plan.wish.Tags)
}

func (r *rulePlanner) blame(w *ruleChange) []finding.Ref {
	if w.plan.wish.Member.IsZero() {
		return r.l.wish.Members
	}
	return []finding.Ref{w.plan.wish.Member}
}

func (r *rulePlanner) create(after []StepID) {
	for i := range r.s.wished {
		w := &r.s.wished[i]
		if w.live != nil {
			continue
		}
		a := r.address(w)
		need := append(slices.Clone(r.listener), after...)
		need = append(need, groupSteps(w.actions, r.groups)...)
		// A request that two new rules match must meet the first of them first.
		for j := range i {
			o := &r.s.wished[j]
			if o.step != "" && o.live == nil && overlap(o.plan.wish.Conditions, w.plan.wish.Conditions) {
				need = append(need, o.step)
			}
		}
		rule := w.plan.wish
		rule.Actions = w.actions
		w.step = r.b.add(Step{
			ID: stepID("create", a), Address: a, Verb: Create,
			Do:  CreateRule{Listener: listenerAddress(r.l.wish.Port), Priority: w.at, Rule: rule, Tags: r.b.ruleTags(r.tags(w))},
			Why: ruleReason(w), After: need, Blames: r.blame(w),
		})
		r.steps = append(r.steps, w.step)
	}
}

func ruleReason(w *ruleChange) string {
	if w.plan.held {
		return "the rule of " + w.plan.wish.Origin.String() + " is held and has no live form to keep"
	}
	return "from " + w.plan.wish.Origin.String()
}

func (r *rulePlanner) modify() {
	for i := range r.s.wished {
		w := &r.s.wished[i]
		if w.live == nil || !w.modify {
			continue
		}
		a := r.address(w)
		w.step = r.b.add(Step{
			ID: stepID("modify", a), Address: a, Verb: Update,
			Do:      ModifyRule{Rule: a, Conditions: w.plan.wish.Conditions, Actions: w.actions, Transforms: w.plan.wish.Transforms},
			Changes: []Change{{Path: "actions", From: actionsText(w.live.Actions), To: actionsText(w.actions)}},
			Why:     ruleReason(w), After: append(groupSteps(w.actions, r.groups), r.steps...), Blames: r.blame(w),
		})
		r.steps = append(r.steps, w.step)
	}
	for i := range r.s.wished {
		w := &r.s.wished[i]
		if w.live == nil || w.wait == "" {
			continue
		}
		a := r.address(w)
		r.steps = append(r.steps, r.b.add(Step{
			ID: stepID("switch", a), Address: a, Verb: Update, Wait: w.wait,
			Do:  ModifyRule{Rule: a, Conditions: w.plan.wish.Conditions, Actions: w.plan.wish.Actions, Transforms: w.plan.wish.Transforms},
			Why: "traffic moves when the new targets are healthy", After: []StepID{w.step}, Blames: r.blame(w),
		}))
	}
}

// late says whether a rule that is to go still answers for one that waits below.
func (r *rulePlanner) late() string {
	for i := range r.s.wished {
		w := &r.s.wished[i]
		if w.wait == "" || w.live != nil {
			continue
		}
		for _, d := range r.s.deleted {
			if overlap(d.Conditions, w.plan.wish.Conditions) {
				return w.wait
			}
		}
	}
	return ""
}

func (r *rulePlanner) reorder() {
	now, later := map[Address]int32{}, map[Address]int32{}
	wait := ""
	final := map[int32]bool{}
	var after, afterLater []StepID
	for i := range r.s.wished {
		w := &r.s.wished[i]
		at := w.at
		if w.live != nil {
			at = w.live.Priority
		}
		if w.live == nil && w.wait != "" {
			later[r.address(w)] = w.priority
			afterLater = append(afterLater, w.step)
			wait = w.wait
			continue
		}
		final[w.priority] = true
		if at != w.priority {
			now[r.address(w)] = w.priority
			if w.live == nil {
				after = append(after, w.step)
			}
		}
	}
	if len(now) > 0 {
		pushed := int32(topPriority)
		if slices.ContainsFunc(r.s.deleted, func(d observed.Rule) bool { return final[d.Priority] }) {
			for _, d := range slices.Backward(r.s.deleted) {
				now[ruleAddress(d.ARN)] = pushed
				pushed--
			}
		}
		r.moved = append(r.moved, r.prioritise("order", now, r.late(), append(slices.Clone(r.listener), after...)))
		r.steps = append(r.steps, r.moved...)
	}
	if len(later) > 0 {
		r.steps = append(r.steps, r.prioritise("switch-order", later, wait, append(afterLater, r.moved...)))
	}
}

func (r *rulePlanner) prioritise(what string, to map[Address]int32, wait string, after []StepID) StepID {
	a := listenerAddress(r.l.wish.Port)
	var changes []Change
	for addr, p := range to {
		changes = append(changes, Change{Path: "priority of " + addr.ID, To: fmt.Sprint(p)})
	}
	slices.SortFunc(changes, func(x, y Change) int { return cmp.Compare(x.Path, y.Path) })
	return r.b.add(Step{
		ID: stepID(what, a), Address: a, Verb: Update, Do: SetPriorities{Priorities: to}, Changes: changes,
		Why: "rules have to stand in order of precedence", Wait: wait, After: after, Blames: r.l.wish.Members,
	})
}

func (r *rulePlanner) remove(after []StepID, wait string) []StepID {
	wait = cmp.Or(r.late(), wait)
	var out []StepID
	for _, d := range slices.Backward(r.s.deleted) {
		a := ruleAddress(d.ARN)
		id := r.b.add(Step{
			ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteRule{ARN: d.ARN},
			Changes: []Change{{Path: "actions", From: actionsText(d.Actions)}, {Path: "priority", From: fmt.Sprint(d.Priority)}},
			Why:     "no object asks for it any more", Wait: wait, Impact: DeleteImpact, Blames: r.l.wish.Members,
			After: append(slices.Clone(after), out...),
		})
		out = append(out, id)
	}
	r.steps = append(r.steps, out...)
	return out
}

// retag brings the tags of rules that stay up to date; they carry the priority.
func (r *rulePlanner) retag() {
	if !r.b.opt.RuleTags {
		return
	}
	for i := range r.s.wished {
		w := &r.s.wished[i]
		if w.live != nil {
			r.b.retag(r.address(w), r.tags(w), w.live.Tags, false, r.moved, r.blame(w))
		}
	}
}

// report says for whom traffic waits.
func (r *rulePlanner) report() {
	for i := range r.s.wished {
		w := &r.s.wished[i]
		if w.wait != "" && !w.plan.held {
			r.b.waitForTargets(w.plan.wish.Origin, r.blame(w), fmt.Sprintf("a rule of port %d", r.l.wish.Port), w.wait)
		}
	}
}
