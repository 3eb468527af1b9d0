package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// flappingTargets are the targets of a binding that were deregistered, or registered again, within the last seconds, by
// target ID. A user who edits the selector of a Service, its ports or its EndpointSlices again and again, or whose pods
// alternate between ready and unready, would spend the calls that all tenants share. A rolling update is never delayed,
// because a new pod gets an address that has not been registered for longer than a streak lasts.
type flappingTargets map[string]repeat.Streak

// returnBackOff defines the delays of targets that are registered again. Each target may be registered again three times
// without delay. The longest delay is shorter than the delay of calls that deregister targets of running pods. The VPC does
// not assign the address of a target to another pod within StreakTimeout.
var returnBackOff = repeat.BackOff{FreeRepetitions: 3, FirstDelay: durations.FirstBackOff, LongestDelay: durations.FollowUpTime, StreakTimeout: durations.Requeue}

// currentStreaks returns the streaks that have not ended. A streak with a delay is remembered for longer, because targets
// that replace each other at random may remain registered over several delays.
func (f flappingTargets) currentStreaks(now time.Time) flappingTargets {
	out := flappingTargets{}
	for id, streak := range f {
		if !returnBackOff.HasEnded(streak, now) || returnBackOff.Delays(streak) && now.Sub(streak.LastWrite) <= durations.DeniedWait {
			out[id] = streak
		}
	}
	return out
}

// noteDeregistered notes targets that were deregistered. It does not extend a streak, which counts from the last
// registration, so that pods that become unready one by one do not delay the others.
func (f flappingTargets) noteDeregistered(ids []string, now time.Time) flappingTargets {
	out := f.currentStreaks(now)
	for _, id := range ids {
		if _, ok := out[id]; !ok {
			out[id] = repeat.Streak{LastWrite: now}
		}
	}
	return out
}

// noteRegistered notes targets that were registered, some of them perhaps again.
func (f flappingTargets) noteRegistered(ids []string, now time.Time) flappingTargets {
	out := f.currentStreaks(now)
	for _, id := range ids {
		if streak, ok := out[id]; ok {
			out[id] = repeat.Streak{Repetitions: streak.Repetitions + 1, LastWrite: now}
		}
	}
	return out
}

// heldTargets returns the IDs of the targets that are neither registered nor deregistered now, and for how long (left). Once
// one target is delayed, all targets that were registered again are delayed with it and change together, so that many
// targets cost no more calls than one. If no other target can serve requests, the delay is only FirstDelay (alone).
func (f flappingTargets) heldTargets(now time.Time) (ids map[string]bool, left, alone time.Duration) {
	streaks := f.currentStreaks(now)
	for _, streak := range streaks {
		if returnBackOff.Delays(streak) {
			left = max(left, returnBackOff.Remaining(streak, now))
			alone = max(alone, streak.LastWrite.Add(returnBackOff.FirstDelay).Sub(now))
		}
	}
	if left <= 0 {
		return nil, 0, 0
	}
	ids = map[string]bool{}
	for id, streak := range streaks {
		if streak.Repetitions > 0 {
			ids[id] = true
		}
	}
	return ids, left, min(left, alone)
}
