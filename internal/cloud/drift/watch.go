package drift

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// Share is the part of the calls per second that AWS admits which is used to look for drift.
const Share = 0.05

// Check is something that is read again from time to time.
type Check struct {
	Key   string
	Every time.Duration
	// At is when it was read last, by whomever; zero if that is not known.
	At   time.Time
	Read func(ctx context.Context) error
}

// Source has something to check.
type Source interface {
	// Checks are what there is to check now.
	Checks() []Check
}

// AWS is the reading side of AWS, with the rate of calls that it admits.
type AWS interface {
	Source
	// ReadRate is how many reading calls per second AWS admits now, of which Share is used.
	ReadRate() float64
}

// Watch makes checks one after the other.
type Watch struct {
	AWS AWS
	// Others have checks besides.
	Others []Source
	// Log has each check that failed, at the debug level.
	Log logr.Logger

	last   map[string]time.Time
	due    []dueCheck // or soon
	listed time.Time
}

type dueCheck struct {
	Check
	at time.Time
}

// Step makes the check that is most overdue, if one is, and returns how long to wait before the next
// step. It uses no more than the share of the calls: what a check has called is waited for after it.
func (w *Watch) Step(ctx context.Context) time.Duration {
	now := time.Now()
	if w.listed.IsZero() || now.Sub(w.listed) >= durations.Recent {
		w.list(now)
	}
	i, wait := w.next(now)
	if i < 0 {
		return wait
	}
	next := w.due[i]
	w.last[next.Key] = now
	if again := (dueCheck{next.Check, now.Add(next.Every)}); again.at.Before(w.listed.Add(durations.Recent)) {
		w.due[i] = again
	} else {
		w.due = slices.Delete(w.due, i, i+1)
	}
	var calls atomic.Int64
	if err := next.Read(context.WithValue(ctx, countKey{}, &calls)); err != nil && ctx.Err() == nil {
		w.Log.V(1).Info("failed to look for drift", "check", next.Key, "err", err.Error())
	}
	return time.Duration(float64(calls.Load()) / (Share * max(w.AWS.ReadRate(), slowest)) * float64(time.Second))
}

// next returns the check that is most overdue by the measure of its period, so that all periods grow by the same
// factor where the share does not suffice. By the time alone, what has a short period would wait as long as
// everything else. It is -1 with the time until a check is due if none is.
func (w *Watch) next(now time.Time) (index int, wait time.Duration) {
	index, wait = -1, durations.Recent
	most := 0.0
	for i, c := range w.due {
		late := now.Sub(c.at)
		if late < 0 {
			wait = min(wait, -late)
			continue
		}
		if by := float64(late) / float64(max(c.Every, 1)); index < 0 || by > most {
			index, most = i, by
		}
	}
	return index, wait
}

// slowest bounds how long a call is waited for where AWS admits next to nothing.
const slowest = 0.2

// list asks the sources, and notes what is due soon. What is new is taken for read at a time
// that differs by key, so that not all is due at once.
func (w *Watch) list(now time.Time) {
	w.listed, w.due = now, w.due[:0]
	last := map[string]time.Time{}
	for _, source := range append([]Source{w.AWS}, w.Others...) {
		for _, c := range source.Checks() {
			at, known := w.last[c.Key]
			if !known {
				at = now.Add(-spread(c.Key, c.Every))
			}
			last[c.Key] = at
			if c.At.After(at) {
				at = c.At
			}
			if due := at.Add(c.Every); due.Before(now.Add(durations.Recent)) {
				w.due = append(w.due, dueCheck{c, due})
			}
		}
	}
	w.last = last
	slices.SortFunc(w.due, func(a, b dueCheck) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.Key, b.Key)) })
}

// Run makes steps until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(w.Step(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// spread returns a part of a period that depends on the key alone.
func spread(key string, period time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash takes everything
	return time.Duration(float64(period) * float64(h.Sum32()) / (1 << 32))
}

type countKey struct{}

// IsCheck reports whether something is done for a check.
func IsCheck(ctx context.Context) bool {
	_, is := ctx.Value(countKey{}).(*atomic.Int64)
	return is
}

// Count counts a call to AWS that is made for a check; it does nothing for any other.
func Count(ctx context.Context) {
	if n, ok := ctx.Value(countKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
