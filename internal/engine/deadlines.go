package engine

import (
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// deadlines remembers since when the plans of stacks wait for what. It is as large as what the last
// plans wait for. What is forgotten at a restart is waited for once more, and not longer.
type deadlines struct {
	mu    sync.Mutex
	since map[model.StackID]map[string]time.Time
}

// waited is for how long each of what a stack waits for is waited for. Without a clock nothing is
// known.
func (d *deadlines) waited(id model.StackID, now time.Time) map[string]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string]time.Duration, len(d.since[id]))
	for key, since := range d.since[id] {
		out[key] = now.Sub(since)
	}
	return out
}

// note remembers what the plan of a stack waits for, and forgets what it does not wait for any more.
func (d *deadlines) note(id model.StackID, waiting []string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.IsZero() || len(waiting) == 0 {
		delete(d.since, id)
		return
	}
	if d.since == nil {
		d.since = map[model.StackID]map[string]time.Time{}
	}
	next := make(map[string]time.Time, len(waiting))
	for _, key := range waiting {
		since, known := d.since[id][key]
		if !known {
			since = now
		}
		next[key] = since
	}
	d.since[id] = next
}
