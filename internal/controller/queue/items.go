package queue

import (
	"sync"
	"time"
)

// items is what a line remembers of the items of its queue, under one lock: what waits since when, what is open for
// each tenant, and how the last run of an item failed.
type items[K comparable] struct {
	line Line[K]

	mu     sync.Mutex
	queued map[K]waiting
	open   map[K]struct{}
	count  map[string]int // open items by tenant
	failed map[K]string   // how the last run failed
}

func newItems[K comparable](l Line[K]) *items[K] {
	return &items[K]{line: l, queued: map[K]waiting{}, open: map[K]struct{}{}, count: map[string]int{}, failed: map[K]string{}}
}

// waiting holds how long an item has waited for a worker, and how old the change is that its run answers.
type waiting struct {
	due      time.Time // when it may be worked on
	priority int
	// since is when the change came that it is queued for; zero if nothing has changed.
	since time.Time
}

// add notes that an item is queued, to be worked on after a time. The earliest counts. changed reports whether
// something has changed.
func (s *items[K]) add(k K, priority int, after time.Duration, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	x, queued := s.queued[k]
	if due := now.Add(after); !queued || due.Before(x.due) {
		x.due, x.priority = due, priority
	}
	if changed && x.since.IsZero() {
		x.since = now
	}
	s.queued[k] = x
}

// begin notes that a worker has an item, and returns since when what it is queued for has changed.
func (s *items[K]) begin(k K) (since time.Time) {
	s.mu.Lock()
	x, queued := s.queued[k]
	delete(s.queued, k)
	s.mu.Unlock()
	if m := s.line.Metrics; queued && m != nil {
		m.Waited(s.line.Name, priorityName(x.priority), max(time.Since(x.due), 0))
	}
	return x.since
}

// keepSince notes since when a change waits that is not answered yet, as a call is postponed.
func (s *items[K]) keepSince(k K, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, queued := s.queued[k]; queued && !since.IsZero() && (x.since.IsZero() || since.Before(x.since)) {
		x.since = since
		s.queued[k] = x
	}
}

const (
	// maxShare is how far an item is put back within its priority at most. Priorities are further apart.
	maxShare = 9
)

// priority notes that an item is open, and returns where it is queued. Open items are those that have changed, or wait
// for something that comes soon. At one priority, the more open items a tenant has, the later they come, so that one who
// changes very much does not keep all others waiting.
func (s *items[K]) priority(k K, priority int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.line.Reconciler.Tenant(k)
	if _, ok := s.open[k]; !ok {
		s.open[k] = struct{}{}
		s.count[t]++
	}
	return priority - min(s.count[t]-1, maxShare)
}

// close notes that nothing is known to be left to do for an item.
func (s *items[K]) close(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[k]; !ok {
		return
	}
	delete(s.open, k)
	t := s.line.Reconciler.Tenant(k)
	if s.count[t]--; s.count[t] == 0 {
		delete(s.count, t)
	}
}

// changedFailure notes how the run of an item failed, nil if it did not, and reports whether it failed otherwise than the
// last one, so that a log has an error for each change and not for each retry.
func (s *items[K]) changedFailure(k K, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.failed, k)
		return false
	}
	text := failureText(err)
	if was, ok := s.failed[k]; ok && was == text {
		return false
	}
	s.failed[k] = text
	return true
}
