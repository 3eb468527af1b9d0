package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine/repeat"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// flappingTargets has the targets of a binding that were recently deregistered or registered again, by target ID. Targets
// flap if a user repeatedly edits the selector or the ports of a Service or its EndpointSlices, or if pods alternate between
// ready and unready. Without a delay, they would use up the calls that all namespaces share. A rolling update is never
// delayed: a new pod gets an address that was not registered during the last StreakTimeout.
type flappingTargets map[string]repeat.Streak

// reregistrationBackOff defines the delays for targets that are registered again. Each target may be registered again three
// times without a delay. The longest delay is shorter than the longest postponement of a deregistration of a running pod.
// Within StreakTimeout, the VPC does not assign the address of a target to another pod.
var reregistrationBackOff = repeat.BackOff{FreeRepetitions: 3, FirstDelay: durations.FirstBackOff, LongestDelay: durations.FollowUpTime, StreakTimeout: durations.Requeue}

// currentStreaks returns the streaks that have not ended. A streak that causes a delay is retained for five minutes, because
// targets that change at random times may remain registered for longer than one delay.
func (f flappingTargets) currentStreaks(now time.Time) flappingTargets {
	out := flappingTargets{}
	for id, streak := range f {
		if !reregistrationBackOff.HasEnded(streak, now) || reregistrationBackOff.IsDelayed(streak) && now.Sub(streak.LastWrite) <= durations.LongestTransientBackOff {
			out[id] = streak
		}
	}
	return out
}

// recordDeregistered returns a copy of f with the targets that were deregistered. It does not extend an existing streak,
// because the timeout of a streak begins with the last registration. Pods that become unready one after another therefore do
// not delay each other.
func (f flappingTargets) recordDeregistered(ids []string, now time.Time) flappingTargets {
	out := f.currentStreaks(now)
	for _, id := range ids {
		if _, ok := out[id]; !ok {
			out[id] = repeat.Streak{LastWrite: now}
		}
	}
	return out
}

// recordRegistered returns a copy of f in which the streaks of the targets that were registered again have one more
// repetition. Targets that were not deregistered recently are not added.
func (f flappingTargets) recordRegistered(ids []string, now time.Time) flappingTargets {
	out := f.currentStreaks(now)
	for _, id := range ids {
		if streak, ok := out[id]; ok {
			out[id] = repeat.Streak{Repetitions: streak.Repetitions + 1, LastWrite: now}
		}
	}
	return out
}

// delayedTargets returns the IDs of the targets that must neither be registered nor deregistered for the duration left. If
// one target is delayed, all targets that were registered again are delayed for the same time, so that one call can then
// change all of them. alone is the shorter delay, at most FirstDelay, that applies if no other target can serve requests.
func (f flappingTargets) delayedTargets(now time.Time) (ids map[string]bool, left, alone time.Duration) {
	streaks := f.currentStreaks(now)
	for _, streak := range streaks {
		if reregistrationBackOff.IsDelayed(streak) {
			left = max(left, reregistrationBackOff.Remaining(streak, now))
			alone = max(alone, streak.LastWrite.Add(reregistrationBackOff.FirstDelay).Sub(now))
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
