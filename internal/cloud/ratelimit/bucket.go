package ratelimit

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// A bucket is a model of one of AWS's token buckets, and learns one number: its scale. The model assumes that the rate and
// the capacity in AWS are the documented values, multiplied by the scale. AWS raises rate and capacity together, and another
// client of the account reduces both. Two observations correct the scale:
//
//   - AWS throttles a call for which the model has a token. AWS then added fewer tokens than the model since both were last
//     known to be equal. The scale falls at once by the difference, but at least by a twentieth and at most by half.
//   - Calls wait, and AWS handles a call for which the model has no token: a trial. The scale rises by the difference. The
//     first trial is a single call, so that a wrong guess costs only one throttled call. Each trial that AWS handles allows
//     one more trial in flight (as in the slow start of TCP). At scales up to ceilingMargin times the scale that AWS
//     throttled last, 32 handled trials are needed to allow one more. After a throttled call there is no trial for two
//     minutes, and for longer if the next trial is throttled too.
//
// The usual method (AIMD: additive increase, multiplicative decrease) does not measure how wrong the scale is. It would waste
// a fifth of the calls that AWS admits, and AWS would throttle many calls in each cycle of increase and decrease. This method
// costs one throttled call per cycle.
const (
	// minScale is the minimum scale. It is large enough that AWS handles a fortieth of the documented rate even if it
	// throttles nine of ten calls, however few calls are made.
	minScale = 1.0 / 4
	maxScale = 128.0

	// At most baseTrials trials may be in flight, plus one for each trialsPerIncrease trials that AWS has handled since it
	// last throttled a call, but never more than maxTrials. The number is small, because AWS throttles all trials in flight
	// when it has no token left.
	baseTrials, maxTrials, trialsPerIncrease = 4, 64, 32

	// A throttled call multiplies the scale by a factor between greatestDecrease and smallestDecrease.
	smallestDecrease, greatestDecrease = 0.95, 0.5

	// ceilingMargin, multiplied by the scale that AWS throttled last, is the highest scale at which AWS is expected to
	// throttle again.
	ceilingMargin = 1.1

	// maxPauses is the longest pause without trials, in multiples of durations.ThrottlePause. The pause doubles after each
	// throttled trial. If handled trials had raised the scale before the throttled trial, the pause is only the time of ten
	// calls at the current rate.
	maxPauses = 8
)

// bucket is the model of a token bucket of AWS, with a learned scale. The lock of its limiter guards it.
type bucket struct {
	TokenBucket
	scale     float64
	tokens    float64
	countedAt time.Time // when tokens was counted
	// refilledTokens is the number of tokens that a bucket of scale 1 has received since the number of tokens in AWS was
	// last known. That number is known when the bucket is full, and when AWS throttles because the bucket is empty.
	refilledTokens float64

	flightNumber   int           // number of the current flight: the calls that are sent between two throttled answers
	trialsInFlight int           // the number of trials in flight
	trialLimit     int           // the maximum number of trials in flight
	handledTrials  int           // the number of trials that AWS has handled since it last throttled a call
	pausedUntil    time.Time     // no trial is made before this time
	nextPause      time.Duration // the length of the next pause without trials
	ceiling        float64       // the scale at which AWS last throttled a call
}

func newBucket(p TokenBucket, now time.Time) *bucket {
	return &bucket{TokenBucket: p, scale: 1, tokens: float64(p.Burst), countedAt: now, refilledTokens: float64(p.Burst), trialLimit: 1, nextPause: durations.ThrottlePause}
}

func (b *bucket) rate() float64 { return b.Rate * b.scale }

func (b *bucket) burst() float64 { return max(float64(b.Burst)*b.scale, 1) }

// refill adds the tokens for the time since the last refill.
func (b *bucket) refill(now time.Time) {
	d := now.Sub(b.countedAt).Seconds()
	if d <= 0 {
		return
	}
	b.countedAt = now
	b.tokens += d * b.rate()
	b.refilledTokens = min(b.refilledTokens+d*b.Rate, float64(b.Burst)+durations.ThrottlePause.Seconds()*b.Rate)
	if b.tokens >= b.burst() {
		b.tokens, b.refilledTokens = b.burst(), float64(b.Burst)
	}
}

// waitTimeForTokens returns how long it takes until the bucket has the given number of tokens, if no call takes a token.
func (b *bucket) waitTimeForTokens(now time.Time, tokens float64) time.Duration {
	b.refill(now)
	if b.tokens >= tokens {
		return 0
	}
	return time.Duration((tokens-b.tokens)/b.rate()*float64(time.Second)) + durations.TokenMargin
}

// waitTime returns how long it takes until a call may be sent. waiting and postponed are the numbers of waiting and
// postponed calls ahead of this call. The tokens for postponed calls stay reserved, but postponed calls do not delay trials,
// because trials take no token.
func (b *bucket) waitTime(now time.Time, waiting, postponed int) time.Duration {
	wait := b.waitTimeForTokens(now, float64(1+waiting+postponed))
	if !b.Fixed && b.trialsInFlight+waiting < b.trialLimit {
		return min(wait, max(b.pausedUntil.Sub(now), 0)) // the call may be sent earlier as a trial
	}
	return wait
}

// awaitsTrial reports whether a trial is in flight or may be sent now. The answer to a trial may admit more calls earlier
// than computed.
func (b *bucket) awaitsTrial(now time.Time) bool {
	return b.trialsInFlight > 0 || !b.Fixed && !now.Before(b.pausedUntil)
}

// takeToken takes a token for a call. If there is none, it counts the call as a trial and returns true. A fixed bucket has
// no trials.
func (b *bucket) takeToken(now time.Time) (trial bool) {
	b.refill(now)
	if b.tokens >= 1 || b.Fixed {
		b.tokens--
		return false
	}
	b.trialsInFlight++
	return true
}

// adaptToHandledCall adapts the scale after AWS has handled a call. Only handled trials change the scale. sameFlight is
// false if AWS has throttled another call since this call was sent.
func (b *bucket) adaptToHandledCall(now time.Time, trial, sameFlight bool) {
	if !trial {
		return
	}
	b.refill(now)
	b.tokens--
	if !sameFlight {
		return // another call was throttled, so AWS had no token left after this call
	}
	if b.tokens < 0 {
		b.scale = min(b.scale-b.tokens/max(b.refilledTokens, 1), 2*b.scale, maxScale)
		b.tokens = 0
	}
	if b.handledTrials++; b.scale > ceilingMargin*b.ceiling || b.handledTrials%trialsPerIncrease == 0 {
		b.trialLimit = min(b.trialLimit+1, baseTrials+b.handledTrials/trialsPerIncrease, maxTrials)
	}
}

// adaptToThrottledCall adapts the scale to the first throttled call of a flight. The other calls of the flight were sent
// before AWS answered this call, and provide no new information.
func (b *bucket) adaptToThrottledCall(now time.Time, trial bool) {
	if b.Fixed {
		return
	}
	b.refill(now)
	b.flightNumber++
	handled, risen := b.handledTrials, b.scale*smallestDecrease > b.ceiling
	b.trialLimit, b.handledTrials, b.ceiling = 1, 0, b.scale
	if trial {
		b.refilledTokens = 0
		if handled > 0 {
			b.tokens = min(b.tokens, 0)
		}
		// The handled trials may have used tokens that had accumulated in the bucket of AWS. A short pause is enough to
		// measure the refill rate of AWS.
		if handled > 0 && risen {
			b.nextPause = durations.ThrottlePause
			b.pausedUntil = now.Add(min(time.Duration(10/b.rate()*float64(time.Second)), durations.ThrottlePause))
			return
		}
		b.pausedUntil = now.Add(b.nextPause)
		b.nextPause = min(2*b.nextPause, maxPauses*durations.ThrottlePause)
		return
	}
	// When AWS throttled the call, its bucket had less than one token. The calculation assumes half a token.
	measured := b.scale - (b.tokens+0.5)/max(b.refilledTokens, float64(b.Burst))
	b.scale = max(min(measured, smallestDecrease*b.scale), greatestDecrease*b.scale, minScale)
	b.tokens, b.refilledTokens = 0, 0
	b.pausedUntil = now.Add(durations.ThrottlePause)
}
