// Package resync decides when a stack is compared with AWS, and how old what is compared may be. It is pure: the engine keeps
// a State for each stack.
package resync

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// Spread returns a part of a span that depends on the key alone, so that not all comes at once, and a process that
// starts again and again keeps to it.
func Spread(key string, span time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // a hash takes everything
	x := h.Sum64()
	x ^= x >> 33 // names that differ in their last letter only would else stand side by side
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(float64(span) * (float64(x>>11) / (1 << 53)))
}

// After returns how long after a comparison the next one begins. Together with Age it keeps what
// others change in AWS from lasting for longer than the period.
func After(period time.Duration, key string) time.Duration {
	return period*8/10 + Spread(key, period/10)
}

// First returns how long after a start the first comparison begins of what did not change while no process ran.
func First(period time.Duration, key string) time.Duration {
	return min(durations.Settle+Spread(key, durations.StartSpread), After(period, key))
}

// Age returns how old what a resync compares may be: those that come at the same time share what they
// read.
func Age(period time.Duration) time.Duration { return period / 10 }

// State is since when what is compared of a stack must have been read. Between two
// comparisons the inventory may answer. A comparison is due when the desired state has changed, when
// the resync period is over, and when there is something to do although the desired state has not
// changed: then what else is missing is found as well. So a reported success means that AWS
// was compared after the change.
type State struct {
	desired string
	// due is when the stack is compared next although nothing of it changes; zero: this process has not seen it.
	due time.Time
	// compared reports that this process has compared it in full.
	compared bool
	// Bound is how old what is compared may be.
	Bound model.AskComparison
	// done reports that the last run left nothing to do.
	done bool
	// looks is how often the stack was looked at for what is missing in AWS, lookedAt when last.
	looks    int
	lookedAt time.Time
	// edits are the changes of the desired state that followed each other.
	edits repeat.Row
}

// Seen reports whether this process has run the stack before.
func (x *State) Seen() bool { return !x.due.IsZero() }

// Deferral returns how long a stack is left alone whose checkpoint says that nothing has changed; first is how long
// after a start that is compared, zero for any other. One that this process has compared is not left alone.
func (x *State) Deferral(desired string, first time.Duration, now time.Time) time.Duration {
	if first <= 0 || now.IsZero() {
		return 0
	}
	if !x.Seen() {
		x.desired, x.due = desired, now.Add(first)
	}
	if x.compared || x.desired != desired {
		return 0
	}
	return x.due.Sub(now)
}

// Begin notes that a run of a stack begins, and sets how old what it compares may be. It reports whether
// the desired state has changed, and for how long a change is delayed, which the run after that finds. again asks for a
// comparison now. What is to be emptied is deleted as it was last read: what is gone already is no fault.
func (x *State) Begin(stack model.Stack, desired string, again bool, period time.Duration, now time.Time) (changed bool, delay time.Duration) {
	if now.IsZero() {
		return false, 0
	}
	if delay = x.delay(stack, desired, now); delay > 0 {
		desired = x.desired
	}
	changed = x.Seen() && x.desired != desired
	if !x.compared || !now.Before(x.due) {
		age := Age(period)
		if !x.Seen() {
			age = min(age, durations.Settle)
		}
		x.compared, x.due = true, now.Add(After(period, stack.ID.String()))
		x.Bound = model.AskComparison{Since: now.Add(-age), TagsSince: now.Add(-age)}
	}
	if changed || again {
		x.Bound.Since = now
	}
	if again {
		x.Bound.TagsSince = now
	}
	if stack.Empty() {
		x.Bound = model.AskComparison{}
	}
	x.desired = desired
	if changed {
		x.done, x.looks = false, 0
		x.edit(now)
	}
	return changed, delay
}

// Ask adds how old what is compared may be to questions about a stack.
func (x *State) Ask(questions []model.Question) []model.Question {
	if x.Bound == (model.AskComparison{}) {
		return questions
	}
	return append(slices.Clone(questions), x.Bound)
}

// Lacks reports whether a stack has to be compared before a plan is carried out: there was nothing left
// to do and the desired state is the same, so the plan comes from something that others have changed.
func (x *State) Lacks(p plan.Plan, now time.Time) bool {
	if !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !s.Waits() }) || !x.done || !x.Bound.Since.Before(now) {
		return false
	}
	x.Bound.Since, x.done = now, false
	return true
}

// manyLooks is how often what is missing in AWS is looked for at the usual pace: who makes it waits for it
// only for a while.
const manyLooks = 10

// LookAgain returns the time until what is missing in AWS is looked up again: a wrong reference that nothing
// corrects costs less and less. lacks reports that something is missing.
func (x *State) LookAgain(lacks bool, now time.Time) time.Duration {
	switch {
	case !x.Seen():
		return durations.MissingWait
	case !lacks:
		x.looks = 0
	case now.Sub(x.lookedAt) >= durations.MissingWait:
		x.looks, x.lookedAt = x.looks+1, now
	}
	return min(durations.MissingWait<<min(max(x.looks-manyLooks, 0), 10), durations.LongestBackOff)
}

// End notes how a run ended, and returns in how long the stack is compared again.
func (x *State) End(done bool, now time.Time) time.Duration {
	if !x.Seen() {
		return 0
	}
	x.done = done
	return max(x.due.Sub(now), time.Second)
}

// paceOfEdits is the pace of a stack whose desired state changes again and again: the first four changes are carried
// out at once, which is enough to shift a weight in steps, and so is every change of a user who makes fewer than four a
// minute.
var paceOfEdits = repeat.Pace{Free: 3, First: durations.ShortWait, Longest: durations.MissingWait, Rest: durations.Requeue}

// edit notes a change of the desired state that is carried out.
func (x *State) edit(now time.Time) {
	if x.edits.At.IsZero() || paceOfEdits.Over(x.edits, now) {
		x.edits = repeat.Row{At: now}
		return
	}
	x.edits.Times++
	x.edits.At = now
}

// delay returns how long a change of the desired state is delayed; 0: it is carried out. What is to be emptied
// never waits.
func (x *State) delay(stack model.Stack, desired string, now time.Time) time.Duration {
	if !stack.DelaysRepeats() || stack.Empty() || !x.Seen() || x.desired == desired || paceOfEdits.Over(x.edits, now) {
		return 0
	}
	return max(paceOfEdits.Left(x.edits, now), 0)
}

// Quiet reports whether the stack was compared and the last run left nothing to do, so that what differs from then on is the
// work of others.
func (x *State) Quiet() bool { return x.done && x.compared }
