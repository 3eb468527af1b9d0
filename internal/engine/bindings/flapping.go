package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// flapping are the targets of a binding that were deregistered, or registered again, within the last seconds, by target ID.
// A user who edits the selector of a Service, its ports or its EndpointSlices again and again, or whose pods alternate
// between ready and unready, would spend the calls that all tenants share. A rolling update is never delayed, because a
// new pod gets an address that has not been registered for longer than a streak lasts.
type flapping map[string]repeat.Streak

// returnBackOff has the delays of targets that are registered again. Each target may be registered again three times without
// delay. The longest delay is shorter than the delay of calls that deregister targets of running pods. The VPC assigns no
// address to another pod within Rest.
var returnBackOff = repeat.BackOff{Free: 3, First: durations.FirstBackOff, Longest: durations.FollowUpTime, Rest: durations.Requeue}

// current returns the streaks that have not ended. A streak that is delayed is remembered for longer, because a set of
// targets that is replaced by other targets at random may remain registered over several delays.
func (f flapping) current(now time.Time) flapping {
	out := flapping{}
	for id, streak := range f {
		if !returnBackOff.HasEnded(streak, now) || returnBackOff.Delays(streak) && now.Sub(streak.At) <= durations.DeniedWait {
			out[id] = streak
		}
	}
	return out
}

// noteDeregistered notes targets that were deregistered. It does not extend a streak, which counts from the last
// registration, so that pods that become unready one by one do not delay the others.
func (f flapping) noteDeregistered(ids []string, now time.Time) flapping {
	out := f.current(now)
	for _, id := range ids {
		if _, ok := out[id]; !ok {
			out[id] = repeat.Streak{At: now}
		}
	}
	return out
}

// noteRegistered notes targets that were registered, some of them perhaps again.
func (f flapping) noteRegistered(ids []string, now time.Time) flapping {
	out := f.current(now)
	for _, id := range ids {
		if streak, ok := out[id]; ok {
			out[id] = repeat.Streak{Times: streak.Times + 1, At: now}
		}
	}
	return out
}

// heldTargets returns the IDs of the targets that are neither registered nor deregistered now, and for how long (left). Once
// one is delayed, all that were registered again are delayed with it and change together, so that many targets cost no more
// calls than one. If no other target can serve, the delay is only the first one (alone).
func (f flapping) heldTargets(now time.Time) (ids map[string]bool, left, alone time.Duration) {
	streaks := f.current(now)
	for _, streak := range streaks {
		if returnBackOff.Delays(streak) {
			left = max(left, returnBackOff.Remaining(streak, now))
			alone = max(alone, streak.At.Add(returnBackOff.First).Sub(now))
		}
	}
	if left <= 0 {
		return nil, 0, 0
	}
	ids = map[string]bool{}
	for id, streak := range streaks {
		if streak.Times > 0 {
			ids[id] = true
		}
	}
	return ids, left, min(left, alone)
}
