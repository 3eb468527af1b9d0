package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// repeats counts how often in a row a stack was given the very same changes with success. Once more
// may be somebody else's doing; again and again means that AWS shows something else than what it was
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
	return min(soon<<min(now.row-tooOften+1, 10), patience)
}

// waits counts how often in a row a stack found something still in use, or not there yet, and did
// nothing else. That passes in seconds as a rule; where it does not, somebody else holds the thing,
// and asking every two seconds would be for ever.
type waits struct {
	mu  sync.Mutex
	row map[model.StackID]int
}

const (
	// longestWait is the most that a stack waits for what is in use.
	longestWait = 5 * time.Minute
	// worthTelling is how many waits in a row are told to people, a few minutes after the first.
	worthTelling = 7
)

// count notes the end of a run and says how long to wait before the next, and which in a row that is.
func (w *waits) count(id model.StackID, failed []FailedStep, changed bool) (inRow int, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := slices.ContainsFunc(failed, func(f FailedStep) bool { return f.Class == InUse || f.Class == NotReady })
	if !waiting || changed {
		delete(w.row, id)
	}
	if !waiting {
		return 0, 0
	}
	if w.row == nil {
		w.row = map[model.StackID]int{}
	}
	w.row[id]++
	n := w.row[id]
	return n, min(soon<<min(n-1, 10), longestWait)
}
