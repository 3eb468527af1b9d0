// Package resync decides when a stack is compared with AWS, and how old the reads for a comparison may be. It is pure: the
// engine keeps a State for each stack.
//
// A stack is compared when its desired state changes, when its share of the sync period is over, and before a change
// although nothing was edited. Drift lasts no longer than the sync period: two comparisons are at most nine tenths of
// this period apart, and use only reads that are no older than one tenth of it. Package cloud/observe reads older state
// again, only for this stack.
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

// Spread returns a part of a span. The part depends only on the key. It spreads the work on many keys evenly over the span,
// in the same way after each restart.
func Spread(key string, span time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // the Write method of a hash never returns an error
	x := h.Sum64()
	x ^= x >> 33 // mixes the bits, because FNV gives close values to names that differ only in the last letter
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(float64(span) * (float64(x>>11) / (1 << 53)))
}

// Interval returns the time from one comparison to the next. The sum of Interval and MaxReadAge is at most the period, so that
// drift lasts no longer than the period.
func Interval(period time.Duration, key string) time.Duration {
	return period*8/10 + Spread(key, period/10)
}

// FirstDelay returns the time from a start to the first comparison of a stack that did not change while no process ran.
func FirstDelay(period time.Duration, key string) time.Duration {
	return min(durations.SettleWindow+Spread(key, durations.StartSpread), Interval(period, key))
}

// MaxReadAge returns how old the reads for a periodic comparison may be, so that comparisons of several stacks share them.
func MaxReadAge(period time.Duration) time.Duration { return period / 10 }

// State records the comparisons and edits of one stack. Between two comparisons the inventory answers the questions of the
// stack. A comparison is due when the desired state has changed, when the interval is over, and when the plan has steps
// although the desired state has not changed, so that one comparison finds all drift. So a reported success means that AWS
// was read after the change.
type State struct {
	// desiredDigest is the digest of the desired state of the last run.
	desiredDigest string
	// comparisonDueAt is the time of the next comparison without an edit; zero: this process has not run the stack.
	comparisonDueAt time.Time
	// wasCompared reports whether this process has compared the stack in full.
	wasCompared bool
	// ReadBound is the question with the time since which the reads for a comparison must have been made.
	ReadBound model.AskComparison
	// lastRunDone reports whether the last run left nothing to do.
	lastRunDone bool
	// lookups is how many times in a row the stack ran because a fact was missing in AWS.
	lookups    int
	lastLookup time.Time
	// edits are the recent changes of the desired state.
	edits repeat.Streak
}

// HasRun reports whether this process has run the stack before.
func (x *State) HasRun() bool { return !x.comparisonDueAt.IsZero() }

// Deferral returns how long the comparison of a stack is deferred after a start, because it matches its checkpoint. first is
// the time from the start to that comparison, zero if there is no matching checkpoint. A stack that this process has
// compared is not deferred.
func (x *State) Deferral(desired string, first time.Duration, now time.Time) time.Duration {
	if first <= 0 || now.IsZero() {
		return 0
	}
	if !x.HasRun() {
		x.desiredDigest, x.comparisonDueAt = desired, now.Add(first)
	}
	if x.wasCompared || x.desiredDigest != desired {
		return 0
	}
	return x.comparisonDueAt.Sub(now)
}

// BeginRun notes that a run of a stack begins, and sets how old its reads may be. It returns whether the desired state has
// changed, and how long such a change is delayed; a delayed change is returned as changed in a later run. again requests a
// comparison now. A stack that is to be deleted needs no fresh reads, because a resource that does not exist any more is not
// an error in a deletion.
func (x *State) BeginRun(stack model.Stack, desired string, again bool, period time.Duration, now time.Time) (changed bool, delay time.Duration) {
	if now.IsZero() {
		return false, 0
	}
	if delay = x.editDelay(stack, desired, now); delay > 0 {
		desired = x.desiredDigest
	}
	changed = x.HasRun() && x.desiredDigest != desired
	if !x.wasCompared || !now.Before(x.comparisonDueAt) {
		age := MaxReadAge(period)
		if !x.HasRun() {
			age = min(age, durations.SettleWindow)
		}
		x.wasCompared, x.comparisonDueAt = true, now.Add(Interval(period, stack.ID.String()))
		x.ReadBound = model.AskComparison{Since: now.Add(-age), TagsSince: now.Add(-age)}
	}
	if changed || again {
		x.ReadBound.Since = now
	}
	if again {
		x.ReadBound.TagsSince = now
	}
	if stack.IsEmpty() {
		x.ReadBound = model.AskComparison{}
	}
	x.desiredDigest = desired
	if changed {
		x.lastRunDone, x.lookups = false, 0
		x.noteEdit(now)
	}
	return changed, delay
}

// AddQuestion adds ReadBound to the questions about a stack, if it is set.
func (x *State) AddQuestion(questions []model.Question) []model.Question {
	if x.ReadBound == (model.AskComparison{}) {
		return questions
	}
	return append(slices.Clone(questions), x.ReadBound)
}

// NeedsComparison reports whether a stack has to be compared before a plan is carried out: the last run left nothing to do
// and the desired state is the same, so the plan corrects drift. The bound of the reads is then set to now.
func (x *State) NeedsComparison(p plan.Plan, now time.Time) bool {
	if !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !s.Waits() }) || !x.lastRunDone || !x.ReadBound.Since.Before(now) {
		return false
	}
	x.ReadBound.Since, x.lastRunDone = now, false
	return true
}

// usualLookups is how many times a missing fact is looked up at the usual interval, in which a user may still be creating it.
const usualLookups = 10

// NextLookup returns the time until a fact that is missing in AWS is looked up again. It doubles after usualLookups, so that
// a reference that is never corrected costs ever fewer calls. lacks reports whether a fact is missing.
func (x *State) NextLookup(lacks bool, now time.Time) time.Duration {
	switch {
	case !x.HasRun():
		return durations.MissingWait
	case !lacks:
		x.lookups = 0
	case now.Sub(x.lastLookup) >= durations.MissingWait:
		x.lookups, x.lastLookup = x.lookups+1, now
	}
	return min(durations.MissingWait<<min(max(x.lookups-usualLookups, 0), 10), durations.LongestBackOff)
}

// EndRun notes whether a run left nothing to do, and returns the time until the next comparison; 0 without a clock.
func (x *State) EndRun(done bool, now time.Time) time.Duration {
	if !x.HasRun() {
		return 0
	}
	x.lastRunDone = done
	return max(x.comparisonDueAt.Sub(now), time.Second)
}

// editBackOff defines the delays of a desired state that changes repeatedly. The first four changes are carried out
// immediately, which is enough to change a weight in steps. If a user makes fewer than four changes a minute, all of them
// are carried out immediately.
var editBackOff = repeat.BackOff{FreeRepetitions: 3, FirstDelay: durations.ShortWait, LongestDelay: durations.MissingWait, StreakTimeout: durations.Requeue}

// noteEdit notes a change of the desired state that is carried out.
func (x *State) noteEdit(now time.Time) {
	if x.edits.LastWrite.IsZero() || editBackOff.HasEnded(x.edits, now) {
		x.edits = repeat.Streak{LastWrite: now}
		return
	}
	x.edits.Repetitions++
	x.edits.LastWrite = now
}

// editDelay returns how long a change of the desired state is delayed; 0: it is carried out now. The deletion of a stack is
// never delayed.
func (x *State) editDelay(stack model.Stack, desired string, now time.Time) time.Duration {
	if !stack.DelaysRepeats() || stack.IsEmpty() || !x.HasRun() || x.desiredDigest == desired || editBackOff.HasEnded(x.edits, now) {
		return 0
	}
	return max(editBackOff.Remaining(x.edits, now), 0)
}

// IsConverged reports whether the stack was compared and the last run left nothing to do, so that later differences are
// drift.
func (x *State) IsConverged() bool { return x.lastRunDone && x.wasCompared }
