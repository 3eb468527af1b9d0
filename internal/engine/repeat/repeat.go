// Package repeat sets the pace of what is done again and again, such as writes that another actor undoes: some times at
// once, then with exponential back-off. It has no clock and no memory; who writes keeps a Row for each thing that is written.
package repeat

import "time"

// Pace is how often the same is written again.
type Pace struct {
	// Free is how many repetitions are not delayed: a user may undo what is written, and others may restore an older state.
	Free int
	// First is the wait after that, which doubles with each repetition up to Longest.
	First, Longest time.Duration
	// Rest is how long after it may have been repeated again a write is no part of the row any more.
	Rest time.Duration
}

// Row is how often in a row the same was written again. The zero value is that of something never written.
type Row struct {
	Times int       // without the first write
	At    time.Time // of the last one
}

// Wait returns the time between the last repetition and the next one.
func (p Pace) Wait(r Row) time.Duration {
	if !p.Delays(r) {
		return 0
	}
	return min(p.First<<min(r.Times-p.Free, 20), p.Longest)
}

// Delays reports whether so much was repeated that further writes are delayed.
func (p Pace) Delays(r Row) bool { return r.Times >= p.Free }

// Left returns how long the next repetition is delayed; it is not above zero if it is not.
func (p Pace) Left(r Row, now time.Time) time.Duration { return r.At.Add(p.Wait(r)).Sub(now) }

// Over reports whether so much time has passed that a further write begins a new row.
func (p Pace) Over(r Row, now time.Time) bool { return now.Sub(r.At) > 2*p.Wait(r)+p.Rest }
