package queue

import (
	"sync"
	"time"
)

// items holds the state of the items of a queue, under one lock: since when each item is queued, the open items of each
// tenant, and the last failure of each item.
type items[K comparable] struct {
	line Line[K]

	mu           sync.Mutex
	queued       map[K]queuedItem
	openItems    map[K]struct{}
	openByTenant map[string]int // open items by tenant
	lastFailure  map[K]string   // text of the error of the last failed run
}

func newItems[K comparable](l Line[K]) *items[K] {
	return &items[K]{line: l, queued: map[K]queuedItem{}, openItems: map[K]struct{}{}, openByTenant: map[string]int{}, lastFailure: map[K]string{}}
}

// queuedItem is the record of an item in the queue.
type queuedItem struct {
	dueAt    time.Time // when it may be reconciled
	priority int
	// changedAt is the time of the change that enqueued the item; zero if nothing has changed.
	changedAt time.Time
}

// noteQueued records that an item is queued and due after a time. If it is queued already, the earlier time counts. changed
// reports whether an object of the item has changed.
func (s *items[K]) noteQueued(k K, priority int, after time.Duration, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	x, queued := s.queued[k]
	if due := now.Add(after); !queued || due.Before(x.dueAt) {
		x.dueAt, x.priority = due, priority
	}
	if changed && x.changedAt.IsZero() {
		x.changedAt = now
	}
	s.queued[k] = x
}

// beginRun records that a worker has taken an item, and returns the time of the change that enqueued it; zero if nothing has
// changed.
func (s *items[K]) beginRun(k K) (since time.Time) {
	s.mu.Lock()
	x, queued := s.queued[k]
	delete(s.queued, k)
	s.mu.Unlock()
	if m := s.line.Metrics; queued && m != nil {
		m.RecordWait(s.line.Name, priorityName(x.priority), max(time.Since(x.dueAt), 0))
	}
	return x.changedAt
}

// restoreChangedAt records again the time of a change that the last run has not carried out, because a call was postponed.
func (s *items[K]) restoreChangedAt(k K, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, queued := s.queued[k]; queued && !since.IsZero() && (x.changedAt.IsZero() || since.Before(x.changedAt)) {
		x.changedAt = since
		s.queued[k] = x
	}
}

const (
	// maxTenantPenalty is the maximum by which the priority of an item is lowered for the open items of its tenant. The
	// priorities of priority.go are further apart.
	maxTenantPenalty = 9
)

// addOpenItem records that an item is open, and returns its priority in the queue. Open items are those that have changed,
// or that run again soon. Within one priority, the items of a tenant with many open items come later, so that a tenant with
// many changes does not delay all others.
func (s *items[K]) addOpenItem(k K, priority int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.line.Reconciler.Tenant(k)
	if _, ok := s.openItems[k]; !ok {
		s.openItems[k] = struct{}{}
		s.openByTenant[t]++
	}
	return priority - min(s.openByTenant[t]-1, maxTenantPenalty)
}

// removeOpenItem records that an item is not open any more.
func (s *items[K]) removeOpenItem(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.openItems[k]; !ok {
		return
	}
	delete(s.openItems, k)
	t := s.line.Reconciler.Tenant(k)
	if s.openByTenant[t]--; s.openByTenant[t] == 0 {
		delete(s.openByTenant, t)
	}
}

// noteFailure records the error of a run, nil if it succeeded, and reports whether the error differs from that of the
// previous run, so that each error is logged once and not at each retry.
func (s *items[K]) noteFailure(k K, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.lastFailure, k)
		return false
	}
	text := failureText(err)
	if was, ok := s.lastFailure[k]; ok && was == text {
		return false
	}
	s.lastFailure[k] = text
	return true
}
