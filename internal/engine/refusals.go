package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// How refused calls are kept rare
//
// A step that AWS refuses is called again with exponential back-off, however often its stack is looked
// at for other reasons. A step with another content is another step, and is called at once.
//
// Refusals of one kind usually come together: a missing permission or a full quota refuses every call
// of a kind. So the first such refusal closes a scope (the kind of call, and for permissions the
// namespace whose objects it is for). The other steps of a closed scope are skipped, and share one
// back-off: when it is over one of them is called, and its success opens the scope for all. A few steps
// that were not yet there when the scope closed are called all the same, so that a corrected object
// does not wait. Of a quota that counts what the steps make, all steps share the back-off, also those that
// were called: who gets a place that has become free is decided by the order of the plan alone.
//
// Refused values have nothing in common, but one namespace can write any number of them. Each namespace
// has a budget of refused calls per stack; the steps beyond it are skipped until there is some again.
//
// All of this only saves calls. What is lost at a restart is refused once more.

// The budgets of refused calls.
const (
	newInClosed   = 3  // new steps called in a closed scope at once
	refusedAtOnce = 20 // refused values of one namespace at once
	repeatCost    = 6  // of calls that were refused with the same content before
	successGain   = 5  // given back by a call that AWS takes
)

// The bounds of what is remembered of one stack.
const (
	mostSteps   = 4096
	mostSkipped = 4096
	mostScopes  = 256
	unknownHold = 3 // failures in a row after which the steps that need a step go on without it
)

// refusals are what AWS has refused of one stack.
type refusals struct {
	run    int // counts runs, to forget what is not in them any more
	steps  map[stepKey]*refusal
	scopes map[scope]*closure
}

// refusal is the record of one refused step.
type refusal struct {
	failed FailedStep
	row    int // refusals in a row
	due    time.Time
	run    int // the last run in which the step occurred
}

// closure is the state of a scope whose steps are skipped.
type closure struct {
	failed FailedStep // the last refusal
	row    int
	due    time.Time
	tokens float64
	filled time.Time
	run    int // the last run in which AWS refused a step of the scope
	// waiting are the steps that were skipped without a call of their own.
	waiting map[stepKey]*waiting
}

// waiting is a step that was skipped, and the last run in which it occurred.
type waiting struct {
	step plan.Step
	run  int
}

// backOff returns how long to wait after the row-th refusal in a row.
func backOff(f FailedStep, row int) time.Duration {
	first, most := durations.FirstBackOff, durations.LongestBackOff
	switch f.Class {
	case InUse, NotReady:
		first, most = durations.Soon, durations.DeniedWait
	case Unknown:
		first, most = durations.Moment, durations.DeniedWait
	case Gone, Conflict:
		first = durations.MissingWait
	}
	if f.isKubernetes() {
		most = durations.MissingWait // it costs no call to AWS
	}
	return min(first<<min(row-1, 20), most)
}

// isEmpty reports whether AWS has refused nothing.
func (s *refusals) isEmpty() bool { return len(s.steps) == 0 && len(s.scopes) == 0 }

// begin notes that a run begins. Without a clock nothing is remembered.
func (s *refusals) begin(now time.Time) {
	if now.IsZero() {
		return
	}
	s.run++
}

// end forgets the steps that did not occur in the run: at once if the desired state was edited, as they may not be asked
// for any more, otherwise when they did not come back in time after their back-off. Where AWS shows something else than it
// was given, the plans of an unchanged stack differ from run to run, and a step comes back.
func (s *refusals) end(edited bool, now time.Time) {
	used := map[scope]bool{}
	for k, r := range s.steps {
		// A budget may hold a step that is due for as long as the settle window.
		if r.run < s.run && (edited || !now.Before(r.due.Add(max(backOff(r.failed, r.row), durations.Settle)))) {
			delete(s.steps, k)
			continue
		}
		for _, sc := range k.scopes() {
			used[sc] = true
		}
	}
	for sc, c := range s.scopes {
		maps.DeleteFunc(c.waiting, func(_ stepKey, w *waiting) bool { return w.run < s.run })
		c.refill(sc, now)
		if len(c.waiting) == 0 && !used[sc] && c.tokens >= sc.maxTokens() && !now.Before(c.due) {
			delete(s.scopes, sc)
		}
	}
}

// lastFailure returns how a step failed, if it is not to be called yet. Freed reports that something has just
// been done that the step was waiting for.
func (s *refusals) lastFailure(k stepKey, step plan.Step, freed bool, now time.Time) (FailedStep, bool) {
	if now.IsZero() {
		return FailedStep{}, false
	}
	known := s.steps[k]
	if known != nil {
		known.run = s.run
		if now.Before(known.due) && !(freed && known.passes()) {
			return known.failed.asSkipped(step, known.due.Sub(now)), true
		}
	}
	for _, sc := range k.scopes() {
		c := s.scopes[sc]
		if c == nil || step.Revokes { // what takes a right away waits for no refusal of another step
			continue
		}
		c.refill(sc, now)
		wait := c.wait(sc, k, known != nil, s.run, now)
		if wait == 0 {
			continue
		}
		if known != nil && !sc.closes {
			// Refused values share a budget and nothing else: the words about another value are false for this one.
			return known.failed.asSkipped(step, wait), true
		}
		f := c.failed.asSkipped(step, wait)
		if known == nil {
			f.Skipped = true
			c.skip(k, step, s.run)
		}
		return f, true
	}
	return FailedStep{}, false
}

// skip notes a step that is not called because of the others of its scope.
func (c *closure) skip(k stepKey, step plan.Step, run int) {
	if w := c.waiting[k]; w != nil {
		w.run = run
	} else if len(c.waiting) < mostSkipped {
		step.After = nil
		c.waiting[k] = &waiting{step: step, run: run}
	}
}

// skipped reports whether a step was skipped and has not been called since.
func (s *refusals) skipped(k stepKey) bool {
	return slices.ContainsFunc(k.scopes(), func(sc scope) bool {
		c := s.scopes[sc]
		return c != nil && c.waiting[k] != nil
	})
}

// pending returns how steps failed that would be planned for the rules and target groups of a stack,
// and are not to be called yet.
func (s *refusals) pending(stack model.Stack, now time.Time) (out []FailedStep) {
	if s.isEmpty() || stack.LoadBalancer == nil || now.IsZero() {
		return nil
	}
	look := func(k stepKey) {
		r := s.steps[k]
		if r != nil && now.Before(r.due) {
			r.run = s.run
			out = append(out, r.failed.asSkipped(r.failed.Step, r.due.Sub(now)))
			return
		}
		for _, sc := range k.scopes() {
			c := s.scopes[sc]
			if c == nil {
				continue
			}
			c.refill(sc, now)
			if wait := c.waitAgain(sc, k, s.run, now); r != nil && wait > 0 {
				r.run = s.run
				out = append(out, r.failed.asSkipped(r.failed.Step, wait))
				return
			}
			if c.waiting[k] == nil {
				continue
			}
			if wait := c.wait(sc, k, false, s.run, now); wait > 0 {
				c.waiting[k].run = s.run
				f := c.failed.asSkipped(c.waiting[k].step, wait)
				f.Skipped = true
				out = append(out, f)
				return
			}
		}
	}
	for _, l := range stack.LoadBalancer.Listeners {
		for _, k := range orderKeys(l) {
			look(k)
		}
		for _, r := range l.Rules {
			for _, k := range ruleKeys(r, l.Port) {
				look(k)
			}
		}
	}
	for _, g := range stack.TargetGroups {
		look(groupKey(g))
	}
	// Which certificates a listener is given, and which name a load balancer, is not known before the plan. They are looked
	// at as long as they are refused.
	var chosen []stepKey
	for k, r := range s.steps {
		if _, ok := r.failed.Step.Do.(plan.AddCertificate); ok || r.failed.computedNameTaken() {
			chosen = append(chosen, k)
		}
	}
	slices.SortFunc(chosen, func(a, b stepKey) int { return cmp.Compare(a.address.ID+a.content, b.address.ID+b.content) })
	for _, k := range chosen {
		look(k)
	}
	return out
}

// passes reports whether the refusal is of a kind that ends when something else is gone or there.
func (r *refusal) passes() bool { return r.failed.Class == InUse || r.failed.Class == NotReady }

// refill gives a scope the tokens of the time that has passed.
func (c *closure) refill(sc scope, now time.Time) {
	c.tokens = min(c.tokens+float64(now.Sub(c.filled))/float64(sc.refillInterval()), sc.maxTokens())
	c.filled = now
}

// waitAgain returns how long a step that AWS has refused, and that is due, is held by a scope without a call: by the
// back-off of a quota, or for want of budget for its values. Were it known only when its turn in the plan comes, steps
// behind it would be found out one in each plan, and those of others behind them would wait.
func (c *closure) waitAgain(sc scope, k stepKey, run int, now time.Time) time.Duration {
	switch {
	case !sc.closes:
		return c.wait(sc, k, true, run, now)
	case sc.countsAll() && now.Before(c.due):
		return c.due.Sub(now)
	}
	return 0
}

// wait returns how long a step of a scope has to wait for its turn; 0: it may be called.
func (c *closure) wait(sc scope, k stepKey, repeat bool, run int, now time.Time) time.Duration {
	if !sc.closes {
		cost := 1.0
		if repeat {
			cost = repeatCost
		}
		if c.tokens >= cost {
			return 0
		}
		return time.Duration((cost - c.tokens) * float64(sc.refillInterval()))
	}
	isNew := !repeat && c.waiting[k] == nil && c.run < run && len(c.waiting) < mostSkipped
	switch {
	case isNew && c.tokens >= 1:
		return 0
	case now.Before(c.due):
		return c.due.Sub(now)
	case repeat && len(c.waiting) > 0 && !sc.countsAll():
		// Those that were not called yet come first.
		return backOff(c.failed, c.row)
	}
	return 0
}

// refused remembers that AWS refused a step, and returns the failure with the time of the next call.
func (s *refusals) refused(k stepKey, f FailedStep, now time.Time) FailedStep {
	f.Row, f.Wait = 1, backOff(f, 1)
	if now.IsZero() {
		return f
	}
	if s.steps == nil {
		s.steps, s.scopes = map[stepKey]*refusal{}, map[scope]*closure{}
	}
	r := s.steps[k]
	repeat := r != nil
	if r == nil {
		s.evictFirst()
		r = &refusal{}
		s.steps[k] = r
	}
	r.row++
	r.run, r.due = s.run, now.Add(backOff(f, r.row))
	f.Row, f.Wait = r.row, r.due.Sub(now)
	r.failed = f
	r.failed.Step.After = nil
	if sc, ok := k.scope(f); ok {
		s.close(sc, k, r.failed, repeat, now)
		if c := s.scopes[sc]; c != nil && sc.countsAll() && c.due.Before(r.due) {
			// Who gets a place that has become free must not depend on how often AWS has refused whom.
			r.due = c.due
			f.Wait = r.due.Sub(now)
		}
	}
	return f
}

// close notes a refusal in its scope.
func (s *refusals) close(sc scope, k stepKey, f FailedStep, repeat bool, now time.Time) {
	c := s.scopes[sc]
	if c == nil {
		if len(s.scopes) >= mostScopes {
			return
		}
		c = &closure{filled: now, tokens: sc.maxTokens(), waiting: map[stepKey]*waiting{}}
		s.scopes[sc] = c
		if sc.closes {
			c.failed, c.row, c.due, c.run = f, 1, now.Add(backOff(f, 1)), s.run
			return
		}
	}
	waited := c.waiting[k] != nil
	delete(c.waiting, k)
	c.failed, c.run = f, s.run
	switch {
	case !sc.closes && repeat:
		c.tokens -= repeatCost
	case !sc.closes:
		c.tokens--
	case !repeat && !waited && c.tokens >= 1:
		c.tokens--
	default:
		c.row++
		c.due = now.Add(backOff(f, c.row))
	}
}

// evictFirst forgets the step that is due first where too many are remembered.
func (s *refusals) evictFirst() {
	if len(s.steps) < mostSteps {
		return
	}
	var first stepKey
	var due time.Time
	for k, r := range s.steps {
		if due.IsZero() || r.due.Before(due) {
			first, due = k, r.due
		}
	}
	delete(s.steps, first)
}

// noteSuccess forgets the refusals that a successful call shows to be over: those of the step itself with any
// content, those of its scope, and where it frees room those at a quota.
func (s *refusals) noteSuccess(k stepKey, now time.Time) {
	delete(s.steps, k)
	// A rule that takes the place of another need not be created any more.
	over := func(other stepKey) bool {
		same := other.what == k.what || !k.rule.IsZero() && other.what == "create" || other.do == k.do && other.content == k.content
		return other.rule == k.rule && other.address == k.address && same
	}
	maps.DeleteFunc(s.steps, func(other stepKey, _ *refusal) bool { return over(other) })
	for _, c := range s.scopes {
		maps.DeleteFunc(c.waiting, func(other stepKey, _ *waiting) bool { return over(other) })
	}
	for _, sc := range k.scopes() {
		c := s.scopes[sc]
		switch {
		case c == nil:
		case sc.closes:
			delete(s.scopes, sc)
		default:
			c.refill(sc, now)
			c.tokens = min(c.tokens+successGain, sc.maxTokens())
		}
	}
	kinds := k.freedKinds()
	if len(kinds) == 0 {
		return
	}
	for other, r := range s.steps {
		if r.failed.Class == Quota && slices.Contains(kinds, other.address.Kind) {
			r.due = now
		}
	}
	maps.DeleteFunc(s.scopes, func(sc scope, _ *closure) bool {
		return sc.class == Quota && slices.Contains(kinds, sc.kind)
	})
}

// wasFreed reports whether a step that the run held for a quota may be called by now, as a later step of the run made
// room, and AWS has not refused another one since.
func (s *refusals) wasFreed(f FailedStep, now time.Time) bool {
	if now.IsZero() || slices.ContainsFunc(f.key.scopes(), func(sc scope) bool {
		c := s.scopes[sc]
		return c != nil && sc.class == Quota && now.Before(c.due)
	}) {
		return false
	}
	if r := s.steps[f.key]; r != nil {
		return !now.Before(r.due)
	}
	return f.Skipped && !s.skipped(f.key)
}

// tenant returns the namespace that all of the objects are in, "" if there are several.
func tenant(refs []finding.Ref) string {
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
