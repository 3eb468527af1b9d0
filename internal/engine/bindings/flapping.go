package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// flapping are the targets of a binding that were taken out, or came back, within the last seconds, by id. Whoever edits the
// selector of a Service, its ports or its EndpointSlices again and again, or has pods that are ready and unready by turns,
// would spend the calls that all tenants share. A pod that takes the place of another one has an address that has not been
// here for as long as a row lasts, so a rolling update is never slowed down.
type flapping map[string]repeat.Streak

// paceOfReturns is the pace of targets that come back: each does so three times before it waits. The longest wait is
// shorter than the time that targets whose pods run may wait anyway. The VPC gives no address to another pod within
// Rest.
var paceOfReturns = repeat.Pace{Free: 3, First: durations.Later, Longest: durations.Usual, Rest: durations.Requeue}

// current returns the rows that are not over. One that waits is remembered for longer, as a set of targets that others
// are exchanged for at random may be in use for some waits in a row.
func (f flapping) current(now time.Time) flapping {
	out := flapping{}
	for id, row := range f {
		if !paceOfReturns.HasEnded(row, now) || paceOfReturns.Delays(row) && now.Sub(row.At) <= durations.DeniedWait {
			out[id] = row
		}
	}
	return out
}

// noteDeregistered notes targets that were taken out. A row counts from the last return, so that pods that become
// unready one by one do not keep the others waiting.
func (f flapping) noteDeregistered(ids []string, now time.Time) flapping {
	out := f.current(now)
	for _, id := range ids {
		if _, ok := out[id]; !ok {
			out[id] = repeat.Streak{At: now}
		}
	}
	return out
}

// noteRegistered notes targets that were registered, of which some may have come back.
func (f flapping) noteRegistered(ids []string, now time.Time) flapping {
	out := f.current(now)
	for _, id := range ids {
		if row, ok := out[id]; ok {
			out[id] = repeat.Streak{Times: row.Times + 1, At: now}
		}
	}
	return out
}

// heldTargets returns the targets that neither come nor go now, and for how long: once one waits, all that have come
// back wait with it and change together, so that many targets cost no more calls than one. Where no other target can
// serve, they wait for the first wait alone.
func (f flapping) heldTargets(now time.Time) (ids map[string]bool, left, alone time.Duration) {
	rows := f.current(now)
	for _, row := range rows {
		if paceOfReturns.Delays(row) {
			left = max(left, paceOfReturns.Left(row, now))
			alone = max(alone, row.At.Add(paceOfReturns.First).Sub(now))
		}
	}
	if left <= 0 {
		return nil, 0, 0
	}
	ids = map[string]bool{}
	for id, row := range rows {
		if row.Times > 0 {
			ids[id] = true
		}
	}
	return ids, left, min(left, alone)
}
