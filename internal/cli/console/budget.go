package console

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// callBudget limits the calls to AWS in a minute. It determines when the next refresh may run.
type callBudget struct {
	perMinute  int
	totalCalls int64 // calls that countCalls has recorded
	// lastMinute has the calls of the last minute.
	lastMinute []timedCalls
	// withinBudgetAt is the time from which the average rate of all calls so far is within the budget. No large refresh
	// starts before it.
	withinBudgetAt time.Time
	// pageCalls are the calls that a page will make by its commands after a refresh.
	pageCalls timedCalls
}

// timedCalls is the number of calls to AWS that were made at a time.
type timedCalls struct {
	madeAt time.Time
	n      int
}

// countCalls records the total number of calls so far. New calls are recorded as made now, since their time is not known.
func (s *callBudget) countCalls(now time.Time, total int64) {
	if n := int(total - s.totalCalls); n > 0 {
		s.lastMinute, s.totalCalls = append(s.lastMinute, timedCalls{now, n}), total
		s.pageCalls.n = max(0, s.pageCalls.n-n)
	}
	for len(s.lastMinute) > 0 && now.Sub(s.lastMinute[0].madeAt) >= durations.MinuteInterval {
		s.lastMinute = s.lastMinute[1:]
	}
	if now.Sub(s.pageCalls.madeAt) >= durations.MinuteInterval {
		s.pageCalls.n = 0
	}
}

// countRefresh records the calls of a refresh that has ended, and the expected calls of a page after the refresh.
func (s *callBudget) countRefresh(at time.Time, refreshCalls, pageCalls int) {
	s.withinBudgetAt = laterOf(s.withinBudgetAt, at).Add(refreshPause(refreshCalls+pageCalls, s.perMinute))
	if pageCalls > 0 {
		s.pageCalls = timedCalls{at, pageCalls}
	}
}

// waitTime returns how long a full refresh with the given number of calls has to wait, so that no minute has more calls than
// the budget. If the refresh has more calls than the budget of a minute, it waits until withinBudgetAt, and until a minute
// has passed without calls.
func (s *callBudget) waitTime(now time.Time, cost int) time.Duration {
	at, used := now, 0
	if cost > s.perMinute {
		at = laterOf(now, s.withinBudgetAt)
	}
	cost = min(cost, s.perMinute)
	made := append(slices.Clone(s.lastMinute), s.pageCalls)
	slices.SortStableFunc(made, func(a, b timedCalls) int { return a.madeAt.Compare(b.madeAt) })
	for _, c := range made {
		used += c.n
	}
	for _, c := range made {
		if old := c.madeAt.Add(durations.MinuteInterval); old.After(at) && used+cost > s.perMinute {
			at = old
		} else if old.After(at) {
			break
		}
		used -= c.n
	}
	return at.Sub(now)
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// refreshPause returns the time within which the budget admits cost calls.
func refreshPause(cost, budget int) time.Duration {
	return time.Duration(cost) * durations.MinuteInterval / time.Duration(budget)
}
