package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

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
