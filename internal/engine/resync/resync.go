// Package resync decides when a stack is compared with AWS, and how old the reads for a comparison may be. It has no clock
// and no state: the engine stores a State for each stack.
//
// A stack is compared in three cases: when its desired state changes, when its interval is over, and before a change that no
// edit explains. Drift lasts no longer than the sync period: two comparisons are at most nine tenths of this period apart,
// and a comparison uses only reads that are no older than one tenth of the period. Package cloud/observe reads older state
// of this stack again.
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

// Spread returns a duration between 0 and span that depends only on the key. The durations of many keys are spread evenly,
// so that the work for these keys is spread evenly. The result for a key is the same after a restart.
func Spread(key string, span time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // the Write method of a hash never returns an error
	x := h.Sum64()
	x ^= x >> 33 // mix the bits, because FNV returns similar values for names that differ only in the last letter
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return time.Duration(float64(span) * (float64(x>>11) / (1 << 53)))
}

// Interval returns the time from one comparison to the next: between eight and nine tenths of the period. The sum of
// Interval and MaxReadAge is at most the period, so that drift lasts no longer than the period.
func Interval(period time.Duration, key string) time.Duration {
	return period/10*8 + Spread(key, period/10) // division before multiplication, so that a period of decades does not overflow
}

// FirstDelay returns the time from the start of the process to the first comparison of a stack that is equal to its
// checkpoint.
func FirstDelay(period time.Duration, key string) time.Duration {
	return min(durations.SettleWindow+Spread(key, durations.StartSpread), Interval(period, key))
}

// MaxReadAge returns the maximum age of the reads for a periodic comparison. Because it is not zero, comparisons of several
// stacks can share reads.
func MaxReadAge(period time.Duration) time.Duration { return period / 10 }

// State has the times of the comparisons and edits of one stack. A stack is compared with AWS when its desired state has
// changed, so that a reported success means that AWS was read after the change. It is also compared when the interval is
// over, and when the plan has steps although the desired state has not changed, so that one comparison finds all drift.
// Between two comparisons, cached state is used.
type State struct {
	// desiredDigest is the digest of the desired state in the last run.
	desiredDigest string
	// comparisonDueAt is the time of the next comparison if there is no edit; zero: this process has not run the stack.
	comparisonDueAt time.Time
	// wasCompared reports whether this process has compared the stack completely.
	wasCompared bool
	// ReadBound is the question to AWS with the earliest permitted time of the reads for a comparison; zero: any age is
	// permitted.
	ReadBound model.AskComparison
	// lastRunDone reports whether the last run left nothing to do.
	lastRunDone bool
	// lookups is how many runs in a row found that a fact is missing in AWS, at most one per minute; lastLookup is the time
	// of the last.
	lookups    int
	lastLookup time.Time
	// edits is the streak of recent changes of the desired state.
	edits repeat.Streak
}

// HasRun reports whether this process has run the stack before.
func (x *State) HasRun() bool { return !x.comparisonDueAt.IsZero() }

// RemainingDeferral returns the remaining time until the deferred first comparison of a stack that is equal to its
// checkpoint; 0 if the comparison is not deferred. first is the time from the start of the process to the first comparison;
// 0 if no checkpoint matches. A stack that this process has compared, or whose desired state has changed, is not deferred.
func (x *State) RemainingDeferral(desired string, first time.Duration, now time.Time) time.Duration {
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

// BeginRun records that a run of a stack begins, and sets ReadBound. changed reports whether the desired state has changed.
// delay is how long a change is delayed; a delayed change is reported as changed only in a later run. again requests a
// comparison now. A stack that is being deleted gets no ReadBound, because it is no error if a resource to delete does not
// exist any more.
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
		x.recordEdit(now)
	}
	return changed, delay
}

// WithReadBound returns the questions, and ReadBound as an additional question if it is set.
func (x *State) WithReadBound(questions []model.Question) []model.Question {
	if x.ReadBound == (model.AskComparison{}) {
		return questions
	}
	return append(slices.Clone(questions), x.ReadBound)
}

// NeedsComparison reports whether a stack must be compared before plan p is carried out. This is necessary if the plan has
// steps although the last run left nothing to do and the desired state has not changed. Such a plan corrects drift.
// NeedsComparison then sets ReadBound to the time now.
func (x *State) NeedsComparison(p plan.Plan, now time.Time) bool {
	if !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !s.Waits() }) || !x.lastRunDone || !x.ReadBound.Since.Before(now) {
		return false
	}
	x.ReadBound.Since, x.lastRunDone = now, false
	return true
}

// usualLookups is how many times a missing fact is looked up at the usual interval, because a user may still be creating the
// resource.
const usualLookups = 10

// NextLookup returns the time until a fact that is missing in AWS is looked up again. After usualLookups the interval
// doubles with each lookup, up to a maximum, so that a reference that is never corrected causes few calls. lacks reports
// whether a fact is missing in this run.
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

// EndRun records whether a run left nothing to do (done), and returns the time until the next comparison; 0 without a clock.
func (x *State) EndRun(done bool, now time.Time) time.Duration {
	if !x.HasRun() {
		return 0
	}
	x.lastRunDone = done
	return max(x.comparisonDueAt.Sub(now), time.Second)
}

// editBackOff defines the delays of a desired state that changes repeatedly. The first four changes are carried out
// immediately, which is enough for a user who changes a weight in steps. If a user makes fewer than four changes per minute,
// all of them are carried out immediately.
var editBackOff = repeat.BackOff{FreeRepetitions: 3, FirstDelay: durations.ShortWait, LongestDelay: durations.MissingWait, StreakTimeout: durations.Requeue}

// recordEdit records a change of the desired state that is carried out now.
func (x *State) recordEdit(now time.Time) {
	if x.edits.LastWrite.IsZero() || editBackOff.HasEnded(x.edits, now) {
		x.edits = repeat.Streak{LastWrite: now}
		return
	}
	x.edits.Repetitions++
	x.edits.LastWrite = now
}

// editDelay returns how long a change of the desired state is delayed; 0: the change is carried out now. The deletion of a
// stack is never delayed.
func (x *State) editDelay(stack model.Stack, desired string, now time.Time) time.Duration {
	if !stack.DelaysRepeats() || stack.IsEmpty() || !x.HasRun() || x.desiredDigest == desired || editBackOff.HasEnded(x.edits, now) {
		return 0
	}
	return max(editBackOff.Remaining(x.edits, now), 0)
}

// IsConverged reports whether this process has compared the stack and the last run left nothing to do, so that later
// differences are drift.
func (x *State) IsConverged() bool { return x.lastRunDone && x.wasCompared }
