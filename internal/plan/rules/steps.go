package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// TargetGroupSteps returns the steps that create the target groups of actions. groups has the creation steps by the ID of
// the target group.
func TargetGroupSteps(actions []model.Action, groups map[string][]plan.StepID) []plan.StepID {
	var out []plan.StepID
	for _, g := range model.ForwardedTargetGroups(actions) {
		out = append(out, groups[g.Group.ID]...)
	}
	return out
}

// rulePlanner adds the steps for the rules of one listener.
type rulePlanner struct {
	*Rollout
	listenerSteps    []plan.StepID
	targetGroupSteps map[string][]plan.StepID
	steps            []plan.StepID // all steps for rules that are planned so far
	creationSteps    draft.StepChain
	prioritySteps    []plan.StepID
	movedRulesIndex  *overlap.Index // index of the rules whose priorities change
}

// maxNamedSteps is the maximum number of overlapping rules on whose steps a step depends individually. If there are more,
// the step depends on a join of all of their steps.
const maxNamedSteps = 32

func (r *rulePlanner) ruleAddress(w *ruleChange) plan.Address {
	switch {
	case w.live != nil:
		return plan.RuleAddress(w.live.ARN)
	case w.replaces != nil:
		return plan.RuleAddress(w.replaces.ARN)
	}
	return plan.Address{Kind: plan.Rule, ID: naming.RuleID(r.Listener.Desired.Port, w.priority)}
}

func (r *rulePlanner) tagsOf(w *ruleChange) plan.Tags {
	return r.Tags(naming.RuleID(r.Listener.Desired.Port, w.priority), w.rule.Desired.Tags)
}

func (r *rulePlanner) affectedMembers(w *ruleChange) []finding.Ref {
	return affectedMembersOf(r.Listener, w)
}

func (r *rulePlanner) ruleKey(w *ruleChange) model.RuleKey {
	return w.rule.Desired.Key(r.Listener.Desired.Port)
}

// createRules plans to create the new rules. New rules that replace an existing rule come after the steps in vacated, which
// move the existing rules.
func (r *rulePlanner) createRules(vacated []plan.StepID) {
	chains := map[finding.Ref]*draft.StepChain{} // steps that create the new rules of each member
	for i, w := range r.set.desired {
		if w.live != nil {
			continue
		}
		a := r.ruleAddress(w)
		need := slices.Concat(r.listenerSteps, r.ClaimStepsOf(w.rule.Desired.Member), TargetGroupSteps(w.actions, r.targetGroupSteps))
		// A request that two new rules of a member match must not be answered by the second rule before the first rule
		// exists.
		own := chains[w.member]
		if own == nil {
			own = &draft.StepChain{}
			chains[w.member] = own
		}
		need = append(need, r.stepsOfOverlappingRules(r.set.memberIndex("new", w.member, isNew), w.shape, overlap.SpanBefore(i), own, anyRule)...)
		if w.replaces != nil {
			w.step = r.replaceRule(w, append(need, vacated...))
		} else {
			rule := w.rule.Desired
			rule.Actions, rule.Transforms = w.actions, w.transforms
			w.step = r.Add(plan.Step{
				ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
				Do:  plan.CreateRule{Listener: r.Listener.Address(), Priority: w.createAt, Rule: rule, Tags: r.RuleTags(r.tagsOf(w))},
				Why: ruleReason(w), After: need, RequestedBy: r.affectedMembers(w), Rule: r.ruleKey(w), NeedsExtraQuota: w.actionsWait.For != "" || w.isSplit,
			})
		}
		r.creationSteps.Add(w.step)
		own.Add(w.step)
	}
	r.steps = append(r.steps, r.creationSteps.Steps...)
}

// stepsOfOverlappingRules returns the steps of those rules of an index that overlap with a shape and for which fits returns
// true. If there are more than maxNamedSteps, it returns a join of the steps in all.
func (r *rulePlanner) stepsOfOverlappingRules(x *overlap.Index, shape *overlap.Shape, in overlap.Span, all *draft.StepChain, fits func(o *ruleChange) bool) []plan.StepID {
	few, complete := x.FindOverlaps(shape, in, maxNamedSteps, func(n int32) bool { return r.set.desired[n].step != "" && fits(r.set.desired[n]) })
	if !complete {
		return []plan.StepID{r.Join(all)}
	}
	var out []plan.StepID
	for _, n := range few {
		out = append(out, r.set.desired[n].step)
	}
	return out
}

// stepsBeforeDefault returns the steps that come before a change of the default action: the steps that create rules of the
// member that sets the default action, or all steps if the member is not known.
func (r *rulePlanner) stepsBeforeDefault() []plan.StepID {
	of := r.Listener.Desired.DefaultOf.Object
	if of.IsZero() || r.Listener.Live == nil || r.IsHandingOver() {
		return r.steps
	}
	var out []plan.StepID
	for _, w := range r.set.desired {
		if w.live == nil && w.member == of {
			out = append(out, w.step)
		}
	}
	return out
}

func ruleReason(w *ruleChange) string {
	if w.rule.IsHeld() {
		return "the rule of " + w.rule.Desired.Origin.String() + " is held and does not exist in AWS"
	}
	return "from " + w.rule.Desired.Origin.String()
}

// modifyRules plans the changes of actions that can be made now. If last is set, the change of a rule comes after the steps
// that create rules which will answer some of its requests.
func (r *rulePlanner) modifyRules(last bool) {
	for i, w := range r.set.desired {
		if w.live == nil || !w.isModified {
			continue
		}
		a := r.ruleAddress(w)
		need := append(r.ClaimStepsOf(w.rule.Desired.Member), TargetGroupSteps(w.actions, r.targetGroupSteps)...)
		ahead := overlap.SpanBefore(i)
		fresh, below := r.set.memberIndex("new", w.member, isNew), r.set.memberIndex("below", w.member, isStaged)
		if last {
			need = append(need, r.stepsOfOverlappingRules(fresh, w.shape, ahead, &r.creationSteps, anyRule)...)
			need = append(need, r.priorityStepsOf(w.shape)...)
		}
		s := plan.Step{
			ID: plan.NewStepID("modify", a), Address: a, Verb: plan.Update,
			Do:      plan.ModifyRule{Rule: a, Conditions: w.rule.Desired.Conditions, Actions: w.actions, Transforms: w.transforms},
			Changes: []plan.Change{{Path: "actions", From: plan.ActionsText(w.live.Actions), To: plan.ActionsText(w.actions)}},
			Why:     ruleReason(w), After: need, RequestedBy: r.affectedMembers(w), Rule: r.ruleKey(w), NeedsExtraQuota: w.actionsWait.For != "",
		}
		// The change waits for a staged rule of the same member that will answer some of the requests of this rule.
		if n, found := below.FindOverlap(w.shape, ahead); found {
			s.Wait, w.waitsForRule = r.set.desired[n].stagedWait, true
		}
		w.step = r.Add(s)
		r.RecordFreeingStep(w.live.Actions, w.step)
		r.steps = append(r.steps, w.step)
	}
}

// priorityStepsOf returns the step that changes priorities, if it moves a rule that overlaps with a shape.
func (r *rulePlanner) priorityStepsOf(shape *overlap.Shape) []plan.StepID {
	if len(r.prioritySteps) == 0 {
		return nil
	}
	if _, found := r.movedRulesIndex.FindOverlap(shape, overlap.AllRules); !found {
		return nil
	}
	return r.prioritySteps
}

// changeDelayedActions plans the changes of actions that wait.
func (r *rulePlanner) changeDelayedActions() {
	for _, w := range r.set.desired {
		if w.actionsWait.For == "" {
			continue
		}
		a := r.ruleAddress(w)
		id := r.Add(plan.Step{
			ID: plan.NewStepID("switch", a), Address: a, Verb: plan.Update, Wait: w.actionsWait,
			Do:  plan.ModifyRule{Rule: a, Conditions: w.rule.Desired.Conditions, Actions: w.rule.Desired.Actions, Transforms: w.rule.Desired.Transforms},
			Why: "traffic moves when the new targets are healthy", After: []plan.StepID{w.step}, RequestedBy: r.affectedMembers(w), Rule: r.ruleKey(w),
		})
		if w.live != nil {
			r.RecordFreeingStep(w.live.Actions, id)
		}
		r.RecordFreeingStep(w.actions, id)
		r.steps = append(r.steps, id)
	}
}

// reorderRules plans the change of priorities that is made in this run, and the later change that moves staged rules.
func (r *rulePlanner) reorderRules() {
	order := r.interim
	now, later := map[plan.Address]int32{}, map[plan.Address]int32{}
	var wait plan.Wait
	var after, afterLater []plan.StepID
	var movers []int32
	for i, w := range r.set.desired {
		switch {
		case w.stagedWait.For != "":
			later[r.ruleAddress(w)] = w.priority
			afterLater = append(afterLater, w.step)
			wait = w.stagedWait
		case w.currentPriority() != order.desiredPriorities[i]:
			now[r.ruleAddress(w)] = order.desiredPriorities[i]
			after = append(after, w.step)
			movers = append(movers, int32(i))
		}
	}
	for i, p := range order.deletedPriorities {
		if d := r.set.deleted[i]; d.Priority != p {
			now[plan.RuleAddress(d.ARN)] = p
		}
	}
	if len(now) > 0 {
		r.moveDeletedLast(now)
		r.movedRulesIndex = overlap.NewIndex(movers, r.set.desiredShape)
		r.prioritySteps = append(r.prioritySteps, r.setPriorities("order", now, order.wait, append(slices.Clone(r.listenerSteps), after...)))
		r.steps = append(r.steps, r.prioritySteps...)
	}
	if len(later) > 0 {
		if len(now) == 0 {
			r.moveDeletedLast(later)
		}
		r.steps = append(r.steps, r.setPriorities("switch-order", later, wait, append(afterLater, r.prioritySteps...)))
	}
}

// moveDeletedLast moves rules that are deleted in this run after all other rules, and keeps their order.
func (r *rulePlanner) moveDeletedLast(to map[plan.Address]int32) {
	p := int32(MaxPriority)
	for _, d := range slices.Backward(r.set.deleted) {
		if d.wait.For == "" {
			to[plan.RuleAddress(d.ARN)] = p
			p--
		}
	}
}

func (r *rulePlanner) setPriorities(what string, to map[plan.Address]int32, wait plan.Wait, after []plan.StepID) plan.StepID {
	a := r.Listener.Address()
	var changes []plan.Change
	for addr, p := range to {
		changes = append(changes, plan.Change{Path: "priority of " + addr.ID, To: fmt.Sprint(p)})
	}
	slices.SortFunc(changes, func(x, y plan.Change) int { return cmp.Compare(x.Path, y.Path) })
	return r.Add(plan.Step{
		ID: plan.NewStepID(what, a), Address: a, Verb: plan.Update, Do: plan.SetPriorities{Priorities: to}, Changes: changes,
		Why: "rules have to be in order of precedence", Wait: wait, After: after, RequestedBy: r.Listener.Desired.Members,
	})
}

// deleteRules plans to delete the rules that are not desired any more, after the steps of the rules that will answer their
// requests. The rule with the lowest precedence is deleted first. defaultSteps are the steps that change the default action.
func (r *rulePlanner) deleteRules(defaultSteps []plan.StepID) {
	changed := r.set.index("changed", func(w *ruleChange) bool { return w.step != "" })
	var out draft.StepChain
	all := draft.StepChain{Steps: r.steps}
	for i, d := range slices.Backward(r.set.deleted) {
		a := plan.RuleAddress(d.ARN)
		after := r.stepsOfOverlappingRules(changed, d.shape, overlap.AllRules, &all, func(o *ruleChange) bool {
			return !o.waitsForRule || d.hasOwner(o.member)
		})
		after = append(after, r.priorityStepsOf(d.shape)...)
		if d.hasOwner(r.Listener.Desired.DefaultOf.Object) {
			after = append(after, defaultSteps...)
		}
		// An overlapping rule after this rule that is also deleted is deleted first, because it would get the requests of
		// this rule.
		covered, complete := r.set.deletedIndex().FindOverlaps(d.shape, overlap.SpanAfter(i), maxNamedSteps, func(n int32) bool {
			o := r.set.deleted[n]
			return o.wait.For == "" && d.mayShareOwner(o)
		})
		if complete {
			for _, n := range covered {
				after = append(after, r.set.deleted[n].step)
			}
		} else {
			after = append(after, r.Join(&out))
		}
		d.step = r.Add(plan.Step{
			ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteRule{ARN: d.ARN},
			Changes: []plan.Change{{Path: "actions", From: plan.ActionsText(d.Actions)}, {Path: "priority", From: fmt.Sprint(d.Priority)}},
			Why:     "no object requests the rule any more, or a new rule replaces it", Wait: d.wait, Impact: plan.DeleteImpact, RequestedBy: r.Listener.Desired.Members,
			After: after,
		})
		r.RecordFreeingStep(d.Actions, d.step)
		r.RuleOwners[d.ARN] = d.owners
		out.Add(d.step)
	}
	r.steps = append(slices.Clone(r.steps), out.Steps...)
}

// retagRules plans to change the tags of rules that are kept. One of the tags contains the index of the rule.
func (r *rulePlanner) retagRules() {
	if !r.Opt.RuleTags {
		return
	}
	for _, w := range r.set.desired {
		live := cmp.Or(w.live, w.replaces)
		if live == nil {
			continue
		}
		want, after := r.tagsOf(w), r.prioritySteps
		if w.replaces != nil {
			after = append(slices.Clone(after), w.step)
		}
		if len(r.creationSteps.Steps) > 0 && r.differsOnlyInIndexTag(want, live.Tags) {
			// New rules before a rule change its index. The tag is changed only after all new rules are created, so that a
			// rule that AWS refuses does not cause a call for each rule after it.
			after = append(slices.Clone(after), r.Join(&r.creationSteps))
		}
		r.RetagListenerOrRule(r.Listener.LB.Live.ARN, r.ruleAddress(w), want, live.Tags, after, r.affectedMembers(w))
	}
}

// differsOnlyInIndexTag reports whether only the tag with the index of a rule has to be set, and no tag has to be
// removed.
func (r *rulePlanner) differsOnlyInIndexTag(want plan.Tags, live map[string]string) bool {
	put, remove := r.TagChanges(want, live, false)
	return len(put) == 1 && put[naming.ResourceTag(r.Want.ID.Kind)] != "" && len(remove) == 0
}

// reportWaits reports the rules that wait for their targets.
func (r *rulePlanner) reportWaits() {
	for _, w := range r.set.desired {
		if wait := cmp.Or(w.actionsWait, w.stagedWait); wait.For != "" && !w.rule.IsHeld() {
			r.ReportTargetWait(w.rule.Desired.Origin, r.affectedMembers(w), fmt.Sprintf("a rule of port %d", r.Listener.Desired.Port), wait, !r.waitsForUncheckedTargets(w))
		}
	}
}

// isForwardedTo reports whether the load balancer already forwards to a target group. Targets of such a target group that
// AWS reports as unused are in an Availability Zone that is not enabled for the load balancer.
func (r *rulePlanner) isForwardedTo(arn string) bool {
	lb := r.Listener.LB.Live
	return lb != nil && slices.ContainsFunc(lb.Listeners, func(l observed.Listener) bool {
		return plan.ForwardsTo(l.Default, arn) || slices.ContainsFunc(l.Rules, func(o observed.Rule) bool { return plan.ForwardsTo(o.Actions, arn) })
	})
}

// waitsForUncheckedTargets reports whether the only targets for which a rule waits are targets that AWS does not check,
// because nothing forwards to their target group yet.
func (r *rulePlanner) waitsForUncheckedTargets(w *ruleChange) bool {
	found := false
	groups := model.ForwardedTargetGroups(w.rule.Desired.Actions)
	for i, g := range groups {
		arn := r.TargetGroupARN(g.Group)
		h := r.Have.Facts.Health[arn]
		switch n := len(h.Targets); {
		case equal.EffectiveWeight(groups, i) == 0 || h.IsReady():
		case n > 0 && !slices.ContainsFunc(h.Targets, func(t *observed.Target) bool { return !t.IsNotInUse() }) && !r.isForwardedTo(arn):
			found = true
		default:
			return false
		}
	}
	return found
}
