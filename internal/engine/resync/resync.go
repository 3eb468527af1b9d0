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

// After is how long after a comparison the next one begins. Together with Age it keeps what
// others change in AWS from lasting for longer than the period; it differs by key, so that not all is
// compared at once.
func After(period time.Duration, key string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash takes everything
	return period*8/10 + time.Duration(float64(period/10)*float64(h.Sum32())/(1<<32))
}

// Age is how old what a resync compares may be: those that come at the same time share what they
// read.
func Age(period time.Duration) time.Duration { return period / 10 }

// State is since when what is compared of a stack must have been read. Between two
// comparisons the inventory may answer. A comparison is due when the desired state has changed, when
// the resync period is over, and when there is something to do although the desired state has not
// changed: then what else is missing is found as well. So who sees a success knows that AWS
// was compared after the change.
type State struct {
	desired string
	// known is when this process saw the stack first, last when it was last compared in full; zero if
	// it was not.
	known, last time.Time
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
func (x *State) Seen() bool { return !x.known.IsZero() }

// PutOff is for how long a stack is left alone that may be for so long by its checkpoint. One that this
// process has compared is not, and the resync period bounds it; after is how long that is for this stack.
func (x *State) PutOff(desired string, may, after time.Duration, now time.Time) time.Duration {
	if may <= 0 || now.IsZero() {
		return may
	}
	if !x.Seen() {
		*x = State{desired: desired, known: now}
	}
	if !x.last.IsZero() || x.desired != desired {
		return 0
	}
	return min(may, x.known.Add(after).Sub(now))
}

// Begin notes that a run of a stack begins, and sets how old what it compares may be. It reports whether
// the desired state has changed, and for how long a change is put off, which the run after that finds. again asks for a
// comparison now. What is to be emptied is deleted as it was last read: what is gone already is no fault.
func (x *State) Begin(stack model.Stack, desired string, again bool, period, after time.Duration, now time.Time) (changed bool, early time.Duration) {
	if now.IsZero() {
		return false, 0
	}
	if early = x.early(stack, desired, now); early > 0 {
		desired = x.desired
	}
	changed = x.Seen() && x.desired != desired
	if due := x.last.IsZero() || !now.Before(x.last.Add(after)); due {
		age := Age(period)
		if !x.Seen() {
			age, x.known = min(age, durations.Settle), now
		}
		x.last, x.Bound = now, model.AskComparison{Since: now.Add(-age), TagsSince: now.Add(-age)}
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
	return changed, early
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

// LookAgain is in how long what is missing in AWS is looked for again: a wrong reference that nothing
// corrects costs less and less. lacks says that something is missing.
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
func (x *State) End(done bool, after time.Duration, now time.Time) time.Duration {
	if !x.Seen() {
		return 0
	}
	x.done = done
	return max(x.last.Add(after).Sub(now), time.Second)
}

// paceOfEdits is that of a stack whose desired state changes again and again: the first four changes are carried out at once,
// which is enough to shift a weight in steps, and so is every change of somebody who makes fewer than four a minute.
var paceOfEdits = repeat.Pace{Free: 3, First: durations.Brief, Longest: durations.MissingWait, Rest: durations.Requeue}

// edit notes a change of the desired state that is carried out.
func (x *State) edit(now time.Time) {
	if x.edits.At.IsZero() || paceOfEdits.Over(x.edits, now) {
		x.edits = repeat.Row{At: now}
		return
	}
	x.edits.Times++
	x.edits.At = now
}

// early is for how long a change of the desired state is put off; 0: it is carried out. What is to be emptied never waits.
func (x *State) early(stack model.Stack, desired string, now time.Time) time.Duration {
	if !stack.Paced() || stack.Empty() || !x.Seen() || x.desired == desired || paceOfEdits.Over(x.edits, now) {
		return 0
	}
	return max(paceOfEdits.Left(x.edits, now), 0)
}

// Quiet reports whether the stack was compared and the last run left nothing to do, so that what differs from then on is the
// work of others.
func (x *State) Quiet() bool { return x.done && !x.last.IsZero() }
