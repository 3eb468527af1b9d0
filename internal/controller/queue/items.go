package queue

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// items has the state of the items of a queue: when each queued item is due, the open items of each tenant, and the last
// failure of each item. One lock protects the whole struct.
type items[K comparable] struct {
	controller Controller[K]
	queue      priorityqueue.PriorityQueue[K] // nil before the controller has started

	mu           sync.Mutex
	queued       map[K]queuedItem
	openItems    map[K]string   // the tenant of each open item
	openByTenant map[string]int // open items by tenant
	lastFailure  map[K]string   // text of the error of the last failed run
}

func newItems[K comparable](l Controller[K]) *items[K] {
	return &items[K]{controller: l, queued: map[K]queuedItem{}, openItems: map[K]string{}, openByTenant: map[string]int{}, lastFailure: map[K]string{}}
}

// queuedItem is the record of an item in the queue.
type queuedItem struct {
	dueAt    time.Time // when the item may be reconciled
	priority int
	// changedAt is the time of the change that enqueued the item; zero if nothing has changed.
	changedAt time.Time
}

// recordQueued records that an item is queued, and due after the duration after. If the item is queued already, the earlier
// due time counts, with its priority. changed reports whether an object of the item has changed.
func (s *items[K]) recordQueued(k K, priority int, after time.Duration, changed bool) {
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

// beginRun records that a worker has taken an item from the queue. It returns the time of the change that enqueued the item,
// or zero if nothing has changed.
func (s *items[K]) beginRun(k K) (since time.Time) {
	s.mu.Lock()
	x, queued := s.queued[k]
	delete(s.queued, k)
	s.mu.Unlock()
	if m := s.controller.Metrics; queued && m != nil {
		m.RecordWait(s.controller.Name, priorityName(x.priority), max(time.Since(x.dueAt), 0))
	}
	return x.changedAt
}

// repeatFailed enqueues an item whose run has failed. The item is due when the duration after has passed, or earlier if the
// back-off is shorter. repeatFailed does nothing if after is zero.
func (s *items[K]) repeatFailed(k K, after time.Duration) {
	if after <= 0 || s.queue == nil {
		return
	}
	priority := s.addOpenItem(k, priorityEdits)
	s.recordQueued(k, priority, after, false)
	s.queue.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &priority}, k)
}

// restoreChangedAt records since, the time of the change that caused the last run, for the next run. The last run has not
// carried out the change, because a call was postponed.
func (s *items[K]) restoreChangedAt(k K, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x, queued := s.queued[k]; queued && !since.IsZero() && (x.changedAt.IsZero() || since.Before(x.changedAt)) {
		x.changedAt = since
		s.queued[k] = x
	}
}

const (
	// maxTenantPenalty is the maximum reduction of the priority of an item because its tenant has other open items. The
	// difference between two priority constants is larger, so items of different priorities keep their order.
	maxTenantPenalty = 9
)

// addOpenItem records that an item is open, and returns its priority in the queue. An item is open if it has changed, or if
// it runs again soon. Each other open item of the tenant lowers the priority by one, up to maxTenantPenalty, so that a
// tenant with many changes does not delay all other tenants.
func (s *items[K]) addOpenItem(k K, priority int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.openItems[k]; !ok {
		s.mu.Unlock()
		tenant := s.controller.Reconciler.Tenant(k) // outside of the lock, because it reads the members of an IngressGroup
		s.mu.Lock()
		if _, ok := s.openItems[k]; !ok {
			s.openItems[k] = tenant
			s.openByTenant[tenant]++
		}
	}
	return priority - min(s.openByTenant[s.openItems[k]]-1, maxTenantPenalty)
}

// removeOpenItem records that an item is not open any more.
func (s *items[K]) removeOpenItem(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.openItems[k]
	if !ok {
		return
	}
	delete(s.openItems, k)
	if s.openByTenant[t]--; s.openByTenant[t] == 0 {
		delete(s.openByTenant, t)
	}
}

// recordFailure records the error of a run, or nil if the run succeeded. It reports whether the error differs from that of the
// previous run, so that repeated errors are logged only once.
func (s *items[K]) recordFailure(k K, err error) bool {
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
