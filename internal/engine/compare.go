package engine

import (
	"errors"
	"hash/fnv"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// DefaultResync is how often what has not changed is compared with AWS.
const DefaultResync = 10 * time.Hour

// ResyncAfter is how long after a comparison the next one begins. Together with ResyncAge it keeps what
// others change in AWS from lasting for longer than the period; it differs by key, so that not all is
// compared at once.
func ResyncAfter(period time.Duration, key string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash takes everything
	return period*8/10 + time.Duration(float64(period/10)*float64(h.Sum32())/(1<<32))
}

// ResyncAge is how old what a resync compares may be: those that come at the same time share what they
// read.
func ResyncAge(period time.Duration) time.Duration { return period / 10 }

// firstAge is how old what the first comparison of a stack uses may be: at a start, the lists of all
// load balancers are read once for all stacks.
const firstAge = time.Minute

// comparison is since when what is compared of a stack must have been read. Between two
// comparisons the inventory may answer. A comparison is due when the desired state has changed, when
// the resync period is over, and when there is something to do although the desired state has not
// changed: then what else is missing is found as well. So who sees a success knows that AWS
// was compared after the change.
type comparison struct {
	desired string
	// known is when this process saw the stack first, last when it was last compared in full; zero if
	// it was not.
	known, last time.Time
	bound       model.AskComparison
	// done reports that the last run left nothing to do.
	done bool
	// looks is how often the stack was looked at for what is missing in AWS, lookedAt when last.
	looks    int
	lookedAt time.Time
}

// seen reports whether this process has run the stack before.
func (x *comparison) seen() bool { return !x.known.IsZero() }

// putOff is for how long a stack is left alone that may be for so long by its checkpoint. One that this
// process has compared is not, and the resync period bounds it; after is how long that is for this stack.
func (x *comparison) putOff(desired string, may, after time.Duration, now time.Time) time.Duration {
	if may <= 0 || now.IsZero() {
		return may
	}
	if !x.seen() {
		*x = comparison{desired: desired, known: now}
	}
	if !x.last.IsZero() || x.desired != desired {
		return 0
	}
	return min(may, x.known.Add(after).Sub(now))
}

// begin notes that a run of a stack begins, and sets how old what it compares may be. It reports whether
// the desired state has changed. again asks for a comparison now. What is to be
// emptied is deleted as it was last read: what is gone already is no fault.
func (x *comparison) begin(empty bool, desired string, again bool, period, after time.Duration, now time.Time) (changed bool) {
	if now.IsZero() {
		return false
	}
	changed = x.seen() && x.desired != desired
	if due := x.last.IsZero() || !now.Before(x.last.Add(after)); due {
		age := ResyncAge(period)
		if !x.seen() {
			age, x.known = min(age, firstAge), now
		}
		x.last, x.bound = now, model.AskComparison{Since: now.Add(-age), TagsSince: now.Add(-age)}
	}
	if changed || again {
		x.bound.Since = now
	}
	if again {
		x.bound.TagsSince = now
	}
	if empty {
		x.bound = model.AskComparison{}
	}
	x.desired = desired
	if changed {
		x.done, x.looks = false, 0
	}
	return changed
}

// ask adds how old what is compared may be to questions about a stack.
func (x *comparison) ask(questions []model.Question) []model.Question {
	if x.bound == (model.AskComparison{}) {
		return questions
	}
	return append(slices.Clone(questions), x.bound)
}

// errUncompared is why a plan is not carried out but made again from a comparison.
var errUncompared = errors.New("the stack has to be compared with AWS first")

// lacks reports whether a stack has to be compared before a plan is carried out: there was nothing left
// to do and the desired state is the same, so the plan comes from something that others have changed.
func (x *comparison) lacks(p plan.Plan, now time.Time) bool {
	if !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !s.Waits() }) || !x.done || !x.bound.Since.Before(now) {
		return false
	}
	x.bound.Since, x.done = now, false
	return true
}

// manyLooks is how often what is missing in AWS is looked for at the usual pace: who makes it waits for it
// only for a while.
const manyLooks = 10

// lookAgain is in how long what is missing in AWS is looked for again: a wrong reference that nothing
// corrects costs less and less. lacks says that something is missing.
func (x *comparison) lookAgain(lacks bool, now time.Time) time.Duration {
	switch {
	case !x.seen():
		return lacking
	case !lacks:
		x.looks = 0
	case now.Sub(x.lookedAt) >= lacking:
		x.looks, x.lookedAt = x.looks+1, now
	}
	return min(lacking<<min(max(x.looks-manyLooks, 0), 10), longestBackOff)
}

// end notes how a run ended, and returns in how long the stack is compared again.
func (x *comparison) end(done bool, after time.Duration, now time.Time) time.Duration {
	if !x.seen() {
		return 0
	}
	x.done = done
	return max(x.last.Add(after).Sub(now), time.Second)
}

// Compared reports whether this process has compared a stack with AWS and left nothing to do, so that
// what differs from then on is the work of others.
func (e *Engine) Compared(id model.StackID) bool {
	x := e.memories.recall(id).comparison
	return x.done && !x.last.IsZero()
}

// resync sees to it that a stack is looked at again when it is to be compared with AWS.
func (r *run) resync(now time.Time) {
	out := r.out
	if out.Over() {
		return
	}
	due := r.mem.comparison.end(out.Done && !out.refused, r.e.resyncAfter(out.ID), now)
	switch {
	case due == 0:
	case out.RetryAfter == 0:
		out.RetryAfter, out.Idle = due, out.Done
	default:
		out.RetryAfter = min(out.RetryAfter, due)
	}
}

func (e *Engine) resyncAfter(id model.StackID) time.Duration {
	return ResyncAfter(e.Resync, id.String())
}
