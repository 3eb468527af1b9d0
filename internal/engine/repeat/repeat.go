// Package repeat delays writes that are repeated because an external actor undoes them or AWS does not keep them. The first
// repetitions are immediate, and later ones have an exponential back-off. The package has no clock and no state: the caller
// stores a Streak for each write.
package repeat

import "time"

// BackOff defines the delays between repetitions of one write.
type BackOff struct {
	// FreeRepetitions is the number of repetitions that are not delayed. A few repetitions are normal, because a user may
	// undo a write or restore an older state.
	FreeRepetitions int
	// FirstDelay is the delay of the first repetition after the free ones. The delay doubles with each further repetition,
	// up to LongestDelay.
	FirstDelay, LongestDelay time.Duration
	// StreakTimeout is the time after which a streak without a further repetition ends. It begins when twice the delay of
	// the next repetition has passed since the last write.
	StreakTimeout time.Duration
}

// Streak is a series of repetitions of one write, with no long pause between them (BackOff.HasEnded). The zero value is a
// write that was never made.
type Streak struct {
	Repetitions int       // number of repetitions, without the first write
	LastWrite   time.Time // time of the last write
}

// Delay returns the delay between the last write and the next repetition; 0 if the next repetition is free.
func (p BackOff) Delay(s Streak) time.Duration {
	if !p.IsDelayed(s) {
		return 0
	}
	return min(p.FirstDelay<<min(s.Repetitions-p.FreeRepetitions, 20), p.LongestDelay)
}

// IsDelayed reports whether the next repetition is delayed, because the free repetitions are used up.
func (p BackOff) IsDelayed(s Streak) bool { return s.Repetitions >= p.FreeRepetitions }

// Remaining returns how much longer the next repetition is delayed; zero or negative: the repetition is due.
func (p BackOff) Remaining(s Streak, now time.Time) time.Duration {
	return s.LastWrite.Add(p.Delay(s)).Sub(now)
}

// HasEnded reports whether the streak has timed out, so that the next write begins a new streak.
func (p BackOff) HasEnded(s Streak, now time.Time) bool {
	return now.Sub(s.LastWrite) > 2*p.Delay(s)+p.StreakTimeout
}
