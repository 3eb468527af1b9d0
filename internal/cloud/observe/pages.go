package observe

import (
	"context"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
)

// nextPage reads the next page of a list, and reports whether there are more pages. After a failure, the next call reads the
// same page again.
type nextPage func(context.Context) (more bool, err error)

// readAll reads the remaining pages.
func (next nextPage) readAll(ctx context.Context) error {
	for {
		if more, err := next(ctx); err != nil || !more {
			return err
		}
	}
}

// slowListFactor, multiplied by the time that reading a list took, is the additional time for which the list stays fresh.
// Without the additional time, if AWS is slow, a list would be outdated before the run has read all other resources. The
// list would then be read repeatedly.
const slowListFactor = 4

// readPages reads a list, and calls enter under the lock of the inventory with the entries and the time at which the read
// began. It resumes a failed read at the page that failed, unless that read began before the time since. If each read began
// at the first page, a list with many pages could not be read completely while AWS admits few calls.
func readPages[T any](ctx context.Context, c *sdk.Client, v *inventory.Inventory, key string, since time.Time, begin func(seen map[string]T) nextPage, enter func(seen map[string]T, start time.Time)) error {
	type reading struct {
		start time.Time
		seen  map[string]T
		next  nextPage
	}
	var r *reading
	v.WithReadLock(func() { r, _ = v.Lists[key].Unfinished.(*reading) })
	if r == nil || r.start.Before(since) || !c.IsYounger(r.start, durations.CacheRetention) {
		r = &reading{start: c.Config.Clock.Now(), seen: map[string]T{}}
		r.next = begin(r.seen)
		v.WithWriteLock(func() { v.Lists[key].Unfinished = r })
	}
	err := r.next.readAll(ctx)
	v.WithWriteLock(func() {
		if err == nil || sdk.IsInvalid(err) { // the token of the next page may have expired
			v.Lists[key].Unfinished = nil
		}
		if err == nil {
			enter(r.seen, r.start)
			v.Lists[key].ReadAt, v.Lists[key].ExtraAge = r.start, slowListFactor*c.Config.Clock.Now().Sub(r.start)
		}
	})
	return err
}
