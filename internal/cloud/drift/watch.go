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

// CallShare is the fraction that drift checks may use of all read calls that AWS admits.
const CallShare = 0.05

// Check is a drift check: it reads a part of the observed state once in each period.
type Check struct {
	Key    string
	Period time.Duration
	// LastReadAt is when a check or a run last read the state; zero if that is not known.
	LastReadAt time.Time
	Read       func(ctx context.Context) error
}

// Source lists drift checks.
type Source interface {
	// Checks returns the checks that may run now.
	Checks() []Check
}

// AWSSource is a source of checks that also has the rate of read calls that AWS admits.
type AWSSource interface {
	Source
	// ReadRate returns the number of read calls per second that AWS currently admits. Drift checks use the fraction
	// CallShare of this rate.
	ReadRate() float64
}

// Watch runs the drift checks of all sources, one after the other.
type Watch struct {
	AWS AWSSource
	// OtherSources have additional checks, such as the checks of targets of bindings.
	OtherSources []Source
	// Log logs each failed check at debug level.
	Log logr.Logger

	lastCheckedAt map[string]time.Time // when each check last ran, by key of the check
	dueChecks     []dueCheck           // the checks that are due before the sources are listed again
	listedAt      time.Time            // when the sources were last listed
}

type dueCheck struct {
	Check
	dueAt time.Time
}

// RunNextCheck runs the check that is most overdue, if one is due. It returns how long to wait before the next call of
// RunNextCheck. After a check, the wait is long enough that drift checks use at most the fraction CallShare of the calls.
func (w *Watch) RunNextCheck(ctx context.Context) time.Duration {
	now := time.Now()
	if w.listedAt.IsZero() || now.Sub(w.listedAt) >= durations.Recent {
		w.listChecks(now)
	}
	i, wait := w.nextCheck(now)
	if i < 0 {
		return wait
	}
	next := w.dueChecks[i]
	w.lastCheckedAt[next.Key] = now
	if again := (dueCheck{next.Check, now.Add(next.Period)}); again.dueAt.Before(w.listedAt.Add(durations.Recent)) {
		w.dueChecks[i] = again
	} else {
		w.dueChecks = slices.Delete(w.dueChecks, i, i+1)
	}
	var calls atomic.Int64
	if err := next.Read(context.WithValue(ctx, callCountKey{}, &calls)); err != nil && ctx.Err() == nil {
		w.Log.V(1).Info("drift check failed", "check", next.Key, "err", err.Error())
	}
	return time.Duration(float64(calls.Load()) / (CallShare * max(w.AWS.ReadRate(), minReadRate)) * float64(time.Second))
}

// nextCheck returns the index of the check that is most overdue in relation to its period, or -1 and the time to wait if no
// check is due. If CallShare is too small for all checks, all periods become longer by the same factor. If nextCheck
// compared only the overdue time, checks with a short period would run as rarely as checks with a long period.
func (w *Watch) nextCheck(now time.Time) (index int, wait time.Duration) {
	index, wait = -1, durations.Recent
	most := 0.0
	for i, c := range w.dueChecks {
		late := now.Sub(c.dueAt)
		if late < 0 {
			wait = min(wait, -late)
			continue
		}
		if by := float64(late) / float64(max(c.Period, 1)); index < 0 || by > most {
			index, most = i, by
		}
	}
	return index, wait
}

// minReadRate is the lowest rate, in calls per second, that RunNextCheck uses to compute the wait. It limits the wait if AWS
// admits almost no calls.
const minReadRate = 0.2

// listChecks stores in dueChecks the checks of all sources that are due within durations.Recent. The first runs of new
// checks are spread over their periods, so that they are not all due at once.
func (w *Watch) listChecks(now time.Time) {
	w.listedAt, w.dueChecks = now, w.dueChecks[:0]
	last := map[string]time.Time{}
	for _, source := range append([]Source{w.AWS}, w.OtherSources...) {
		for _, c := range source.Checks() {
			at, known := w.lastCheckedAt[c.Key]
			if !known {
				at = now.Add(-periodOffset(c.Key, c.Period))
			}
			last[c.Key] = at
			if c.LastReadAt.After(at) {
				at = c.LastReadAt
			}
			if due := at.Add(c.Period); due.Before(now.Add(durations.Recent)) {
				w.dueChecks = append(w.dueChecks, dueCheck{c, due})
			}
		}
	}
	w.lastCheckedAt = last
	slices.SortFunc(w.dueChecks, func(a, b dueCheck) int { return cmp.Or(a.dueAt.Compare(b.dueAt), cmp.Compare(a.Key, b.Key)) })
}

// Run calls RunNextCheck until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for ctx.Err() == nil {
		timer := time.NewTimer(w.RunNextCheck(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// periodOffset returns a duration between zero and period. It is computed from a hash of the key, so it is always the same
// for a key.
func periodOffset(key string, period time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash returns no error
	return time.Duration(float64(period) * float64(h.Sum32()) / (1 << 32))
}

type callCountKey struct{}

// IsCheck reports whether the context belongs to a drift check.
func IsCheck(ctx context.Context) bool {
	_, is := ctx.Value(callCountKey{}).(*atomic.Int64)
	return is
}

// CountCall counts a call to AWS if the context belongs to a drift check.
func CountCall(ctx context.Context) {
	if n, ok := ctx.Value(callCountKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}
