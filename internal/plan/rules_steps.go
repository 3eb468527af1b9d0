package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// rulePlanner emits the steps of one listener.
type rulePlanner struct {
	*ruleRollout
	listener []StepID
	groups   map[string][]StepID
	steps    []StepID // all so far
	created  stepChain
	moved    []StepID
	movers   *overlap.Index // the rules that the order moves
}

// fewSteps is how many other steps one depends on by name. Where there would be more it depends on
// all that they could be among.
const fewSteps = 32

func (r *rulePlanner) address(w *ruleChange) Address {
	switch {
	case w.live != nil:
		return ruleAddress(w.live.ARN)
	case w.takes != nil:
		return ruleAddress(w.takes.ARN)
	}
	return Address{Kind: Rule, ID: naming.RuleID(r.l.desired.Port, w.priority)}
}

func (r *rulePlanner) tagsOf(w *ruleChange) Tags {
	return r.tags(naming.RuleID(r.l.desired.Port, w.priority), w.plan.desired.Tags)
}

func (r *rulePlanner) blame(w *ruleChange) []finding.Ref { return memberOf(r.l, w) }

func (r *rulePlanner) key(w *ruleChange) model.RuleKey { return w.plan.desired.Key(r.l.desired.Port) }

// create emits the new rules; those that take the place of another after the step that vacates it.
func (r *rulePlanner) create(vacated []StepID) {
	chains := map[finding.Ref]*stepChain{} // the new rules of each member
	for i := range r.s.desired {
		w := &r.s.desired[i]
		if w.live != nil {
			continue
		}
		a := r.address(w)
		need := slices.Concat(r.listener, r.claimsOf(w.plan.desired.Member), groupSteps(w.actions, r.groups))
		// A request that two new rules of a member match must meet the first of them first.
		own := chains[w.plan.desired.Member]
		if own == nil {
			own = &stepChain{}
			chains[w.plan.desired.Member] = own
		}
		need = append(need, r.stepsOf(r.s.indexOf("new", w.plan.desired.Member, isNew), w.shape, overlap.Before(i), own, isAny)...)
		if w.takes != nil {
			w.step = r.become(w, append(need, vacated...))
		} else {
			rule := w.plan.desired
			rule.Actions, rule.Transforms = w.actions, w.transforms
			w.step = r.add(Step{
				ID: stepID("create", a), Address: a, Verb: Create,
				Do:  CreateRule{Listener: r.l.address(), Priority: w.at, Rule: rule, Tags: r.ruleTags(r.tagsOf(w))},
				Why: ruleReason(w), After: need, Blames: r.blame(w), Rule: r.key(w), Staged: w.wait.For != "" || w.split,
			})
		}
		r.created.add(w.step)
		own.add(w.step)
	}
	r.steps = append(r.steps, r.created.steps...)
}

// stepsOf are the steps of those rules of an index that overlap with a shape and fit, or, where there
// are too many of them, one for all of the given steps.
func (r *rulePlanner) stepsOf(x *overlap.Index, shape *overlap.Shape, in overlap.Span, all *stepChain, fits func(o *ruleChange) bool) []StepID {
	few, complete := x.Some(shape, in, fewSteps, func(n int32) bool { return r.s.desired[n].step != "" && fits(&r.s.desired[n]) })
	if !complete {
		return []StepID{r.joined(all)}
	}
	var out []StepID
	for _, n := range few {
		out = append(out, r.s.desired[n].step)
	}
	return out
}

// before are the steps that come before a change of the default action: those that create the rules
// of the member whose it is, or all where that is not known.
func (r *rulePlanner) before() []StepID {
	of := r.l.desired.DefaultOf.Object
	if of.IsZero() || r.l.live == nil {
		return r.steps
	}
	var out []StepID
	for i := range r.s.desired {
		if w := &r.s.desired[i]; w.live == nil && w.plan.desired.Member == of {
			out = append(out, w.step)
		}
	}
	return out
}

func ruleReason(w *ruleChange) string {
	if w.plan.held() {
		return "the rule of " + w.plan.desired.Origin.String() + " is held and has no live form to keep"
	}
	return "from " + w.plan.desired.Origin.String()
}

// modify emits the changes of actions that can be made now: with last, after the new rules that take
// requests from the changed ones.
func (r *rulePlanner) modify(last bool) {
	for i := range r.s.desired {
		w := &r.s.desired[i]
		if w.live == nil || !w.modify {
			continue
		}
		a := r.address(w)
		need := append(r.claimsOf(w.plan.desired.Member), groupSteps(w.actions, r.groups)...)
		ahead := overlap.Before(i)
		fresh, below := r.s.indexOf("new", w.plan.desired.Member, isNew), r.s.indexOf("below", w.plan.desired.Member, isBelow)
		if last {
			need = append(need, r.stepsOf(fresh, w.shape, ahead, &r.created, isAny)...)
			need = append(need, r.orderOf(w.shape)...)
		}
		s := Step{
			ID: stepID("modify", a), Address: a, Verb: Update,
			Do:      ModifyRule{Rule: a, Conditions: w.plan.desired.Conditions, Actions: w.actions, Transforms: w.transforms},
			Changes: []Change{{Path: "actions", From: ActionsText(w.live.Actions), To: ActionsText(w.actions)}},
			Why:     ruleReason(w), After: need, Blames: r.blame(w), Rule: r.key(w), Staged: w.wait.For != "",
		}
		// One of the same member that is to take some of its requests comes first.
		if n, found := below.Find(w.shape, ahead); found {
			s.Wait, w.held = r.s.desired[n].below, true
		}
		w.step = r.add(s)
		r.freed(w.live.Actions, w.step)
		r.steps = append(r.steps, w.step)
	}
}

// orderOf is the step that moves rules, if one of these overlaps with a shape.
func (r *rulePlanner) orderOf(shape *overlap.Shape) []StepID {
	if len(r.moved) == 0 {
		return nil
	}
	if _, found := r.movers.Find(shape, overlap.Every); !found {
		return nil
	}
	return r.moved
}

// later emits the changes of actions that wait.
func (r *rulePlanner) later() {
	for i := range r.s.desired {
		w := &r.s.desired[i]
		if w.wait.For == "" {
			continue
		}
		a := r.address(w)
		id := r.add(Step{
			ID: stepID("switch", a), Address: a, Verb: Update, Wait: w.wait,
			Do:  ModifyRule{Rule: a, Conditions: w.plan.desired.Conditions, Actions: w.plan.desired.Actions, Transforms: w.plan.desired.Transforms},
			Why: "traffic moves when the new targets are healthy", After: []StepID{w.step}, Blames: r.blame(w), Rule: r.key(w),
		})
		if w.live != nil {
			r.freed(w.live.Actions, id)
		}
		r.freed(w.actions, id)
		r.steps = append(r.steps, id)
	}
}

// reorder moves the rules to the places that they can have now.
func (r *rulePlanner) reorder() {
	order := r.interim()
	now, later := map[Address]int32{}, map[Address]int32{}
	var wait Wait
	var after, afterLater []StepID
	var movers []int32
	for i := range r.s.desired {
		w := &r.s.desired[i]
		switch {
		case w.below.For != "":
			later[r.address(w)] = w.priority
			afterLater = append(afterLater, w.step)
			wait = w.below
		case w.place() != order.desired[i]:
			now[r.address(w)] = order.desired[i]
			after = append(after, w.step)
			movers = append(movers, int32(i))
		}
	}
	for i, p := range order.gone {
		if d := &r.s.deleted[i]; d.Priority != p {
			now[ruleAddress(d.ARN)] = p
		}
	}
	if len(now) > 0 {
		r.push(now)
		r.movers = overlap.NewIndex(movers, func(n int32) *overlap.Shape { return r.s.desired[n].shape })
		r.moved = append(r.moved, r.prioritise("order", now, order.wait, append(slices.Clone(r.listener), after...)))
		r.steps = append(r.steps, r.moved...)
	}
	if len(later) > 0 {
		if len(now) == 0 {
			r.push(later)
		}
		r.steps = append(r.steps, r.prioritise("switch-order", later, wait, append(afterLater, r.moved...)))
	}
}

// push moves what is to be deleted now below everything, in order.
func (r *rulePlanner) push(to map[Address]int32) {
	p := int32(topPriority)
	for i := len(r.s.deleted) - 1; i >= 0; i-- {
		if d := &r.s.deleted[i]; d.stays.For == "" {
			to[ruleAddress(d.ARN)] = p
			p--
		}
	}
}

func (r *rulePlanner) prioritise(what string, to map[Address]int32, wait Wait, after []StepID) StepID {
	a := r.l.address()
	var changes []Change
	for addr, p := range to {
		changes = append(changes, Change{Path: "priority of " + addr.ID, To: fmt.Sprint(p)})
	}
	slices.SortFunc(changes, func(x, y Change) int { return cmp.Compare(x.Path, y.Path) })
	return r.add(Step{
		ID: stepID(what, a), Address: a, Verb: Update, Do: SetPriorities{Priorities: to}, Changes: changes,
		Why: "rules have to be in order of precedence", Wait: wait, After: after, Blames: r.l.desired.Members,
	})
}

// remove deletes what is not desired, from the bottom up, after what takes its place. It returns the
// deletions that do not wait.
func (r *rulePlanner) remove(middle []StepID) (now []StepID) {
	changed := r.s.index("changed", func(w *ruleChange) bool { return w.step != "" })
	var out stepChain
	all := stepChain{steps: r.steps}
	for i := len(r.s.deleted) - 1; i >= 0; i-- {
		d := &r.s.deleted[i]
		a := ruleAddress(d.ARN)
		after := r.stepsOf(changed, d.shape, overlap.Every, &all, func(o *ruleChange) bool {
			return !o.held || d.sameOwner(o.plan.desired.Member)
		})
		after = append(after, r.orderOf(d.shape)...)
		if d.sameOwner(r.l.desired.DefaultOf.Object) {
			after = append(after, middle...)
		}
		// What it covers would show.
		covered, complete := r.s.goneIndex().Some(d.shape, overlap.Behind(i), fewSteps, func(n int32) bool {
			o := &r.s.deleted[n]
			return o.stays.For == "" && d.maybeOfOwner(o)
		})
		if complete {
			for _, n := range covered {
				after = append(after, r.s.deleted[n].step)
			}
		} else {
			after = append(after, r.joined(&out))
		}
		d.step = r.add(Step{
			ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteRule{ARN: d.ARN},
			Changes: []Change{{Path: "actions", From: ActionsText(d.Actions)}, {Path: "priority", From: fmt.Sprint(d.Priority)}},
			Why:     "no object asks for it any more", Wait: d.stays, Impact: DeleteImpact, Blames: r.l.desired.Members,
			After: after,
		})
		r.freed(d.Actions, d.step)
		r.ruleOwners[d.ARN] = d.of
		out.add(d.step)
		if d.stays.For == "" {
			now = append(now, d.step)
		}
	}
	r.steps = append(slices.Clone(r.steps), out.steps...)
	return now
}

// retag brings the tags of rules that stay up to date; they carry the priority.
func (r *rulePlanner) retag() {
	if !r.opt.RuleTags {
		return
	}
	for i := range r.s.desired {
		w := &r.s.desired[i]
		live := cmp.Or(w.live, w.takes)
		if live == nil {
			continue
		}
		want, after := r.tagsOf(w), r.moved
		if w.takes != nil {
			after = append(slices.Clone(after), w.step)
		}
		if len(r.created.steps) > 0 && r.onlyNumberDiffers(want, live.Tags) {
			// The number of the rule counts the new rules before it. If AWS refuses one of these, it does not
			// change after all: a refused rule must not cost a call for each rule behind it.
			after = append(slices.Clone(after), r.joined(&r.created))
		}
		r.retagBelow(r.l.lb.live.ARN, r.address(w), want, live.Tags, after, r.blame(w))
	}
}

// onlyNumberDiffers reports whether the tag with the number of a rule is the only one to be set, and none
// to be removed.
func (r *rulePlanner) onlyNumberDiffers(want Tags, live map[string]string) bool {
	put, remove := r.tagDrift(want, live, false)
	return len(put) == 1 && put[naming.ResourceTag(r.want.ID.Kind)] != "" && len(remove) == 0
}

// report says for whom traffic waits.
func (r *rulePlanner) report() {
	for i := range r.s.desired {
		w := &r.s.desired[i]
		if wait := cmp.Or(w.wait, w.below); wait.For != "" && !w.plan.held() {
			r.waitForTargets(w.plan.desired.Origin, r.blame(w), fmt.Sprintf("a rule of port %d", r.l.desired.Port), wait)
		}
	}
}
