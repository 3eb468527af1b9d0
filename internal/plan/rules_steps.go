package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

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

func (r *rulePlanner) key(w *ruleChange) model.RuleKey { return w.plan.wish.Key(r.l.wish.Port) }

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
		rule.Actions, rule.Transforms = w.actions, w.transforms
		w.step = r.b.add(Step{
			ID: stepID("create", a), Address: a, Verb: Create,
			Do:  CreateRule{Listener: listenerAddress(r.l.wish.Port), Priority: w.at, Rule: rule, Tags: r.b.ruleTags(r.tags(w))},
			Why: ruleReason(w), After: need, Blames: r.blame(w), Rule: r.key(w), Staged: w.wait != "" || w.split,
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
			Do:      ModifyRule{Rule: a, Conditions: w.plan.wish.Conditions, Actions: w.actions, Transforms: w.transforms},
			Changes: []Change{{Path: "actions", From: actionsText(w.live.Actions), To: actionsText(w.actions)}},
			Wait:    r.ahead(i),
			Why:     ruleReason(w), After: append(groupSteps(w.actions, r.groups), r.steps...), Blames: r.blame(w), Rule: r.key(w), Staged: w.wait != "",
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
			Why: "traffic moves when the new targets are healthy", After: []StepID{w.step}, Blames: r.blame(w), Rule: r.key(w),
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
			r.b.retagBelow(r.b.live.ARN, r.address(w), r.tags(w), w.live.Tags, r.moved, r.blame(w))
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
