package console

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
)

// testHub has a hub whose refreshes read no cluster and no AWS. A test sets the results and the call counts of
// refreshes, and runs in virtual time.
type testHub struct {
	hub          *hub
	awsCalls     atomic.Int64
	refreshCalls atomic.Int64 // the part of awsCalls that refreshes made
	startedAt    time.Time

	mu               sync.Mutex
	refreshCost      int64 // number of calls to AWS of a refresh
	stackIDs         []string
	refreshErr       error
	changes          []change
	refreshTimes     []time.Duration
	fullRefreshCost  int64 // number of calls to AWS of a full refresh; if zero, refreshCost
	fullRefreshTimes []time.Duration
	recordedCalls    []timedCalls
}

func newTestCluster(t *testing.T, budget int) *testHub {
	l := &testHub{startedAt: time.Now(), refreshCost: 2, stackIDs: []string{"shop/web"}}
	l.hub = newHub(func(_ context.Context, full bool) (tree.Snapshot, []change, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if full && l.fullRefreshCost > 0 {
			l.refreshCalls.Add(l.fullRefreshCost)
			l.makeCalls(l.fullRefreshCost)
			l.fullRefreshTimes = append(l.fullRefreshTimes, time.Since(l.startedAt).Round(time.Second))
		} else {
			l.refreshCalls.Add(l.refreshCost)
			l.makeCalls(l.refreshCost)
		}
		l.refreshTimes = append(l.refreshTimes, time.Since(l.startedAt).Round(time.Second))
		p := tree.Snapshot{Document: tree.Document{Cluster: "c"}}
		for _, id := range l.stackIDs {
			p.Document.Stacks = append(p.Document.Stacks, tree.Stack{Kind: "Ingress", ID: id})
		}
		return p, l.changes, l.refreshErr
	}, &l.awsCalls, &l.refreshCalls, budget, time.Now)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go l.hub.run(ctx)
	return l
}

// makeCalls counts n calls to AWS, and records their time. The caller must hold mu.
func (l *testHub) makeCalls(n int64) {
	l.awsCalls.Add(n)
	l.recordedCalls = append(l.recordedCalls, timedCalls{time.Now(), int(n)})
}

// fullRefreshCount returns the times of the full refreshes, relative to startedAt. It has no times while fullRefreshCost is
// zero.
func (l *testHub) fullRefreshes() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.fullRefreshTimes)
}

// withLock runs edit while no refresh runs.
func (l *testHub) withLock(edit func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	edit()
}

// refreshes returns the times of all refreshes, relative to startedAt.
func (l *testHub) refreshes() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.refreshTimes)
}

// openPage adds a viewer to the hub, and returns the viewer.
func (l *testHub) openPage(background bool) *viewer {
	v := &viewer{background: background, update: make(chan *pageState, 1)}
	l.hub.sendViewer(l.hub.join, v)
	return v
}

// latestState returns the state that was last sent to a viewer. It fails the test if there is none since the last call.
func latestState(t *testing.T, v *viewer) *pageState {
	t.Helper()
	synctest.Wait()
	select {
	case s := <-v.update:
		return s
	default:
		t.Fatal("there is no update")
		return nil
	}
}

// TestRefreshIntervalDependsOnViewers checks that no refresh runs while no page is open. A refresh runs every two seconds
// while a page is in the foreground, and every minute while all pages are in the background.
func TestRefreshIntervalDependsOnViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		time.Sleep(time.Hour)
		if len(l.refreshes()) > 0 {
			t.Errorf("refreshes run at %v while no page is open", l.refreshes())
		}
		front := l.openPage(false)
		time.Sleep(5 * time.Second)
		l.hub.sendViewer(l.hub.leave, front)
		l.openPage(true)
		time.Sleep(125 * time.Second)
		want := []time.Duration{0, 2, 4, 64, 124}
		for i := range want {
			want[i] = time.Hour + want[i]*time.Second
		}
		if !slices.Equal(l.refreshes(), want) {
			t.Errorf("refreshes run at %v, want %v", l.refreshes(), want)
		}
	})
}

// TestRefreshesStayWithinCallBudget checks that refreshes run every half minute if each uses half of the calls per minute.
// Calls of commands are shown, but do not delay these refreshes.
func TestRefreshesStayWithinCallBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		l.withLock(func() { l.refreshCost = 50 })
		v := l.openPage(false)
		time.Sleep(61 * time.Second)
		if want := []time.Duration{0, 30 * time.Second, time.Minute}; !slices.Equal(l.refreshes(), want) {
			t.Errorf("refreshes run at %v, want %v", l.refreshes(), want)
		}
		s := latestState(t, v)
		if n, looked := s.lastMinute(); n != 150 || looked != 150 || s.untilNextRefresh != 30*time.Second || s.refreshCalls != 50 {
			t.Errorf("%d calls in the last minute, %d by refreshes, %d by the last refresh, the next refresh in %s", n, looked, s.refreshCalls, s.untilNextRefresh)
		}
		l.withLock(func() { l.makeCalls(600) }) // calls of a command
		time.Sleep(30 * time.Second)
		if n := l.hub.updateFor(latestState(t, v), 0).AWS; n.Minute != 750 || n.Looks != 150 {
			t.Errorf("with a command there are %+v", n)
		}
	})
}

// TestPagesReceiveChanges checks that a page receives only the changes since its last state. A new page receives all stacks,
// and no earlier changes.
func TestPagesReceiveChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		v := l.openPage(false)
		first := l.hub.updateFor(latestState(t, v), 0)
		if len(first.Keys) != 1 || len(first.Stacks) != 1 || len(first.Changes) != 0 {
			t.Errorf("at first: %+v", first)
		}
		l.withLock(func() {
			l.stackIDs = []string{"bank/pay", "shop/web"}
			l.changes = []change{{Subject: "Ingress bank/pay", Added: []string{"listener HTTP:80"}}}
		})
		l.hub.publishEvent(input.Event{Kind: "Ingress", Namespace: "bank", Name: "pay", Reason: "SuccessfullyReconciled"})
		time.Sleep(2 * time.Second)
		second := l.hub.updateFor(latestState(t, v), 1)
		if len(second.Keys) != 2 || len(second.Stacks) != 1 || len(second.Changes) != 2 || second.Changes[0].Subject != "Ingress bank/pay" || second.Changes[0].Event == nil {
			t.Errorf("later: %+v", second)
		}
		l.withLock(func() { l.changes = nil })
		time.Sleep(2 * time.Second)
		third := latestState(t, v)
		if n := l.hub.updateFor(third, 2); len(n.Stacks)+len(n.Changes) != 0 || len(n.Keys) != 2 {
			t.Errorf("without a change: %+v", n)
		}
		if n := l.hub.updateFor(third, 0); len(n.Stacks) != 2 || len(n.Changes) != 0 {
			t.Errorf("to a page that is opened later: %+v", n)
		}
	})
}

// TestFailedRefreshRetainsStacks checks that, after failed refreshes, a page receives the stacks of the last successful
// refresh, the error, and the time of the first failed refresh.
func TestFailedRefreshRetainsStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		v := l.openPage(false)
		latestState(t, v)
		l.withLock(func() { l.refreshErr = errors.New("AWS does not answer") })
		time.Sleep(10 * time.Second)
		s := latestState(t, v)
		n := l.hub.updateFor(s, 0)
		if n.Failed != "AWS does not answer" || len(n.Stacks) != 1 || n.Since == nil || n.Since.Sub(l.startedAt).Round(time.Second) != 2*time.Second {
			t.Errorf("%+v", n)
		}
		l.withLock(func() { l.refreshErr = nil })
		time.Sleep(2 * time.Second)
		if n := l.hub.updateFor(latestState(t, v), 0); n.Failed != "" || n.Since != nil {
			t.Errorf("after it: %+v", n)
		}
	})
}

// TestChangesAreBounded checks that at most maxChanges changes are stored, even if there are very many events.
func TestChangesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestCluster(t, 100)
		v := l.openPage(false)
		latestState(t, v)
		for range 5 * maxChanges {
			l.hub.publishEvent(input.Event{Kind: "Ingress", Name: "x"})
		}
		time.Sleep(2 * time.Second)
		if n := len(latestState(t, v).changes); n != maxChanges {
			t.Errorf("%d changes are kept", n)
		}
	})
}

// TestNotesAreThoseOfTheLastRefresh checks that a page does not show notes that the last refresh did not give.
func TestNotesAreThoseOfTheLastRefresh(t *testing.T) {
	before := (*pageState)(nil).withRefresh(refreshResult{snapshot: tree.Snapshot{Notes: "# not read"}})
	if after := before.withRefresh(refreshResult{}); before.notes != "# not read" || after.notes != "" {
		t.Errorf("notes %q, then %q", before.notes, after.notes)
	}
}
