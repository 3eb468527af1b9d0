package controller

import (
	"sync"
	"time"
)

// shares counts the open items of each tenant: those that have changed, or wait for something that
// comes soon. At one priority, the more open items a tenant has, the later they come, so that one who
// changes very much does not keep all others waiting.
type shares[K comparable] struct {
	tenant func(K) string

	mu    sync.Mutex
	open  map[K]struct{}
	count map[string]int
}

const (
	// maxShare is how far an item is put back within its priority at most. Priorities are further apart.
	maxShare = 9
	// soonOpen is how long an item may wait and be open all the same.
	soonOpen = time.Minute
)

func newShares[K comparable](tenant func(K) string) *shares[K] {
	if tenant == nil {
		tenant = func(K) string { return "" }
	}
	return &shares[K]{tenant: tenant, open: map[K]struct{}{}, count: map[string]int{}}
}

// priority notes that an item is open, and says where it is queued.
func (s *shares[K]) priority(k K, priority int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenant(k)
	if _, ok := s.open[k]; !ok {
		s.open[k] = struct{}{}
		s.count[t]++
	}
	return priority - min(s.count[t]-1, maxShare)
}

// settled notes that nothing is known to be left to do for an item.
func (s *shares[K]) settled(k K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[k]; !ok {
		return
	}
	delete(s.open, k)
	t := s.tenant(k)
	if s.count[t]--; s.count[t] == 0 {
		delete(s.count, t)
	}
}
