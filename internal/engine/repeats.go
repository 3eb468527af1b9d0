package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// repeats are the changes that a stack was given with success, by their keys. Once more may be because others have undone it; again and
// again means that AWS shows something else than it was given, or that others undo it all the time, and it would be given
// for ever. So what is repeated has an exponential back-off and a finding, and everything else of the stack goes on.
//
// A change is known by what it does to what, and by its content. Its row is over when a comparison shows that AWS has kept it.
type repeats map[string]*change

// change is the record of one repeated change.
type change struct {
	row  repeat.Row
	made string    // what it has created last, if anything
	look time.Time // when the stack is compared because of it, if it is reported
	// reported are its findings, once it was to be repeated more often than is usual.
	reported finding.List
}

// paceOfChanges is the pace of the repetition of one change.
var paceOfChanges = repeat.Pace{Free: 2, First: durations.Margin, Longest: durations.LongestBackOff, Rest: durations.RepeatWindow}

// changeKey identifies a change over runs. What the load balancer of the stack is belongs to it, and so do the target groups
// that it leads to: another one of the same id is given the same as the one before. What is given to a resource that the same
// plan creates is part of its creation and has no key.
func changeKey(p plan.Plan, s plan.Step, stack model.Stack) string {
	of := p.KnownIDs[s.Address]
	created := func(o plan.Step) bool { return o.Verb == plan.Create && o.Address == s.Address }
	if of == "" && s.Verb == plan.Update && slices.ContainsFunc(p.Steps, created) {
		return ""
	}
	k := keyOf(s, stack)
	content := k.content
	switch do := s.Do.(type) {
	case plan.CreateRule: // its priority moves with the rules of others
	case plan.ModifyRule: // traffic is moved in steps, each of other weights
		content = checkpoint.Digest(do.Conditions, do.Actions, do.Transforms)
	case plan.CreateTargetGroup:
		do.Group.Name = "" // the plan takes the first one that is free
		content = checkpoint.Digest(do)
	default:
		content = checkpoint.Digest(s.Do)
	}
	lb := p.KnownIDs[plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}]
	return checkpoint.Digest(k.what, k.do, k.address, k.rule, content, of, lb, targetGroupsOf(p, s.Do))
}

// targetGroupsOf returns the ARNs of the target groups of the stack that an action leads to, as far as they are known.
func targetGroupsOf(p plan.Plan, do plan.Action) (out []string) {
	for _, a := range plan.RuleActionsOf(do) {
		if forward, ok := a.(model.Forward); ok {
			for _, g := range forward.Groups {
				out = append(out, p.KnownIDs[plan.TargetGroupAddress(g.Group.ID)])
			}
		}
	}
	return out
}

// noteChange notes a change that was carried out, and what it has created. Without a clock nothing is remembered.
func (r *repeats) noteChange(key, created string, now time.Time) {
	if now.IsZero() || key == "" {
		return
	}
	if *r == nil {
		*r = repeats{}
	}
	c := (*r)[key]
	if c == nil || paceOfChanges.Over(c.row, now) {
		(*r)[key] = &change{row: repeat.Row{At: now}, made: created}
		return
	}
	c.row.Times++
	c.row.At, c.made = now, created
	c.look = now.Add(paceOfChanges.Wait(c.row))
}

// due reports whether a stack is to be compared because of what was repeated, and when that is due otherwise; 0: never.
func (r repeats) due(now time.Time) (due bool, next time.Duration) {
	for _, c := range r {
		left := c.look.Sub(now)
		switch {
		case len(c.reported) == 0:
		case left <= 0:
			due = true
		case next == 0 || left < next:
			next = left
		}
	}
	return due, next
}

// findings returns the findings about what is repeated.
func (r repeats) findings() (out finding.List) {
	for _, c := range r {
		out = append(out, c.reported...)
	}
	return out.Sorted()
}

// repeatedSteps finds the steps of a plan that repeat a change, which of them are not carried out yet, and which are
// reported. Changes that the plan does not have any more, although what it comes from was read long enough after they
// were made, were kept and are forgotten. edited says that the desired state has changed, so that what is not in the
// plan is not asked for any more.
func (r repeats) repeatedSteps(d Draft, stack model.Stack, read time.Time, edited bool, now time.Time) (again, delayed, reported map[plan.StepID]bool) {
	if len(r) == 0 {
		return nil, nil, nil
	}
	again, delayed, reported = map[plan.StepID]bool{}, map[plan.StepID]bool{}, map[plan.StepID]bool{}
	planned := map[string]bool{}
	for _, s := range d.Plan.Steps {
		key := changeKey(d.Plan, s, stack)
		planned[key] = true
		if edited && s.Verb == plan.Create {
			delete(r, key) // what takes the place of something that was made the same is asked for once more
		}
		c := r[key]
		if c == nil || s.Revokes || paceOfChanges.Over(c.row, now) {
			continue
		}
		again[s.ID] = true
		left := paceOfChanges.Left(c.row, now)
		if s.Verb == plan.Create {
			// The answer to the call or the next listing shows it otherwise. It is there all the same.
			left = max(left, c.row.At.Add(durations.Settle).Sub(now))
		}
		there := createdExists(s.Do, c.made, d.Have)
		delayed[s.ID] = left > 0 || there
		if paceOfChanges.Delays(c.row) || there {
			reported[s.ID] = true
			c.reported = reportNotKept(d, stack, s, *c)
		}
		if c.look = c.row.At.Add(paceOfChanges.Wait(c.row)); !c.look.After(now) {
			c.look = now.Add(paceOfChanges.Wait(c.row)) // it is repeated now, or something else keeps it from that
		}
	}
	for _, s := range d.Plan.Steps {
		// What is made again takes the place of what was made last, which AWS shows as something else.
		if do, ok := s.Do.(plan.DeleteRule); ok && r.isOfReportedChange(do.ARN) {
			reported[s.ID] = true
		}
	}
	for key, c := range r {
		if !planned[key] && (edited || !read.Before(c.row.At.Add(durations.Settle))) || paceOfChanges.Over(c.row, now) {
			delete(r, key)
		}
	}
	return again, delayed, reported
}

// isOfReportedChange reports whether a resource is what a change that is reported has made.
func (r repeats) isOfReportedChange(made string) bool {
	for _, c := range r {
		if c.made == made && len(c.reported) > 0 {
			return true
		}
	}
	return false
}

// createdExists reports whether what an action has made is there, and is of a kind of which no one else can change what
// AWS shows otherwise. Another one would be shown in the same way.
func createdExists(do plan.Action, made string, have observed.Stack) bool {
	switch do.(type) {
	case plan.CreateTargetGroup:
		return slices.ContainsFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == made })
	case plan.CreateLoadBalancer:
		return slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return lb.ARN == made })
	}
	return false
}

// reportNotKept reports a change that AWS does not show, with what it shows in its place.
func reportNotKept(d Draft, stack model.Stack, s plan.Step, c change) (out finding.List) {
	what := fmt.Sprintf("%s %q", strings.ReplaceAll(string(s.Address.Kind), "-", " "), s.Address.ID)
	if rule, ok := ruleOf(stack, s.Rule); ok {
		what = rule.Text(s.Rule.Port)
	}
	changes := s.Changes
	if s.Verb == plan.Create {
		changes = plan.ShownDifferences(s.Do, c.made, d.Have)
	}
	var texts []string
	for i, c := range changes {
		if i == mostDrift {
			texts = append(texts, fmt.Sprintf("%d more", len(changes)-i))
			break
		}
		texts = append(texts, c.DifferenceText())
	}
	switch {
	case len(texts) > 0:
	case s.Verb == plan.Create:
		texts = []string{"asked for, but AWS does not show it"}
	case s.Verb == plan.Delete:
		texts = []string{"deleted, but AWS still shows it"}
	default:
		texts = []string{strings.TrimPrefix(string(s.ID), s.Address.String()+" ")}
	}
	blames := s.Blames
	if len(blames) == 0 && len(stack.Members) > 0 {
		blames = []finding.Ref{stack.Members[0].Ref}
	}
	times, again := fmt.Sprintf("%d times", paceOfChanges.Free+1), "it is applied again ever more rarely, every 15 minutes at last"
	if !paceOfChanges.Delays(c.row) {
		times, again = "once", "it is not made a second time"
	}
	for _, ref := range blames[:min(len(blames), mostDrift)] {
		out.Add(finding.Finding{
			Object: ref, Reason: finding.ChangeNotKept, Severity: finding.Warning,
			Message: fmt.Sprintf("change applied %s but not persisted by AWS: %s: %s; %s", times, what, strings.Join(texts, ", "), again),
			Fix:     "another controller or user may be modifying this resource, which CloudTrail shows; if not, change the value to one that AWS keeps",
		})
	}
	return out
}

// findRepeats finds the steps of a plan that repeat a change again and again.
func (r *run) findRepeats(d Draft, stack model.Stack) {
	again, delayed, reported := r.mem.repeats.repeatedSteps(d, stack, r.mem.comparison.Bound.Since, r.edited, r.e.now())
	r.again, r.delayed, r.reported = again, withPreparations(d.Plan, delayed), withDependents(d.Plan, reported)
	r.delayAll(d.Plan)
}

// withPreparations adds the steps of a plan that only prepare others which are not carried out, such as the deletion of
// what would be made again.
func withPreparations(p plan.Plan, delayed map[plan.StepID]bool) map[plan.StepID]bool {
	if len(delayed) == 0 {
		return nil
	}
	preparing, needed := map[plan.StepID]bool{}, map[plan.StepID]bool{} // that have dependents which are delayed, and others
	for _, s := range slices.Backward(p.Steps) {
		if preparing[s.ID] && !needed[s.ID] && !s.Revokes {
			delayed[s.ID] = true
		}
		for _, id := range s.After {
			for _, before := range append(p.Joins[id], id) {
				if delayed[s.ID] {
					preparing[before] = true
				} else {
					needed[before] = true
				}
			}
		}
	}
	return delayed
}

// withoutDelayed has a step that puts rules in order leave out those whose creation is delayed: what a member has made again
// and again does not keep the rules of others from their places.
func withoutDelayed(p plan.Plan, s plan.Step, delayed map[plan.StepID]bool) plan.Step {
	do, ok := s.Do.(plan.SetPriorities)
	if !ok || len(delayed) == 0 {
		return s
	}
	others, after := maps.Clone(do.Priorities), slices.Clone(s.After)
	for _, o := range p.Steps {
		if _, creates := o.Do.(plan.CreateRule); creates && delayed[o.ID] {
			delete(others, o.Address)
			after = slices.DeleteFunc(after, func(id plan.StepID) bool { return id == o.ID })
		}
	}
	if len(others) > 0 {
		s.Do, s.After = plan.SetPriorities{Priorities: others}, after
	}
	return s
}

// withDependents adds the steps of a plan that come after others, and those that put new rules of others in order.
func withDependents(p plan.Plan, of map[plan.StepID]bool) map[plan.StepID]bool {
	if len(of) == 0 {
		return nil
	}
	made := map[plan.Address]bool{}
	for _, s := range p.Steps {
		switch do := s.Do.(type) {
		case plan.CreateRule:
			made[do.Listener] = made[do.Listener] || of[s.ID]
		case plan.SetPriorities:
			of[s.ID] = of[s.ID] || made[s.Address]
		}
		of[s.ID] = of[s.ID] || slices.ContainsFunc(s.After, func(id plan.StepID) bool {
			return of[id] || slices.ContainsFunc(p.Joins[id], func(id plan.StepID) bool { return of[id] })
		})
	}
	return of
}
