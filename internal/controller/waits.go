package controller

import (
	"context"
	"sync"
	"time"
)

// waits measure how long items wait for a worker, by priority, and how old the change is that a run answers.
type waits[K comparable] struct {
	now func() time.Time
	// waited is called with how long an item has waited for a worker. Nil to ignore.
	waited func(priority string, d time.Duration)

	mu sync.Mutex
	of map[K]waiting
}

type waiting struct {
	due      time.Time // when it may be worked on
	priority int
	// since is when the change came that it is queued for; zero if nothing has changed.
	since time.Time
}

func newWaits[K comparable](now func() time.Time, waited func(string, time.Duration)) *waits[K] {
	return &waits[K]{now: now, waited: waited, of: map[K]waiting{}}
}

// add notes that an item is queued, to be worked on after a time. The earliest counts. changed says that
// something has changed.
func (w *waits[K]) add(k K, priority int, after time.Duration, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	x, queued := w.of[k]
	if due := now.Add(after); !queued || due.Before(x.due) {
		x.due, x.priority = due, priority
	}
	if changed && x.since.IsZero() {
		x.since = now
	}
	w.of[k] = x
}

// begin notes that a worker has an item, and returns since when what it is queued for has changed.
func (w *waits[K]) begin(k K) (since time.Time) {
	w.mu.Lock()
	x, queued := w.of[k]
	delete(w.of, k)
	w.mu.Unlock()
	if queued && w.waited != nil {
		w.waited(priorityName(x.priority), max(w.now().Sub(x.due), 0))
	}
	return x.since
}

// putOff notes that a change is not answered yet, as a call waits for its turn.
func (w *waits[K]) putOff(k K, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x, queued := w.of[k]; queued && !since.IsZero() && (x.since.IsZero() || since.Before(x.since)) {
		x.since = since
		w.of[k] = x
	}
}

// priorityName is the name of the priority that an item was queued at. Items are put back by less than priorities are apart.
func priorityName(priority int) string {
	switch {
	case priority > priorityEdits:
		return "targets"
	case priority > priorityDrift:
		return "edits"
	case priority > priorityResync:
		return "drift"
	}
	return "resync"
}

type sinceKey struct{}

// sinceOf is when the change came that a run answers; zero if none did.
func sinceOf(ctx context.Context) time.Time {
	at, _ := ctx.Value(sinceKey{}).(time.Time)
	return at
}
