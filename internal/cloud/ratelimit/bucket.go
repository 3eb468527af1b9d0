package ratelimit

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// A bucket is a model of one of AWS's token buckets, and learns one number: its scale. AWS's rate
// and capacity are taken for the documented ones times the scale, as AWS raises both together, and
// as another client of the account takes from both. Two observations correct the scale:
//
//   - AWS throttles a call for which the model has a token. AWS gave fewer tokens than the model
//     since both were last known to be alike, and the scale falls at once by what is missing: at
//     least by a twentieth, at most by half.
//   - Calls wait, and AWS takes one for which the model has no token: a trial. The scale rises by
//     what AWS gave more. The first trial is a single call, so that being wrong costs one throttled
//     answer. Each trial that AWS takes lets one more be in flight (as in TCP's slow start), but up
//     to the scale that was throttled last, and a little more, it takes 32 of them. After a
//     throttled call there is none for two minutes, and for longer if that was too early.
//
// Blind multiplicative decrease and additive increase would waste a fifth of what AWS gives, and
// would be throttled in each cycle; measuring costs one throttled call in each cycle.
const (
	// minScale is large enough that of calls of which AWS takes one in ten, however rare they are,
	// a fortieth of the documented rate is taken.
	minScale = 1.0 / 4
	maxScale = 128.0

	// someTrials may be in flight, and one more for each manyTaken that AWS took in a row, up to
	// mostTrials: all that are in flight when AWS has no token left are throttled.
	someTrials, mostTrials, manyTaken = 4, 64, 32

	leastFall, mostFall = 0.95, 0.5

	// newGround is how far above the scale that was throttled last the next one is not expected.
	newGround = 1.1

	// mostPauses is how many times durations.Throttled the time without a trial is at most. It doubles after
	// each throttled trial, unless trials have raised the scale: it is on its way then, and the pause
	// only takes as long as ten calls.
	mostPauses = 8
)

// bucket is guarded by the lock of its limiter.
type bucket struct {
	TokenBucket
	scale  float64
	tokens float64
	at     time.Time // of the tokens
	// given is what a bucket of scale 1 has given since the tokens of AWS were last known, which is
	// when the bucket was full, or empty because AWS throttled.
	given float64

	flight  int       // of the calls that are sent now; a throttled answer begins another
	trying  int       // trials in flight
	trials  int       // how many may be
	inRow   int       // trials that AWS took since it throttled last
	paused  time.Time // no trials before
	pause   time.Duration
	ceiling float64 // the scale that was throttled last
}

func newBucket(p TokenBucket, now time.Time) *bucket {
	return &bucket{TokenBucket: p, scale: 1, tokens: float64(p.Burst), at: now, given: float64(p.Burst), trials: 1, pause: durations.Throttled}
}

func (b *bucket) rate() float64 { return b.Rate * b.scale }

func (b *bucket) burst() float64 { return max(float64(b.Burst)*b.scale, 1) }

// refill brings the bucket up to the present.
func (b *bucket) refill(now time.Time) {
	d := now.Sub(b.at).Seconds()
	if d <= 0 {
		return
	}
	b.at = now
	b.tokens += d * b.rate()
	b.given = min(b.given+d*b.Rate, float64(b.Burst)+durations.Throttled.Seconds()*b.Rate)
	if b.tokens >= b.burst() {
		b.tokens, b.given = b.burst(), float64(b.Burst)
	}
}

// untilTokens returns how long it takes until the bucket has so many tokens, if no call takes any.
func (b *bucket) untilTokens(now time.Time, tokens float64) time.Duration {
	b.refill(now)
	if b.tokens >= tokens {
		return 0
	}
	return time.Duration((tokens-b.tokens)/b.rate()*float64(time.Second)) + durations.Behind
}

// until returns how long it takes until a call may be sent that has so many calls ahead of it that wait
// here, and others that were postponed. Those keep their claim to tokens, but a trial takes none.
func (b *bucket) until(now time.Time, here, away int) time.Duration {
	wait := b.untilTokens(now, float64(1+here+away))
	if !b.Fixed && b.trying+here < b.trials {
		return min(wait, max(b.paused.Sub(now), 0)) // as a trial
	}
	return wait
}

// undecided reports whether the answer to a trial, of a call that is sent or may be sent now, can
// admit more calls at any moment.
func (b *bucket) undecided(now time.Time) bool {
	return b.trying > 0 || !b.Fixed && !now.Before(b.paused)
}

// send takes a token, or notes that the call is a trial if there is none.
func (b *bucket) send(now time.Time) (trial bool) {
	b.refill(now)
	if b.tokens >= 1 || b.Fixed {
		b.tokens--
		return false
	}
	b.trying++
	return true
}

// taken learns from a call that AWS took.
func (b *bucket) taken(now time.Time, trial, sameFlight bool) {
	if !trial {
		return
	}
	b.refill(now)
	b.tokens--
	if !sameFlight {
		return // AWS was empty right after
	}
	if b.tokens < 0 {
		b.scale = min(b.scale-b.tokens/max(b.given, 1), 2*b.scale, maxScale)
		b.tokens = 0
	}
	if b.inRow++; b.scale > newGround*b.ceiling || b.inRow%manyTaken == 0 {
		b.trials = min(b.trials+1, someTrials+b.inRow/manyTaken, mostTrials)
	}
}

// throttled learns from the first throttled call of a flight. The others were sent before this one
// was answered, and teach nothing more.
func (b *bucket) throttled(now time.Time, trial bool) {
	if b.Fixed {
		return
	}
	b.refill(now)
	b.flight++
	won, risen := b.inRow, b.scale*leastFall > b.ceiling
	b.trials, b.inRow, b.ceiling = 1, 0, b.scale
	if trial {
		b.given = 0
		if won > 0 {
			b.tokens = min(b.tokens, 0)
		}
		if won > 0 && risen { // AWS had saved some: look soon what it gives all the time
			b.pause = durations.Throttled
			b.paused = now.Add(min(time.Duration(10/b.rate()*float64(time.Second)), durations.Throttled))
			return
		}
		b.paused = now.Add(b.pause)
		b.pause = min(2*b.pause, mostPauses*durations.Throttled)
		return
	}
	// AWS had less than one token, half of one in the mean.
	measured := b.scale - (b.tokens+0.5)/max(b.given, float64(b.Burst))
	b.scale = max(min(measured, leastFall*b.scale), mostFall*b.scale, minScale)
	b.tokens, b.given = 0, 0
	b.paused = now.Add(durations.Throttled)
}
