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

// repeats are the successful changes of a stack, by changeKey. One repetition may be because an external actor has undone the
// change. Many repetitions mean that AWS does not show what was written, or that an external actor keeps undoing the change,
// which would then be repeated endlessly. So repetitions have an exponential back-off and a finding, and all other steps of
// the stack are carried out.
//
// A change is identified by its operation, resource and content. Its streak ends when a comparison shows that AWS has kept it.
type repeats map[string]*repeatedChange

// repeatedChange has what is remembered about one change.
type repeatedChange struct {
	streak    repeat.Streak
	createdID string    // ID of the resource that the change created last, if any
	compareAt time.Time // when the stack is compared because of the change, if the change is reported
	// reportedFindings are the findings about the change; nil until it is repeated too often.
	reportedFindings finding.List
}

// changeBackOff has the delays between repetitions of one change.
var changeBackOff = repeat.BackOff{FreeRepetitions: 2, FirstDelay: durations.DeadlineMargin, LongestDelay: durations.LongestBackOff, StreakTimeout: durations.RepeatWindow}

// changeKey returns a key that identifies a change over several runs. The ARNs of the load balancer and of the target groups
// are part of it, because the same change to a replacement is not a repetition. An update of a resource that the same plan
// creates is part of its creation and has the key "".
func changeKey(p plan.Plan, s plan.Step, stack model.Stack) string {
	id := p.KnownIDs[s.Address]
	created := func(o plan.Step) bool { return o.Verb == plan.Create && o.Address == s.Address }
	if id == "" && s.Verb == plan.Update && slices.ContainsFunc(p.Steps, created) {
		return ""
	}
	k := stepKeyOf(s, stack)
	content := k.content
	switch do := s.Do.(type) {
	case plan.CreateRule: // without its priority, which changes with the rules of others
	case plan.ModifyRule: // with the weights, because traffic is moved in several changes
		content = checkpoint.Digest(do.Conditions, do.Actions, do.Transforms)
	case plan.CreateTargetGroup:
		do.Group.Name = "" // the plan chooses the first free name
		content = checkpoint.Digest(do)
	default:
		content = checkpoint.Digest(s.Do)
	}
	lb := p.KnownIDs[plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}]
	return checkpoint.Digest(k.operation, k.call, k.address, k.rule, content, id, lb, targetGroupsOf(p, s.Do))
}

// targetGroupsOf returns the ARNs of the target groups of the stack that an action forwards to, "" for each that is not
// known.
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

// noteChange notes a change that was carried out, and the ID of the resource that it created, if any. Without a clock nothing
// is remembered.
func (r *repeats) noteChange(key, created string, now time.Time) {
	if now.IsZero() || key == "" {
		return
	}
	if *r == nil {
		*r = repeats{}
	}
	c := (*r)[key]
	if c == nil || changeBackOff.HasEnded(c.streak, now) {
		(*r)[key] = &repeatedChange{streak: repeat.Streak{LastWrite: now}, createdID: created}
		return
	}
	c.streak.Repetitions++
	c.streak.LastWrite, c.createdID = now, created
	c.compareAt = now.Add(changeBackOff.Wait(c.streak))
}

// comparisonDue reports whether a stack is to be compared now because of a reported change, and otherwise the time until
// then; 0: never.
func (r repeats) comparisonDue(now time.Time) (due bool, next time.Duration) {
	for _, c := range r {
		left := c.compareAt.Sub(now)
		switch {
		case len(c.reportedFindings) == 0:
		case left <= 0:
			due = true
		case next == 0 || left < next:
			next = left
		}
	}
	return due, next
}

// findings returns the findings about repeated changes.
func (r repeats) findings() (out finding.List) {
	for _, c := range r {
		out = append(out, c.reportedFindings...)
	}
	return out.Sorted()
}

// repeatedSteps returns the steps of a plan that repeat a change (again), and which of these steps are delayed or reported by
// findings. It forgets a change that AWS has kept: the plan lacks the change although it was made from reads (at the time
// read) after the settle window of the change. edited reports that the desired state has changed, so that a change that the
// plan lacks is no longer desired and is forgotten too.
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
			delete(r, key) // the edit requires the resource once more
		}
		c := r[key]
		if c == nil || s.IsRevocation || changeBackOff.HasEnded(c.streak, now) {
			continue
		}
		again[s.ID] = true
		left := changeBackOff.Remaining(c.streak, now)
		if s.Verb == plan.Create {
			// The answer or the next listing shows other values than were written, but the resource exists.
			left = max(left, c.streak.LastWrite.Add(durations.SettleWindow).Sub(now))
		}
		there := createdResourceExists(s.Do, c.createdID, d.Have)
		delayed[s.ID] = left > 0 || there
		if changeBackOff.Delays(c.streak) || there {
			reported[s.ID] = true
			c.reportedFindings = notPersistedFindings(d, stack, s, *c)
		}
		if c.compareAt = c.streak.LastWrite.Add(changeBackOff.Wait(c.streak)); !c.compareAt.After(now) {
			c.compareAt = now.Add(changeBackOff.Wait(c.streak)) // this run repeats the change, or another step prevents the repetition
		}
	}
	for _, s := range d.Plan.Steps {
		// If AWS shows the rule that the last repetition created with other values, the plan deletes that rule. The
		// deletion is part of the reported change.
		if do, ok := s.Do.(plan.DeleteRule); ok && r.isOfReportedChange(do.ARN) {
			reported[s.ID] = true
		}
	}
	for key, c := range r {
		if !planned[key] && (edited || !read.Before(c.streak.LastWrite.Add(durations.SettleWindow))) || changeBackOff.HasEnded(c.streak, now) {
			delete(r, key)
		}
	}
	return again, delayed, reported
}

// isOfReportedChange reports whether a resource was created by a change that is reported.
func (r repeats) isOfReportedChange(id string) bool {
	for _, c := range r {
		if c.createdID == id && len(c.reportedFindings) > 0 {
			return true
		}
	}
	return false
}

// createdResourceExists reports whether the target group or load balancer that an action created last still exists. No external
// actor can change the properties for which it would be replaced, so AWS would show the next one in the same way.
func createdResourceExists(do plan.Action, id string, have observed.Stack) bool {
	switch do.(type) {
	case plan.CreateTargetGroup:
		return slices.ContainsFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == id })
	case plan.CreateLoadBalancer:
		return slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return lb.ARN == id })
	}
	return false
}

// notPersistedFindings returns findings about a change that AWS does not show, with the values that it shows.
func notPersistedFindings(d Draft, stack model.Stack, s plan.Step, c repeatedChange) (out finding.List) {
	what := resourceText(s.Address)
	if rule, ok := findRule(stack, s.Rule); ok {
		what = rule.Text(s.Rule.Port)
	}
	changes := s.Changes
	if s.Verb == plan.Create {
		changes = plan.ShownDifferences(s.Do, c.createdID, d.Have)
	}
	text := changesText(changes, plan.Change.DifferenceText)
	switch {
	case text != "":
	case s.Verb == plan.Create:
		text = "requested, but AWS does not show it"
	case s.Verb == plan.Delete:
		text = "deleted, but AWS still shows it"
	default:
		text = strings.TrimPrefix(string(s.ID), s.Address.String()+" ")
	}
	times, again := fmt.Sprintf("%d times", changeBackOff.FreeRepetitions+1), "it is applied again with a back-off of up to 15 minutes"
	if !changeBackOff.Delays(c.streak) {
		times, again = "once", "it is not created a second time"
	}
	for _, ref := range findingObjects(s, stack) {
		out.Add(finding.Finding{
			Object: ref, Reason: finding.ChangeNotKept, Severity: finding.Warning,
			Message: fmt.Sprintf("change applied %s but not persisted by AWS: %s: %s; %s", times, what, text, again),
			Fix:     "another controller or user may be modifying this resource, which CloudTrail shows; if not, change the value to one that AWS keeps",
		})
	}
	return out
}

// findRepeats sets which steps of a plan repeat a change, and which are delayed or reported because of that.
func (r *run) findRepeats(d Draft, stack model.Stack) {
	again, delayed, reported := r.mem.repeats.repeatedSteps(d, stack, r.mem.comparison.ReadBound.Since, r.wasEdited, r.e.now())
	r.repeatingSteps, r.delayedSteps, r.reportedRepeatedSteps = again, withPreparations(d.Plan, delayed), withDependents(d.Plan, reported)
	r.delayFrequentEdits(d.Plan)
}

// withPreparations adds to the delayed steps of a plan those that only prepare delayed ones, such as the deletion of a
// resource that would be created again.
func withPreparations(p plan.Plan, delayed map[plan.StepID]bool) map[plan.StepID]bool {
	if len(delayed) == 0 {
		return nil
	}
	preparing, needed := map[plan.StepID]bool{}, map[plan.StepID]bool{} // steps with dependents that are delayed, and that are not
	for _, s := range slices.Backward(p.Steps) {
		if preparing[s.ID] && !needed[s.ID] && !s.IsRevocation {
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

// withoutDelayedRules returns a step that sets priorities without the rules whose creation is delayed, so that the rules of
// other members get their priorities without waiting for them.
func withoutDelayedRules(p plan.Plan, s plan.Step, delayed map[plan.StepID]bool) plan.Step {
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

// withDependents adds to a set of steps those that depend on them, and those that set the priorities of rules that the set
// creates.
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
