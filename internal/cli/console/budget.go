package console

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// callBudget limits the number of calls to AWS per minute. It determines when the next refresh may run.
type callBudget struct {
	perMinute  int
	totalCalls int64 // calls that countCalls has recorded
	// lastMinute has the calls of the last minute, oldest first.
	lastMinute []timedCalls
	// withinBudgetAt is the time at which the average rate of the calls of all refreshes so far is within the budget. A
	// refresh that no page requested, or that needs more calls than perMinute, does not start before that time.
	withinBudgetAt time.Time
	// pageCalls are the calls that the commands of a page are expected to make after a refresh, and the time of that
	// refresh.
	pageCalls timedCalls
}

// timedCalls is a number of calls to AWS, and the time when they were made.
type timedCalls struct {
	madeAt time.Time
	n      int
}

// countCalls records that the program has made total calls so far. It records new calls as made at now, because their time
// is not known. It removes calls older than a minute.
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

// countRefresh records the number of calls of a refresh that ended at the given time, and the number of calls that a page is
// expected to make after this refresh.
func (s *callBudget) countRefresh(at time.Time, refreshCalls, pageCalls int) {
	s.withinBudgetAt = laterOf(s.withinBudgetAt, at).Add(refreshPause(refreshCalls+pageCalls, s.perMinute))
	if pageCalls > 0 {
		s.pageCalls = timedCalls{at, pageCalls}
	}
}

// waitTime returns how long a full refresh with cost calls has to wait so that no minute has more calls than the budget. If
// cost exceeds the budget of a minute, the refresh waits until withinBudgetAt, and until a minute has passed without calls.
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

// refreshPause returns how long cost calls take at the rate of the budget, which is in calls per minute.
func refreshPause(cost, budget int) time.Duration {
	return time.Duration(cost) * durations.MinuteInterval / time.Duration(budget)
}
