package engine

import (
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// routes remembers when the routes of stacks were changed last. What it forgets, or what another
// process did before this one, counts as changed when this process began to run stacks: that is
// late enough, and costs no more than a wait.
type routes struct {
	mu      sync.Mutex
	begun   time.Time
	changed map[model.StackID]time.Time
}

// begin notes the time of the first run; later calls do nothing.
func (r *routes) begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun.IsZero() {
		r.begun = now
	}
}

// note remembers a change, and forgets those of which all nodes know.
func (r *routes) note(id model.StackID, now time.Time, propagation time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, at := range r.changed {
		if now.Sub(at) >= propagation {
			delete(r.changed, other)
		}
	}
	if r.changed == nil {
		r.changed = map[model.StackID]time.Time{}
	}
	r.changed[id] = now
}

// unsettled is for how long nodes of a stack's load balancer may not know its routes; 0: they do.
// Without a clock nothing is known, and nothing is waited for.
func (r *routes) unsettled(id model.StackID, now time.Time, propagation time.Duration) time.Duration {
	if now.IsZero() {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.changed[id]
	if !ok {
		at = r.begun
	}
	return max(at.Add(propagation).Sub(now), 0)
}
