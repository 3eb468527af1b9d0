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

// Share is the fraction of the calls per second admitted by AWS that is used to look for drift.
const Share = 0.05

// Check is a reading that is repeated from time to time to find drift.
type Check struct {
	Key   string
	Every time.Duration
	// At is the time of the last reading, by a check or by a run; zero if that is not known.
	At   time.Time
	Read func(ctx context.Context) error
}

// Source lists checks.
type Source interface {
	// Checks returns the checks that can run now.
	Checks() []Check
}

// AWS is the source of the checks of AWS resources, with the rate of read calls that AWS admits.
type AWS interface {
	Source
	// ReadRate returns how many read calls per second AWS admits now. Share of them is used.
	ReadRate() float64
}

// Watch runs checks one after the other.
type Watch struct {
	AWS AWS
	// Others are the sources of checks besides AWS.
	Others []Source
	// Log gets each check that failed, at the debug level.
	Log logr.Logger

	last   map[string]time.Time // when each check was made last, by its key
	due    []dueCheck           // the checks that are due before the next listing
	listed time.Time            // when the sources were listed last
}

type dueCheck struct {
	Check
	at time.Time
}

// Step runs the check that is most overdue, if any is due, and returns how long to wait before the next step. The wait is
// as long as the calls of the check take at the share of the admitted rate.
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
	return time.Duration(float64(calls.Load()) / (Share * max(w.AWS.ReadRate(), minReadRate)) * float64(time.Second))
}

// next returns the index of the check that is most overdue in relation to its period, so that all periods grow by the
// same factor where the share of calls does not suffice. By absolute time, a check with a short period would wait as
// long as all others. If no check is due, the index is -1 and wait is the time until one is.
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

// minReadRate, in calls per second, bounds the wait after a check where AWS admits almost no calls.
const minReadRate = 0.2

// list collects the checks of all sources that are due before the next listing. The first reading of a new check is
// spread over its period by its key, so that not all checks are due at once.
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

// Run calls Step until ctx ends.
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

// spread returns a fraction of a period that depends on the key alone.
func spread(key string, period time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash returns no error
	return time.Duration(float64(period) * float64(h.Sum32()) / (1 << 32))
}

type countKey struct{}

// IsCheck reports whether the context is that of a check for drift.
func IsCheck(ctx context.Context) bool {
	_, is := ctx.Value(countKey{}).(*atomic.Int64)
	return is
}

// Count counts a call to AWS, if the context is that of a check for drift.
func Count(ctx context.Context) {
	if n, ok := ctx.Value(countKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
