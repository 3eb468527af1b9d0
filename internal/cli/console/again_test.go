package console

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPageRequestsFullRefresh checks that a requested full refresh runs at once if its calls are within the budget.
func TestPageRequestsFullRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		l.withLock(func() { l.fullRefreshCost = 20 })
		v := l.openPage(true)
		time.Sleep(10 * time.Second)
		before := latestState(t, v)
		l.hub.requestFullRefresh(0)
		synctest.Wait()
		if want := []time.Duration{0, 10 * time.Second}; !slices.Equal(l.fullRefreshes(), want) {
			t.Errorf("AWS is read at %v, want %v", l.fullRefreshes(), want)
		}
		after := latestState(t, v)
		if after.fullRefreshCount != before.fullRefreshCount+1 || after.fullRefreshWanted {
			t.Errorf("%d full refreshes, and %d before; wanted %v", after.fullRefreshCount, before.fullRefreshCount, after.fullRefreshWanted)
		}
	})
}

// TestPageReceivesTimeOfFullRefresh checks that a page receives the time of a full refresh that has to wait for the budget,
// and that the refresh runs at that time.
func TestPageReceivesTimeOfFullRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		l.withLock(func() { l.fullRefreshCost = 60 })
		v := l.openPage(true)
		time.Sleep(10 * time.Second)
		latestState(t, v)
		l.hub.requestFullRefresh(0)
		l.hub.requestFullRefresh(30)
		s := latestState(t, v)
		if !s.fullRefreshWanted || s.untilNextRefresh != 50*time.Second {
			t.Errorf("wanted %v, in %s", s.fullRefreshWanted, s.untilNextRefresh)
		}
		if n := l.hub.updateFor(s, s.generation); !n.Wanted || n.Next != 50 || len(n.Stacks) > 0 {
			t.Errorf("the page gets %+v", n)
		}
		time.Sleep(51 * time.Second)
		if want := []time.Duration{0, time.Minute}; !slices.Equal(l.fullRefreshes(), want) {
			t.Errorf("AWS is read at %v, want %v", l.fullRefreshes(), want)
		}
	})
}

// TestRefreshRequestsStayWithinCallBudget checks that each minute that ends with a full refresh has no more calls than the
// budget, even if a page requests a full refresh every second.
func TestRefreshRequestsStayWithinCallBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = 100
		l := newTestCluster(t, budget)
		l.withLock(func() { l.fullRefreshCost = 40 })
		l.openPage(false)
		time.Sleep(3 * time.Minute)
		for i := range 600 {
			l.hub.requestFullRefresh(i % 30)
			if i%50 == 7 { // calls of a command
				l.withLock(func() { l.makeCalls(25) })
			}
			time.Sleep(time.Second)
		}
		if n := len(l.fullRefreshes()); n < 10 {
			t.Errorf("AWS was read %d times in ten minutes of requests, at %v", n, l.fullRefreshes())
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, end := range l.recordedCalls {
			if end.n != 40 || i == 0 {
				continue
			}
			sum := 0
			for _, c := range l.recordedCalls[:i+1] {
				if end.madeAt.Sub(c.madeAt) < time.Minute {
					sum += c.n
				}
			}
			if sum > budget {
				t.Errorf("%d calls in the minute before %s", sum, end.madeAt.Sub(l.startedAt))
			}
		}
	})
}

// TestRefreshAboveCallBudgetIsDelayed checks full refreshes with three times as many calls as the budget of a minute. They
// run every three minutes, so that the average number of calls is within the budget.
func TestRefreshAboveCallBudgetIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		l.withLock(func() { l.fullRefreshCost = 300 })
		l.openPage(false)
		time.Sleep(10 * time.Second)
		for range 10 {
			l.hub.requestFullRefresh(0)
			time.Sleep(time.Minute)
		}
		if want := []time.Duration{0, 3 * time.Minute, 6 * time.Minute, 9 * time.Minute}; !slices.Equal(l.fullRefreshes(), want) {
			t.Errorf("AWS is read at %v, want %v", l.fullRefreshes(), want)
		}
	})
}

// TestNoFullRefreshWithoutViewer checks that a requested full refresh does not run if all pages are closed before its time.
func TestNoFullRefreshWithoutViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		l.withLock(func() { l.fullRefreshCost = 90 })
		v := l.openPage(false)
		time.Sleep(time.Second)
		l.hub.requestFullRefresh(0)
		l.hub.sendViewer(l.hub.leave, v)
		time.Sleep(5 * time.Minute)
		l.openPage(false)
		time.Sleep(time.Second)
		if want := []time.Duration{0}; !slices.Equal(l.fullRefreshes(), want) {
			t.Errorf("AWS is read at %v, want %v", l.fullRefreshes(), want)
		}
	})
}
