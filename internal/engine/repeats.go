package engine

import (
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// repeats counts how often in a row a stack was given the very same changes with success. Once more
// may be the change of another; again and again means that AWS shows something else than what it was
// given, and it would be given for ever.
type repeats struct {
	mu   sync.Mutex
	last map[model.StackID]repeated
}

type repeated struct {
	what string
	row  int
}

// tooOften is how many times in a row the same changes are made at the usual pace.
const tooOften = 4

// count notes what a run has done, "" if nothing, and says how long to wait before the next run at
// least. A run that does nothing ends the row.
func (r *repeats) count(id model.StackID, what string) (wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if what == "" {
		delete(r.last, id)
		return 0
	}
	now := repeated{what: what, row: 1}
	if was := r.last[id]; was.what == what {
		now.row = was.row + 1
	}
	if r.last == nil {
		r.last = map[model.StackID]repeated{}
	}
	r.last[id] = now
	if now.row < tooOften {
		return 0
	}
	return min(soon<<min(now.row-tooOften+1, 10), longestBackOff)
}
