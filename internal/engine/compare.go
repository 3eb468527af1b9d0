package engine

import (
	"errors"
	"hash/fnv"
	"slices"
	"sync"
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

// comparisons remembers since when what is compared of each stack must have been read. Between two
// comparisons the inventory may answer. A comparison is due when the desired state has changed, when
// the resync period is over, and when there is something to do although the desired state has not
// changed: then what else is missing is found as well. So who sees a success knows that AWS
// was compared after the change.
type comparisons struct {
	period time.Duration

	mu sync.Mutex
	of map[model.StackID]comparison
}

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

// putOff is for how long a stack is left alone that may be for so long by its checkpoint. One that this
// process has compared is not, and the resync period bounds it.
func (c *comparisons) putOff(id model.StackID, desired string, may time.Duration, now time.Time) time.Duration {
	if may <= 0 || now.IsZero() {
		return may
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.of[id]
	if !ok {
		x = comparison{desired: desired, known: now}
		c.put(id, x)
	}
	if !x.last.IsZero() || x.desired != desired {
		return 0
	}
	return min(may, x.known.Add(ResyncAfter(c.period, id.String())).Sub(now))
}

// begin notes that a run of a stack begins, and sets how old what it compares may be. It reports whether
// the desired state has changed. What is to be
// emptied is deleted as it was last read: what is gone already is no fault.
func (c *comparisons) begin(stack model.Stack, desired string, now time.Time) (changed bool) {
	if now.IsZero() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.of[stack.ID]
	changed = ok && x.desired != desired
	if due := x.last.IsZero() || !now.Before(x.last.Add(ResyncAfter(c.period, stack.ID.String()))); due {
		age := ResyncAge(c.period)
		if !ok {
			age, x.known = min(age, firstAge), now
		}
		x.last, x.bound = now, model.AskComparison{Since: now.Add(-age), TagsSince: now.Add(-age)}
	}
	if changed {
		x.bound.Since = now
	}
	if stack.Empty() {
		x.bound = model.AskComparison{}
	}
	x.desired = desired
	if changed {
		x.done, x.looks = false, 0
	}
	c.put(stack.ID, x)
	return changed
}

func (c *comparisons) put(id model.StackID, x comparison) {
	if c.of == nil {
		c.of = map[model.StackID]comparison{}
	}
	c.of[id] = x
}

// ask adds how old what is compared may be to questions about a stack.
func (c *comparisons) ask(id model.StackID, questions []model.Question) []model.Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.of[id].bound; b != (model.AskComparison{}) {
		return append(slices.Clone(questions), b)
	}
	return questions
}

// errUncompared is why a plan is not carried out but made again from a comparison.
var errUncompared = errors.New("the stack has to be compared with AWS first")

// lacks reports whether a stack has to be compared before a plan is carried out: there was nothing left
// to do and the desired state is the same, so the plan comes from something that others have changed.
func (c *comparisons) lacks(id model.StackID, p plan.Plan, now time.Time) bool {
	if !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !s.Waits() }) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.of[id]
	if !ok || !x.done || !x.bound.Since.Before(now) {
		return false
	}
	x.bound.Since, x.done = now, false
	c.of[id] = x
	return true
}

// manyLooks is how often what is missing in AWS is looked for at the usual pace: who makes it waits for it
// only for a while.
const manyLooks = 10

// lookAgain is in how long what is missing in AWS is looked for again: a wrong reference that nothing
// corrects costs less and less. lacks says that something is missing.
func (c *comparisons) lookAgain(id model.StackID, lacks bool, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.of[id]
	if !ok {
		return lacking
	}
	switch {
	case !lacks:
		x.looks = 0
	case now.Sub(x.lookedAt) >= lacking:
		x.looks, x.lookedAt = x.looks+1, now
	}
	c.of[id] = x
	return min(lacking<<min(max(x.looks-manyLooks, 0), 10), longestBackOff)
}

// end notes how a run ended, and returns in how long the stack is compared again.
func (c *comparisons) end(id model.StackID, done bool, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.of[id]
	if !ok {
		return 0
	}
	x.done = done
	c.of[id] = x
	return max(x.last.Add(ResyncAfter(c.period, id.String())).Sub(now), time.Second)
}

// Compared reports whether this process has compared a stack with AWS and left nothing to do, so that
// what differs from then on is the work of others.
func (e *Engine) Compared(id model.StackID) bool {
	c := e.comparisons
	c.mu.Lock()
	defer c.mu.Unlock()
	x, ok := c.of[id]
	return ok && x.done && !x.last.IsZero()
}

// forget drops a stack of which nothing is left.
func (c *comparisons) forget(id model.StackID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, id)
}

// resync sees to it that a stack is looked at again when it is to be compared with AWS.
func (e *Engine) resync(out *Outcome, now time.Time) {
	if out.Stack.Empty() && out.Done && len(out.Stack.Leaving) == 0 {
		e.comparisons.forget(out.ID)
		e.drifts.forget(out.ID)
		return
	}
	due := e.comparisons.end(out.ID, out.Done && !out.refused, now)
	switch {
	case due == 0:
	case out.RetryAfter == 0:
		out.RetryAfter, out.Idle = due, out.Done
	default:
		out.RetryAfter = min(out.RetryAfter, due)
	}
}
