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

// repeatedChanges has the successful changes of a stack, by changeKey. It detects changes that are repeated. One repetition
// is normal: an external actor has undone the change. Many repetitions mean that AWS does not show what was written, or that
// an external actor keeps undoing the change. To avoid endless calls, repetitions have an exponential back-off, and a
// finding reports them. The other steps of the stack are not delayed.
//
// A change is identified by its operation, resource and content. Its streak ends when a comparison with AWS shows that the
// change persists.
type repeatedChanges map[string]*repeatedChange

// repeatedChange is a change that was carried out at least once.
type repeatedChange struct {
	streak    repeat.Streak
	createdID string    // ID of the resource that the last repetition created; "" if the change creates nothing
	compareAt time.Time // time of the next comparison with AWS because of this change; used only if the change is reported
	// reportedFindings are the findings about the change; nil until the change is repeated too often.
	reportedFindings finding.List
}

// changeBackOff has the delays between repetitions of one change.
var changeBackOff = repeat.BackOff{FreeRepetitions: 2, FirstDelay: durations.DeadlineMargin, LongestDelay: durations.LongestBackOff, StreakTimeout: durations.RepeatWindow}

// changeKey returns a key that identifies the change of step s across runs. The key includes the ARNs of the load balancer
// and of the target groups, because the same change of a replacement resource is not a repetition. An update of a resource
// that the same plan creates is part of the creation, and its key is "".
func changeKey(p plan.Plan, s plan.Step, stack model.Stack) string {
	id := p.KnownIDs[s.Address]
	created := func(o plan.Step) bool { return o.Verb == plan.Create && o.Address == s.Address }
	if id == "" && s.Verb == plan.Update && slices.ContainsFunc(p.Steps, created) {
		return ""
	}
	k := stepKeyOf(s, stack)
	content := k.content
	switch do := s.Do.(type) {
	case plan.CreateRule: // the key is without the priority, which changes when other rules are added or removed
	case plan.ModifyRule: // the key includes the weights, because traffic is moved by several changes with different weights
		content = checkpoint.Digest(do.Conditions, do.Actions, do.Transforms)
	case plan.CreateTargetGroup:
		do.Group.Name = "" // the plan chooses the first free name
		content = checkpoint.Digest(do)
	default:
		content = checkpoint.Digest(s.Do)
	}
	lb := p.KnownIDs[plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}]
	return checkpoint.Digest(k.operation, k.call, k.address, k.rule, content, id, lb, targetGroupARNs(p, s.Do))
}

// targetGroupARNs returns the ARNs of the target groups of the stack that action do forwards to, "" for each ARN that is not
// known.
func targetGroupARNs(p plan.Plan, do plan.Action) (out []string) {
	for _, a := range plan.RuleActionsOf(do) {
		if forward, ok := a.(model.Forward); ok {
			for _, g := range forward.Groups {
				out = append(out, p.KnownIDs[plan.TargetGroupAddress(g.Group.ID)])
			}
		}
	}
	return out
}

// recordChange records a change that was carried out, and the ID of the resource that it created (created; "" if none). It
// records nothing if key is empty or now is zero (no clock).
func (r *repeatedChanges) recordChange(key, created string, now time.Time) {
	if now.IsZero() || key == "" {
		return
	}
	if *r == nil {
		*r = repeatedChanges{}
	}
	c := (*r)[key]
	if c == nil || changeBackOff.HasEnded(c.streak, now) {
		(*r)[key] = &repeatedChange{streak: repeat.Streak{LastWrite: now}, createdID: created}
		return
	}
	c.streak.Repetitions++
	c.streak.LastWrite, c.createdID = now, created
	c.compareAt = now.Add(changeBackOff.Delay(c.streak))
}

// comparisonDue reports whether the stack must be compared with AWS now because of a reported change. next is the time until
// the next comparison because of a reported change; 0 if none is scheduled.
func (r repeatedChanges) comparisonDue(now time.Time) (due bool, next time.Duration) {
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
func (r repeatedChanges) findings() (out finding.List) {
	for _, c := range r {
		out = append(out, c.reportedFindings...)
	}
	return out.Sorted()
}

// repeatedSteps returns the steps of the plan in d that repeat an earlier change (again), and which of these steps are
// delayed or reported by findings. read is the time at which the observed state was read. If the state was read after the
// settle window of an earlier change, and the plan does not contain this change, AWS has persisted the change, and it is
// removed from r. If edited is true, the desired state has changed, and changes that are not in the plan are removed
// immediately.
func (r repeatedChanges) repeatedSteps(d Draft, stack model.Stack, read time.Time, edited bool, now time.Time) (again, delayed, reported map[plan.StepID]bool) {
	if len(r) == 0 {
		return nil, nil, nil
	}
	again, delayed, reported = map[plan.StepID]bool{}, map[plan.StepID]bool{}, map[plan.StepID]bool{}
	planned := map[string]bool{}
	for _, s := range d.Plan.Steps {
		key := changeKey(d.Plan, s, stack)
		planned[key] = true
		if edited && s.Verb == plan.Create {
			delete(r, key) // the edited desired state requires the resource again
		}
		c := r[key]
		if c == nil || s.IsRevocation || changeBackOff.HasEnded(c.streak, now) {
			continue
		}
		again[s.ID] = true
		left := changeBackOff.Remaining(c.streak, now)
		if s.Verb == plan.Create {
			// Within the settle window, AWS may not show the created resource or its values, although the resource exists.
			left = max(left, c.streak.LastWrite.Add(durations.SettleWindow).Sub(now))
		}
		there := createdResourceExists(s.Do, c.createdID, d.Have)
		delayed[s.ID] = left > 0 || there
		if changeBackOff.IsDelayed(c.streak) || there {
			reported[s.ID] = true
			c.reportedFindings = unpersistedChangeFindings(d, stack, s, *c)
		}
		if c.compareAt = c.streak.LastWrite.Add(changeBackOff.Delay(c.streak)); !c.compareAt.After(now) {
			c.compareAt = now.Add(changeBackOff.Delay(c.streak)) // the change is repeated in this run, or later
		}
	}
	for _, s := range d.Plan.Steps {
		// If AWS shows other values of the rule that the last repetition created, the plan deletes that rule. The deletion
		// is part of the reported change.
		if do, ok := s.Do.(plan.DeleteRule); ok && r.wasCreatedByReportedChange(do.ARN) {
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

// wasCreatedByReportedChange reports whether the resource with this ID was created by a change that a finding reports.
func (r repeatedChanges) wasCreatedByReportedChange(id string) bool {
	for _, c := range r {
		if c.createdID == id && len(c.reportedFindings) > 0 {
			return true
		}
	}
	return false
}

// createdResourceExists reports whether the target group or load balancer that action do created before still exists. id is
// its ARN. do creates a replacement, because AWS cannot change a setting of the old resource. If AWS does not show the
// desired value for an existing replacement, a second replacement would not help.
func createdResourceExists(do plan.Action, id string, have observed.Stack) bool {
	switch do.(type) {
	case plan.CreateTargetGroup:
		return slices.ContainsFunc(have.TargetGroups, func(g observed.TargetGroup) bool { return g.ARN == id })
	case plan.CreateLoadBalancer:
		return slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool { return lb.ARN == id })
	}
	return false
}

// unpersistedChangeFindings returns findings about a change that was made but that AWS does not show. The message has the
// desired values and the values that AWS shows.
func unpersistedChangeFindings(d Draft, stack model.Stack, s plan.Step, c repeatedChange) (out finding.List) {
	what := resourceText(s.Address)
	if rule, ok := findRule(stack, s.Rule); ok {
		what = rule.Text(s.Rule.Port)
	}
	changes := s.Changes
	if s.Verb == plan.Create {
		changes = plan.DifferencesAfterCreation(s.Do, c.createdID, d.Have)
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
	if !changeBackOff.IsDelayed(c.streak) {
		times, again = "once", "it is not created a second time"
	}
	for _, ref := range findingObjects(s, stack) {
		out.Add(finding.Finding{
			Object: ref, Reason: finding.ChangeNotKept, Severity: finding.Warning,
			Message: fmt.Sprintf("change applied %s but not persisted by AWS: %s: %s; %s", times, what, text, again),
			Fix:     "check in CloudTrail whether another controller or user modifies this resource; if not, change the value to one that AWS keeps",
		})
	}
	return out
}

// findRepeatedSteps determines which steps of the plan in d repeat an earlier change, and stores which of them are delayed or
// reported.
func (r *run) findRepeatedSteps(d Draft, stack model.Stack) {
	again, delayed, reported := r.mem.repeats.repeatedSteps(d, stack, r.mem.comparison.ReadBound.Since, r.wasEdited, r.e.now())
	r.repeatingSteps, r.delayedSteps, r.reportedRepeatedSteps = again, addPreparationSteps(d.Plan, delayed), addDependentSteps(d.Plan, reported)
	r.delayFrequentEdits(d.Plan)
}

// addPreparationSteps adds to delayed the steps that only prepare delayed steps, such as the deletion of a resource that
// would be created again. It modifies and returns delayed; nil if delayed is empty.
func addPreparationSteps(p plan.Plan, delayed map[plan.StepID]bool) map[plan.StepID]bool {
	if len(delayed) == 0 {
		return nil
	}
	// preparing are the steps that a delayed step depends on. needed are the steps that a step without delay depends on.
	preparing, needed := map[plan.StepID]bool{}, map[plan.StepID]bool{}
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

// withoutDelayedRules removes from a step that sets priorities the rules whose creation is delayed, so that the other rules
// get their priorities now. It returns the step unchanged if it does not set priorities, or if no rule would remain.
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

// addDependentSteps adds to a set of steps the steps that depend on them, and the steps that set rule priorities on a
// listener for which the set creates a rule. It modifies and returns the set; nil if the set is empty.
func addDependentSteps(p plan.Plan, of map[plan.StepID]bool) map[plan.StepID]bool {
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
