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

// stagePriority is where rules wait for their targets, out of the way of all others.
const stagePriority = 40000

// topPriority is the highest priority that AWS takes.
const topPriority = 50000

// ruleChange is what happens to one wished rule.
type ruleChange struct {
	plan     *rulePlan
	priority int32          // wished
	live     *observed.Rule // nil: to be created
	actions  []model.Action // to be set now
	modify   bool           // conditions stay, actions or transforms change
	wait     string         // for what the final actions wait
	below    string         // for what the move to the final place waits
	at       int32          // where a new rule is created
	step     StepID         // that creates or changes it
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
		if o != w && (o.live == nil || o.below != "" || !ordered) && overlap(o.plan.wish.Conditions, w.plan.wish.Conditions) {
			return true
		}
	}
	return slices.ContainsFunc(s.deleted, func(o observed.Rule) bool { return overlap(o.Conditions, w.plan.wish.Conditions) })
}

// stage decides which rules have to stay below until their targets are healthy: those that would
// take requests from rules that answer them now with healthy targets. A new rule whose requests
// the default action answers now begins with that answer.
func (b *builder) stage(l *listenerPlan, s *ruleSet) {
	if l.live == nil {
		return
	}
	for i := range s.wished {
		w := &s.wished[i]
		w.below = ""
		f := forwardOf(w.plan.wish.Actions)
		if f == nil || w.live != nil && w.live.Priority == w.priority {
			w.below = s.behind(i)
			continue
		}
		if w.live == nil && !w.plan.held {
			w.actions, w.wait = b.shift(w.plan.wish.Actions, l.live.Default)
		}
		old, masked := s.answering(i)
		if masked {
			// What it answers for now is not for requests that other rules answer.
			w.below = w.wait
		}
		if len(old) > 0 {
			for _, g := range f.Groups {
				if arn := b.arn(g.Group); weight(g.Weight) > 0 && !slices.Contains(old, arn) && !b.ready(arn) && b.serving(old) {
					w.below = "healthy targets in " + refText(g.Group)
				}
			}
		}
		w.below = cmp.Or(w.below, s.behind(i))
	}
}

// answering lists the target groups of live rules that stand before the i-th wished rule now, may
// match its requests, and will not stand before it any more. Masked says that there are such
// rules, whatever they do.
func (s *ruleSet) answering(i int) (out []string, masked bool) {
	me := &s.wished[i]
	note := func(o observed.Rule) {
		if me.live != nil && me.live.Priority < o.Priority {
			return
		}
		if !overlap(o.Conditions, me.plan.wish.Conditions) {
			return
		}
		masked = true
		if f := forwardOf(o.Actions); f != nil {
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
	return out, masked
}

// behind is the reason for which a rule that moves or is new has to stay behind one of higher
// precedence that stays below.
func (s *ruleSet) behind(i int) string {
	me := &s.wished[i]
	for j := range i {
		o := &s.wished[j]
		if o.below == "" || !overlap(o.plan.wish.Conditions, me.plan.wish.Conditions) {
			continue
		}
		if me.live == nil || o.live != nil && me.live.Priority > o.live.Priority {
			return o.below
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
		switch {
		case n.below != "":
			n.at = free(used, max(stagePriority, bottom+1))
			bottom = n.at
		case !used[n.priority] && s.fits(i):
			n.at = n.priority
		default:
			n.at = free(used, bottom+1)
			bottom = n.at
		}
		used[n.at] = true
	}
}

// free returns the first priority from the given one on that no rule has.
func free(used map[int32]bool, from int32) int32 {
	for used[from] {
		from++
	}
	return from
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
	b.stage(l, &s)
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
	r.later()
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
			Wait:    r.ahead(i),
			Why:     ruleReason(w), After: append(groupSteps(w.actions, r.groups), r.steps...), Blames: r.blame(w),
		})
		r.steps = append(r.steps, w.step)
	}
}

// ahead says for what a modification waits: a rule of higher precedence that is to take some of
// its requests, and stays below for now.
func (r *rulePlanner) ahead(i int) string {
	for j := range i {
		o := &r.s.wished[j]
		if o.below != "" && overlap(o.plan.wish.Conditions, r.s.wished[i].plan.wish.Conditions) {
			return o.below
		}
	}
	return ""
}

// later emits the changes of actions that wait.
func (r *rulePlanner) later() {
	for i := range r.s.wished {
		w := &r.s.wished[i]
		if w.wait == "" {
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

// late says for what the reordering and the deletions have to wait: a rule whose new form is not
// in force yet, where a rule that is to go, or to move, answers its requests.
func (r *rulePlanner) late() string {
	ordered := r.s.inOrder()
	for i := range r.s.wished {
		w := &r.s.wished[i]
		wait := cmp.Or(w.wait, w.below)
		if wait == "" {
			continue
		}
		if !ordered && w.wait != "" {
			return wait
		}
		for _, d := range r.s.deleted {
			if overlap(d.Conditions, w.plan.wish.Conditions) {
				return wait
			}
		}
	}
	return ""
}

// fallThrough says for what deletions have to wait when their requests will reach a default
// action whose targets are not healthy yet.
func (r *rulePlanner) fallThrough() string {
	f := forwardOf(r.l.defaults)
	if f == nil || len(r.s.deleted) == 0 {
		return ""
	}
	var old []string
	for _, d := range r.s.deleted {
		if o := forwardOf(d.Actions); o != nil {
			for _, g := range o.Groups {
				old = append(old, g.Group.ARN)
			}
		}
	}
	for _, g := range f.Groups {
		arn := r.b.arn(g.Group)
		if weight(g.Weight) > 0 && !slices.Contains(old, arn) && len(old) > 0 && !r.b.ready(arn) && r.b.serving(old) {
			return "healthy targets in " + refText(g.Group)
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
		if w.below != "" {
			later[r.address(w)] = w.priority
			afterLater = append(afterLater, w.step)
			wait = w.below
			continue
		}
		final[w.priority] = true
		if w.place() != w.priority {
			now[r.address(w)] = w.priority
			after = append(after, w.step)
		}
	}
	if len(now) > 0 {
		r.push(now)
		r.moved = append(r.moved, r.prioritise("order", now, cmp.Or(r.late(), r.inTheWay(final)), append(slices.Clone(r.listener), after...)))
		r.steps = append(r.steps, r.moved...)
	}
	if len(later) > 0 {
		if len(now) == 0 {
			r.push(later)
		}
		r.steps = append(r.steps, r.prioritise("switch-order", later, wait, append(afterLater, r.moved...)))
	}
}

// inTheWay says for what the order waits when a live rule that stays where it is has a place that
// another needs, or would be passed by one that answers its requests.
func (r *rulePlanner) inTheWay(final map[int32]bool) string {
	for i := range r.s.wished {
		b := &r.s.wished[i]
		if b.below == "" || b.live == nil {
			continue
		}
		if final[b.live.Priority] {
			return b.below
		}
		for j := range r.s.wished {
			w := &r.s.wished[j]
			passes := w.below == "" && (w.place() < b.live.Priority) != (w.priority < b.live.Priority)
			if passes && w.live != nil && overlap(w.plan.wish.Conditions, b.plan.wish.Conditions) {
				return b.below
			}
		}
	}
	return ""
}

// push moves what is to be deleted below everything, in order.
func (r *rulePlanner) push(to map[Address]int32) {
	p := int32(topPriority)
	for _, d := range slices.Backward(r.s.deleted) {
		to[ruleAddress(d.ARN)] = p
		p--
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
	wait = cmp.Or(r.late(), wait, r.fallThrough())
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
		if wait := cmp.Or(w.wait, w.below); wait != "" && !w.plan.held {
			r.b.waitForTargets(w.plan.wish.Origin, r.blame(w), fmt.Sprintf("a rule of port %d", r.l.wish.Port), wait)
		}
	}
}
