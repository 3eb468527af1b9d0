package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// How refused calls are kept rare
//
// A step that AWS refuses is called again with exponential back-off, however often its stack runs for other reasons. A step
// with another content is another step, and is called immediately.
//
// Refusals of one kind usually occur together: a missing permission or an exhausted quota refuses every call of a kind.
// Therefore the first such refusal closes a scope: the kind of call and, for permissions, also the namespace of the objects.
// The other steps of a closed scope are skipped, and share one back-off. When the back-off has ended, one of these steps is
// called, and its success opens the scope for all steps. A few new steps are called although the scope is closed, so that a
// corrected object does not wait. For a quota that counts the created resources, the refused steps also share the back-off.
// The order of the steps in the plan then decides which step uses the freed quota.
//
// Refused values of different steps have no common cause, but one namespace can write any number of invalid values. Each
// namespace has a budget of refused calls per stack. Steps beyond the budget are skipped until it is refilled.
//
// This memory only reduces the number of calls. After a restart, AWS refuses each of these steps one more time.

// Budgets of refused calls.
const (
	newStepsInClosedScope = 3  // size of the token bucket for new steps that are called although their scope is closed
	refusedValuesBudget   = 20 // size of the token bucket for refused values of one namespace
	repeatedRefusalCost   = 6  // tokens for a call that was refused with the same content before; any other call costs 1
	successRefund         = 5  // tokens that a successful call returns to the bucket for refused values
)

// Limits of the stored refusals of one stack.
const (
	maxRefusals        = 4096
	maxSkipped         = 4096
	maxScopes          = 256
	maxUnknownFailures = 3 // consecutive failures of unknown class after which a step is held
)

// refusals has the steps of one stack that AWS has refused.
type refusals struct {
	currentRun int // number of the current run; a refusal that did not occur in the current run may be removed
	steps      map[stepKey]*refusal
	scopes     map[scope]*scopeState
}

// refusal is the stored state of a step that AWS has refused.
type refusal struct {
	failedStep FailedStep
	streak     int // consecutive refusals
	dueAt      time.Time
	lastRun    int // number of the last run in which the step occurred
}

// scopeState is the token bucket of a scope, and the back-off of its skipped steps.
type scopeState struct {
	failedStep  FailedStep // the last refusal
	streak      int
	dueAt       time.Time
	tokens      float64
	refilledAt  time.Time
	lastRefusal int // number of the last run in which AWS refused a step of the scope
	// skippedSteps are the steps of the scope that were skipped and were never called.
	skippedSteps map[stepKey]*skippedStep
}

// skippedStep is a step that was skipped, and the number of the last run in which it occurred.
type skippedStep struct {
	step    plan.Step
	lastRun int
}

// backOff returns how long a step waits after a number of consecutive refusals (streak). f is the last refusal.
func backOff(f FailedStep, streak int) time.Duration {
	first, most := durations.FirstBackOff, durations.LongestBackOff
	switch f.Class {
	case failure.InUse, failure.NotReady:
		first, most = durations.RecheckInterval, durations.LongestTransientBackOff
	case failure.Unknown:
		first, most = durations.ShortestInterval, durations.LongestTransientBackOff
	case failure.Gone, failure.Conflict:
		first = durations.MissingWait
	}
	if f.isKubernetesStep() {
		most = durations.MissingWait // a call to the API server is cheaper than one to AWS
	}
	return min(first<<min(streak-1, 20), most)
}

// isEmpty reports whether no refusal is stored.
func (s *refusals) isEmpty() bool { return len(s.steps) == 0 && len(s.scopes) == 0 }

// beginRun counts a new run. If there is no clock (now is zero), no refusals are stored.
func (s *refusals) beginRun(now time.Time) {
	if now.IsZero() {
		return
	}
	s.currentRun++
}

// endRun forgets the steps that did not occur in the run. If the desired state was edited, it forgets them immediately,
// because they may not be desired any more. If the desired state was not edited, it forgets them only after their back-off
// and the settle window. In this time AWS may show values that differ from the written values, so that the plans of an
// unchanged stack differ.
func (s *refusals) endRun(edited bool, now time.Time) {
	used := map[scope]bool{}
	for k, r := range s.steps {
		// A step whose back-off has ended may still wait for its budget, for at most the settle window.
		if r.lastRun < s.currentRun && (edited || !now.Before(r.dueAt.Add(max(backOff(r.failedStep, r.streak), durations.SettleWindow)))) {
			delete(s.steps, k)
			continue
		}
		for _, sc := range k.scopes() {
			used[sc] = true
		}
	}
	for sc, c := range s.scopes {
		maps.DeleteFunc(c.skippedSteps, func(_ stepKey, w *skippedStep) bool { return w.lastRun < s.currentRun })
		c.refill(sc, now)
		if len(c.skippedSteps) == 0 && !used[sc] && c.tokens >= sc.maxTokens() && !now.Before(c.dueAt) {
			delete(s.scopes, sc)
		}
	}
}

// lastFailure returns the failure because of which a step is not called now, and true. The failure is the last failure of
// the step itself or of another step in the same scope. It returns false if the step may be called. freed reports whether
// another step, on which the step depends, has just been carried out.
func (s *refusals) lastFailure(k stepKey, step plan.Step, freed bool, now time.Time) (FailedStep, bool) {
	if now.IsZero() {
		return FailedStep{}, false
	}
	known := s.steps[k]
	if known != nil {
		known.lastRun = s.currentRun
		if now.Before(known.dueAt) && !(freed && known.waitsForOtherResource()) {
			return known.failedStep.forDelayedStep(step, known.dueAt.Sub(now)), true
		}
	}
	for _, sc := range k.scopes() {
		c := s.scopes[sc]
		if c == nil || step.IsRevocation { // a step that withdraws a right does not wait because of refusals of other steps
			continue
		}
		c.refill(sc, now)
		wait := c.stepDelay(sc, k, known != nil, s.currentRun, now)
		if wait == 0 {
			continue
		}
		if known != nil && !sc.closes {
			// Refused values share only a budget. A message about another value would therefore be wrong.
			return known.failedStep.forDelayedStep(step, wait), true
		}
		f := c.failedStep.forDelayedStep(step, wait)
		if known == nil {
			f.Skipped = true
			c.recordSkipped(k, step, s.currentRun)
		}
		return f, true
	}
	return FailedStep{}, false
}

// recordSkipped records a step that is not called because of other steps of its scope.
func (c *scopeState) recordSkipped(k stepKey, step plan.Step, run int) {
	if w := c.skippedSteps[k]; w != nil {
		w.lastRun = run
	} else if len(c.skippedSteps) < maxSkipped {
		step.After = nil
		c.skippedSteps[k] = &skippedStep{step: step, lastRun: run}
	}
}

// wasSkipped reports whether a step was skipped and has not been called since then.
func (s *refusals) wasSkipped(k stepKey) bool {
	return slices.ContainsFunc(k.scopes(), func(sc scope) bool {
		c := s.scopes[sc]
		return c != nil && c.skippedSteps[k] != nil
	})
}

// pendingFailures returns the stored failures whose back-off has not ended, of the steps that a plan would have for the
// listeners, rules and target groups of a stack.
func (s *refusals) pendingFailures(stack model.Stack, now time.Time) (out []FailedStep) {
	if s.isEmpty() || stack.LoadBalancer == nil || now.IsZero() {
		return nil
	}
	look := func(k stepKey) {
		r := s.steps[k]
		if r != nil && now.Before(r.dueAt) {
			r.lastRun = s.currentRun
			out = append(out, r.failedStep.forDelayedStep(r.failedStep.Step, r.dueAt.Sub(now)))
			return
		}
		for _, sc := range k.scopes() {
			c := s.scopes[sc]
			if c == nil {
				continue
			}
			c.refill(sc, now)
			if wait := c.retryDelay(sc, k, s.currentRun, now); r != nil && wait > 0 {
				r.lastRun = s.currentRun
				out = append(out, r.failedStep.forDelayedStep(r.failedStep.Step, wait))
				return
			}
			if c.skippedSteps[k] == nil {
				continue
			}
			if wait := c.stepDelay(sc, k, false, s.currentRun, now); wait > 0 {
				c.skippedSteps[k].lastRun = s.currentRun
				f := c.failedStep.forDelayedStep(c.skippedSteps[k].step, wait)
				f.Skipped = true
				out = append(out, f)
				return
			}
		}
	}
	for _, l := range stack.LoadBalancer.Listeners {
		for _, k := range priorityKeys(l) {
			look(k)
		}
		for _, r := range l.Rules {
			for _, k := range ruleKeys(r, l.Port) {
				look(k)
			}
		}
	}
	for _, g := range stack.TargetGroups {
		look(targetGroupKey(g))
	}
	// The plan chooses the certificates of listeners and the names of load balancers. The keys of these steps cannot be
	// derived from the stack. Therefore all refused steps of these kinds are looked up.
	var chosen []stepKey
	for k, r := range s.steps {
		if _, ok := r.failedStep.Step.Do.(plan.AddCertificate); ok || r.failedStep.isComputedNameTaken() {
			chosen = append(chosen, k)
		}
	}
	slices.SortFunc(chosen, func(a, b stepKey) int { return cmp.Compare(a.address.ID+a.content, b.address.ID+b.content) })
	for _, k := range chosen {
		look(k)
	}
	return out
}

// waitsForOtherResource reports whether the refusal ends when another resource is deleted (InUse) or becomes ready
// (NotReady).
func (r *refusal) waitsForOtherResource() bool {
	return r.failedStep.Class == failure.InUse || r.failedStep.Class == failure.NotReady
}

// refill adds the tokens of the time since the last refill.
func (c *scopeState) refill(sc scope, now time.Time) {
	c.tokens = min(c.tokens+float64(now.Sub(c.refilledAt))/float64(sc.refillInterval()), sc.maxTokens())
	c.refilledAt = now
}

// retryDelay returns how much longer a scope delays a step that AWS refused before and whose own back-off is over. The
// reason is the shared back-off of a quota, or an exhausted budget of refused values. It is called before the plan is made,
// so that the plan leaves out all such steps. If each plan found only one of them, steps of other namespaces would wait.
func (c *scopeState) retryDelay(sc scope, k stepKey, run int, now time.Time) time.Duration {
	switch {
	case !sc.closes:
		return c.stepDelay(sc, k, true, run, now)
	case sc.countsAllNamespaces() && now.Before(c.dueAt):
		return c.dueAt.Sub(now)
	}
	return 0
}

// stepDelay returns how long a scope delays a step, or 0 if the step may be called. repeat reports whether AWS has refused
// this step before.
func (c *scopeState) stepDelay(sc scope, k stepKey, repeat bool, run int, now time.Time) time.Duration {
	if !sc.closes {
		cost := 1.0
		if repeat {
			cost = repeatedRefusalCost
		}
		if c.tokens >= cost {
			return 0
		}
		return time.Duration((cost - c.tokens) * float64(sc.refillInterval()))
	}
	isNew := !repeat && c.skippedSteps[k] == nil && c.lastRefusal < run && len(c.skippedSteps) < maxSkipped
	switch {
	case isNew && c.tokens >= 1:
		return 0
	case now.Before(c.dueAt):
		return c.dueAt.Sub(now)
	case repeat && len(c.skippedSteps) > 0 && !sc.countsAllNamespaces():
		// Steps that were never called have precedence.
		return backOff(c.failedStep, c.streak)
	}
	return 0
}

// recordRefusal records that AWS refused a step. It returns the failure with its streak and the time until the next call.
func (s *refusals) recordRefusal(k stepKey, f FailedStep, now time.Time) FailedStep {
	f.Streak, f.Wait = 1, backOff(f, 1)
	if now.IsZero() {
		return f
	}
	if s.steps == nil {
		s.steps, s.scopes = map[stepKey]*refusal{}, map[scope]*scopeState{}
	}
	r := s.steps[k]
	repeat := r != nil
	if r == nil {
		s.evictFirstDue()
		r = &refusal{}
		s.steps[k] = r
	}
	r.streak++
	r.lastRun, r.dueAt = s.currentRun, now.Add(backOff(f, r.streak))
	f.Streak, f.Wait = r.streak, r.dueAt.Sub(now)
	r.failedStep = f
	r.failedStep.Step.After = nil
	if sc, ok := k.failureScope(f); ok {
		s.recordRefusalInScope(sc, k, r.failedStep, repeat, now)
		if c := s.scopes[sc]; c != nil && sc.countsAllNamespaces() && c.dueAt.Before(r.dueAt) {
			// All steps become due at the same time. The order of the plan then decides which step uses free quota.
			r.dueAt = c.dueAt
			f.Wait = r.dueAt.Sub(now)
		}
	}
	return f
}

// recordRefusalInScope records a refusal in its scope. It closes the scope if sc.closes is set.
func (s *refusals) recordRefusalInScope(sc scope, k stepKey, f FailedStep, repeat bool, now time.Time) {
	c := s.scopes[sc]
	if c == nil {
		if len(s.scopes) >= maxScopes {
			return
		}
		c = &scopeState{refilledAt: now, tokens: sc.maxTokens(), skippedSteps: map[stepKey]*skippedStep{}}
		s.scopes[sc] = c
		if sc.closes {
			c.failedStep, c.streak, c.dueAt, c.lastRefusal = f, 1, now.Add(backOff(f, 1)), s.currentRun
			return
		}
	}
	waited := c.skippedSteps[k] != nil
	delete(c.skippedSteps, k)
	c.failedStep, c.lastRefusal = f, s.currentRun
	switch {
	case !sc.closes && repeat:
		c.tokens -= repeatedRefusalCost
	case !sc.closes:
		c.tokens--
	case !repeat && !waited && c.tokens >= 1:
		c.tokens--
	default:
		c.streak++
		c.dueAt = now.Add(backOff(f, c.streak))
	}
}

// evictFirstDue removes the refusal that is due first if the maximum number of refusals is stored.
func (s *refusals) evictFirstDue() {
	if len(s.steps) < maxRefusals {
		return
	}
	var first stepKey
	var due time.Time
	for k, r := range s.steps {
		if due.IsZero() || r.dueAt.Before(due) {
			first, due = k, r.dueAt
		}
	}
	delete(s.steps, first)
}

// recordSuccess forgets the refusals that a successful call disproves: those of the step with any content, and those of its
// closed scopes. A scope that only limits calls gets tokens back. If the step deletes a resource, the steps that were refused
// because of a quota for this kind of resource become due now.
func (s *refusals) recordSuccess(k stepKey, now time.Time) {
	delete(s.steps, k)
	// If an existing rule was modified to become the desired rule, the desired rule need not be created any more. A stored
	// refusal of its creation is therefore also removed.
	over := func(other stepKey) bool {
		same := other.operation == k.operation || !k.rule.IsZero() && other.operation == "create" || other.call == k.call && other.content == k.content
		return other.rule == k.rule && other.address == k.address && same
	}
	maps.DeleteFunc(s.steps, func(other stepKey, _ *refusal) bool { return over(other) })
	for _, c := range s.scopes {
		maps.DeleteFunc(c.skippedSteps, func(other stepKey, _ *skippedStep) bool { return over(other) })
	}
	for _, sc := range k.scopes() {
		c := s.scopes[sc]
		switch {
		case c == nil:
		case sc.closes:
			delete(s.scopes, sc)
		default:
			c.refill(sc, now)
			c.tokens = min(c.tokens+successRefund, sc.maxTokens())
		}
	}
	kinds := k.freedKinds()
	if len(kinds) == 0 {
		return
	}
	for other, r := range s.steps {
		if r.failedStep.Class == failure.Quota && slices.Contains(kinds, other.address.Kind) {
			r.dueAt = now
		}
	}
	maps.DeleteFunc(s.scopes, func(sc scope, _ *scopeState) bool {
		return sc.class == failure.Quota && slices.Contains(kinds, sc.kind)
	})
}

// mayUseFreedQuota reports whether a step that the run held because of a quota may be called now. This is the case if a
// later step of the run freed quota, and AWS has not refused another step because of the same quota since then.
func (s *refusals) mayUseFreedQuota(f FailedStep, now time.Time) bool {
	if now.IsZero() || slices.ContainsFunc(f.key.scopes(), func(sc scope) bool {
		c := s.scopes[sc]
		return c != nil && sc.class == failure.Quota && now.Before(c.dueAt)
	}) {
		return false
	}
	if r := s.steps[f.key]; r != nil {
		return !now.Before(r.dueAt)
	}
	return f.Skipped && !s.wasSkipped(f.key)
}

// commonNamespace returns the namespace of all the objects, or "" if they are in several namespaces.
func commonNamespace(refs []finding.Ref) string {
	if len(refs) == 0 {
		return ""
	}
	for _, r := range refs {
		if r.Namespace != refs[0].Namespace {
			return ""
		}
	}
	return refs[0].Namespace
}
