package console

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// spending is what calls to AWS leave of the budget of a minute, for looks that a page asks for.
type spending struct {
	budget int
	total  int64 // calls that have been noted
	// made are calls of the last minute.
	made []calls
	// paid is when the calls of all looks are within the budget on average.
	paid time.Time
	// promised are calls that a page is about to make with its commands.
	promised calls
}

// calls are a number of calls to AWS at a time.
type calls struct {
	at time.Time
	n  int
}

// countCalls records how many calls there have been. Those since the last time count as made now: not earlier than they
// were.
func (s *spending) countCalls(now time.Time, total int64) {
	if n := int(total - s.total); n > 0 {
		s.made, s.total = append(s.made, calls{now, n}), total
		s.promised.n = max(0, s.promised.n-n)
	}
	for len(s.made) > 0 && now.Sub(s.made[0].at) >= durations.Often {
		s.made = s.made[1:]
	}
	if now.Sub(s.promised.at) >= durations.Often {
		s.promised.n = 0
	}
}

// countLook counts a look that has ended, and the calls that a page is about to make after it.
func (s *spending) countLook(at time.Time, cost, promised int) {
	s.paid = latestOf(s.paid, at).Add(pauseFor(cost+promised, s.budget))
	if promised > 0 {
		s.promised = calls{at, promised}
	}
}

// wait returns how long it takes until a minute that ends with so many calls more has no more than the budget. What
// costs more than that needs a minute without any call, and that the looks before are paid for.
func (s *spending) wait(now time.Time, cost int) time.Duration {
	at, used := now, 0
	if cost > s.budget {
		at = latestOf(now, s.paid)
	}
	cost = min(cost, s.budget)
	made := append(slices.Clone(s.made), s.promised)
	slices.SortStableFunc(made, func(a, b calls) int { return a.at.Compare(b.at) })
	for _, c := range made {
		used += c.n
	}
	for _, c := range made {
		if old := c.at.Add(durations.Often); old.After(at) && used+cost > s.budget {
			at = old
		} else if old.After(at) {
			break
		}
		used -= c.n
	}
	return at.Sub(now)
}

func latestOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pauseFor returns how long a look takes its share of the budget.
func pauseFor(cost, budget int) time.Duration {
	return time.Duration(cost) * durations.Often / time.Duration(budget)
}
