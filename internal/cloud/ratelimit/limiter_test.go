package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// limitedAWS is an emulated AWS with token buckets that is called through a rate limiter.
type limitedAWS struct {
	limiter  *Limiter
	aws      *fault.Set
	mu       sync.Mutex
	accepted map[string][]time.Time // by operation
	refused  map[string][]time.Time
}

const (
	registerOperation = "RegisterTargets" // 4 per second, burst 20
	readOperation     = "DescribeRules"   // 50 per second, burst 200
	createOperation   = "CreateLoadBalancer"
	answerDelay       = 30 * time.Millisecond
)

func newLimitedAWS(limits fault.Limits, table []TokenBucket) *limitedAWS {
	s := &limitedAWS{limiter: NewLimiter(table, clock.RealClock{}, time.Second), aws: fault.NewSet(), accepted: map[string][]time.Time{}, refused: map[string][]time.Time{}}
	s.aws.SetLimits(limits)
	return s
}

// call makes one call with its attempts, as the SDK does. It makes the call again if the call is postponed.
func (s *limitedAWS) call(ctx context.Context, operation string) error {
	for ctx.Err() == nil {
		c, err := s.limiter.Begin(ctx, services.ELB, operation)
		for range 10 {
			if err != nil {
				break
			}
			if err = c.Attempt(ctx); err != nil {
				break
			}
			if o, err := s.send(operation); c.RecordOutcome(err, o) == nil {
				c.End()
				return nil
			}
		}
		c.End()
		var put *PostponedError
		if errors.As(err, &put) {
			time.Sleep(put.RetryAfter())
		} else if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s *limitedAWS) send(operation string) (Outcome, error) {
	time.Sleep(answerDelay / 2)
	now := time.Now()
	refused := s.aws.Decide(fault.Call{Service: "elasticloadbalancing", Operation: operation, Account: "1", Region: "x", Time: now}).Error
	time.Sleep(answerDelay / 2)
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused == nil {
		s.accepted[operation] = append(s.accepted[operation], now)
		return Handled, nil
	}
	s.refused[operation] = append(s.refused[operation], now)
	return Throttled, errors.New(refused.Message)
}

// callConcurrently runs callers that make calls without a pause for the duration d. It returns how many calls AWS accepted
// and refused.
func (s *limitedAWS) callConcurrently(t *testing.T, d time.Duration, callers int, operation string) (taken, refused int) {
	t.Helper()
	was, before := len(s.accepted[operation]), len(s.refused[operation])
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for s.call(ctx, operation) == nil {
			}
		})
	}
	wg.Wait()
	s.checkBounds(t)
	return len(s.accepted[operation]) - was, len(s.refused[operation]) - before
}

// checkBounds checks invariants of the limiter that must hold whenever no call is in flight, whatever AWS answered.
func (s *limitedAWS) checkBounds(t *testing.T) {
	t.Helper()
	l := s.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 {
		t.Errorf("%d calls wait, although no call is in flight", len(l.queue))
	}
	for _, b := range l.buckets {
		if b.scale < minScale || b.scale > maxScale || b.tokens > b.burst() || b.trialsInFlight != 0 || b.trialLimit < 1 || b.trialLimit > maxTrials || b.nextPause > maxPauses*durations.ThrottlePause {
			t.Errorf("a bucket is beyond its bounds: %+v", b)
		}
	}
}

func (s *limitedAWS) rate(operation string) float64 {
	return s.limiter.bucketsFor(services.ELB, operation)[0].rate()
}

func runInVirtualTime(t *testing.T, run func(t *testing.T)) { t.Helper(); synctest.Test(t, run) }

// TestAFixedLimitIsNeverExceeded checks that a fixed limit that the operator sets is not exceeded, and that throttled
// answers of AWS do not change it.
func TestAFixedLimitIsNeverExceeded(t *testing.T) {
	runInVirtualTime(t, func(t *testing.T) {
		table := []TokenBucket{{Service: services.ELB, Operation: regexp.MustCompile(".*"), Rate: 5, Burst: 10, Fixed: true}}
		s := newLimitedAWS(fault.Limits{}, table)
		s.callConcurrently(t, time.Minute, 5, readOperation)
		sent := s.accepted[readOperation]
		for i := range sent {
			for j := i; j < len(sent); j++ {
				if most := 10 + 5*sent[j].Sub(sent[i]).Seconds() + 1e-6; float64(j-i+1) > most {
					t.Fatalf("%d calls within %v", j-i+1, sent[j].Sub(sent[i]))
				}
			}
		}
		s.aws.SetLimits(fault.DocumentedLimits(0.01))
		s.callConcurrently(t, time.Minute, 5, createOperation)
		if s.rate(readOperation) != 5 || len(s.refused[createOperation]) == 0 {
			t.Errorf("%d calls were throttled, and the limit is now %v", len(s.refused[createOperation]), s.rate(readOperation))
		}
	})
}

// TestThrottledCallsInFlightLowerTheRateOnce checks that the rate is lowered at once if AWS throttles a call within the
// limit. Other throttled calls that were in flight at the same time do not lower it again.
func TestThrottledCallsInFlightLowerTheRateOnce(t *testing.T) {
	l := NewLimiter(DefaultTokenBuckets(), clocktesting.NewFakePassiveClock(time.Unix(0, 0)), 0)
	b := l.bucketsFor(services.ELB, registerOperation)[0]
	var flight []*permit
	for range 10 {
		p, err := l.wait(t.Context(), services.ELB, registerOperation)
		if err != nil {
			t.Fatal(err)
		}
		flight = append(flight, p)
	}
	for i, p := range flight {
		p.report(Throttled)
		p.report(Handled) // only the first report counts
		if got := b.rate(); got != 2 {
			t.Fatalf("after %d throttled calls of one flight the rate is %v, want half of 4", i+1, got)
		}
	}
	if p, err := l.wait(t.Context(), services.ELB, registerOperation); err == nil {
		p.report(Throttled)
		t.Error("the next call is sent at once")
	}
	if got := l.bucketsFor(services.ELB, readOperation)[0].rate(); got != 50 {
		t.Errorf("another bucket has the rate %v", got)
	}
}

// TestThrottledRateIsRememberedForMinutes checks that the limiter remembers for minutes at which rate AWS throttled: under
// full demand AWS throttles few calls in an hour, and at most three calls within durations.ThrottlePause.
func TestThrottledRateIsRememberedForMinutes(t *testing.T) {
	runInVirtualTime(t, func(t *testing.T) {
		s := newLimitedAWS(fault.DocumentedLimits(1), DefaultTokenBuckets())
		taken, refused := s.callConcurrently(t, time.Hour, 3, registerOperation)
		if want := 20 + 4*3600; float64(taken) < 0.95*float64(want) {
			t.Errorf("%d calls in an hour, AWS takes %d", taken, want)
		}
		if refused > 20 {
			t.Errorf("%d calls were throttled", refused)
		}
		for i, at := range s.refused[registerOperation] {
			if i >= 3 && at.Sub(s.refused[registerOperation][i-3]) < durations.ThrottlePause {
				t.Errorf("four calls are throttled within %v", at.Sub(s.refused[registerOperation][i-3]))
			}
		}
	})
}

// TestTheRateFollowsTheLimitOfAWS checks that the rate rises if AWS admits more calls, falls if AWS admits fewer calls, and
// rises again afterwards. AWS throttles few calls in this time.
func TestTheRateFollowsTheLimitOfAWS(t *testing.T) {
	for _, c := range []struct {
		operation string
		rate      float64
		factors   []float64
	}{
		{registerOperation, 4, []float64{1, 0.5, 1, 0.25, 3, 1}},
		{readOperation, 50, []float64{0.25, 0.5}},
		{createOperation, 0.2, []float64{1, 10, 0.5, 1, 0.25, 3, 1}},
	} {
		t.Run(c.operation, func(t *testing.T) {
			t.Parallel()
			runInVirtualTime(t, func(t *testing.T) {
				s := newLimitedAWS(fault.Limits{}, DefaultTokenBuckets())
				for _, factor := range c.factors {
					limits := fault.DocumentedLimits(factor)
					for i := range limits.Buckets {
						if limits.Buckets[i].Shared {
							limits.Buckets[i].Refill = 1e6 // shared buckets are not tested here
						}
					}
					s.aws.SetLimits(limits)
					s.callConcurrently(t, 18*time.Minute, 3, c.operation)
					taken, refused := s.callConcurrently(t, 10*time.Minute, 3, c.operation)
					possible := min(c.rate*factor, 3/answerDelay.Seconds()) * (10 * time.Minute).Seconds()
					if float64(taken) < 0.9*possible {
						t.Errorf("where AWS takes %v times the documented rate: %d calls of %v", factor, taken, possible)
					}
					if refused > 10 && refused*100 > taken { // more than one per minute, if AWS admits few calls
						t.Errorf("where AWS takes %v times the documented rate: %d of %d calls are throttled", factor, refused, taken)
					}
				}
			})
		})
	}
}

// TestEachCallerWaitsForABoundedTime checks that no call of thirty concurrent callers waits for more than a minute, also if
// AWS throttles calls.
func TestEachCallerWaitsForABoundedTime(t *testing.T) {
	runInVirtualTime(t, func(t *testing.T) {
		s := newLimitedAWS(fault.DocumentedLimits(0.5), DefaultTokenBuckets())
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		longest := make([]time.Duration, 30)
		var wg sync.WaitGroup
		for i := range longest {
			wg.Go(func() {
				ctx := WithCaller(ctx, Caller{Name: fmt.Sprint(i)})
				for {
					start := time.Now()
					err := s.call(ctx, registerOperation)
					longest[i] = max(longest[i], time.Since(start)) // includes the call that the end of ctx interrupts
					if err != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		for i, d := range longest {
			if d > time.Minute { // with thirty callers at two calls per second, a call takes fifteen seconds
				t.Errorf("caller %d waits for %v", i, d)
			}
		}
	})
}

// TestThrottledBucketDelaysNoOtherBucket checks that throttled calls of one operation do not delay other operations.
func TestThrottledBucketDelaysNoOtherBucket(t *testing.T) {
	runInVirtualTime(t, func(t *testing.T) {
		s := newLimitedAWS(fault.Limits{}, DefaultTokenBuckets())
		s.aws.Add(fault.Rule{Operation: createOperation, Action: fault.Action{Throttle: true}})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _ = s.call(ctx, createOperation) })
		}
		for range 100 {
			start := time.Now()
			if err := s.call(ctx, readOperation); err != nil {
				t.Error(err)
			}
			if d := time.Since(start); d > answerDelay {
				t.Errorf("a read takes %v", d)
			}
		}
		stop()
		wg.Wait()
		if s.rate(createOperation) != 0.2*minScale && len(s.refused[createOperation]) < 2 {
			t.Error("nothing was throttled")
		}
		s.checkBounds(t)
	})
}

// TestTheRateLimiterRecovers checks that the rate stays within its bounds for random limits and throttled answers of AWS,
// and then rises again to the limit of AWS.
func TestTheRateLimiterRecovers(t *testing.T) {
	for seed := range uint64(seeds.Amount(10, 30)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			runInVirtualTime(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 0))
				s := newLimitedAWS(fault.Limits{}, DefaultTokenBuckets())
				for range 8 {
					limits := fault.DocumentedLimits([]float64{0.02, 0.3, 1, 2, 30}[r.IntN(5)])
					limits.OtherClient = []float64{0, 0, 0.5, 0.9}[r.IntN(4)]
					s.aws.SetLimits(limits)
					if r.IntN(3) == 0 { // throttling that is unrelated to the rate
						s.aws.Add(fault.Rule{Skip: r.IntN(50), Count: r.IntN(100), Action: fault.Action{Throttle: true}})
					}
					s.callConcurrently(t, time.Duration(1+r.IntN(200))*time.Second, 1+r.IntN(10), registerOperation)
					time.Sleep(time.Duration(r.IntN(100)) * time.Second)
				}
				s.aws.Reset()
				s.aws.SetLimits(fault.DocumentedLimits(1))
				s.callConcurrently(t, 20*time.Minute, 3, registerOperation)
				if taken, _ := s.callConcurrently(t, 10*time.Minute, 3, registerOperation); float64(taken) < 0.9*4*600 {
					t.Errorf("%d calls in ten minutes, AWS takes %d; %+v", taken, 4*600, s.limiter.bucketsFor(services.ELB, registerOperation)[0])
				}
			})
		})
	}
}

// TestALostAnswerDoesNotChangeTheRate checks that an attempt without an answer does not change the rate, and does not count
// as a trial in flight after the call has ended.
func TestALostAnswerDoesNotChangeTheRate(t *testing.T) {
	runInVirtualTime(t, func(t *testing.T) {
		l := NewLimiter(DefaultTokenBuckets(), clock.RealClock{}, time.Second)
		for i := range 21 { // the last call is a trial above the limit
			c, err := l.Begin(t.Context(), services.ELB, registerOperation)
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			if err := cmp.Or(c.Attempt(t.Context()), c.RecordOutcome(errors.New("connection reset"), Unanswered)); err == nil || errors.As(err, new(*ThrottledError)) {
				t.Errorf("the error is now %v", err)
			}
			c.End()
		}
		b := l.bucketsFor(services.ELB, registerOperation)[0]
		if b.scale != 1 || b.trialsInFlight != 0 || b.trialLimit != 1 {
			t.Errorf("the bucket has learned: %+v", b)
		}
	})
}

func TestCallsBeyondTheLimitArePostponed(t *testing.T) {
	now := time.Unix(0, 0)
	table, err := ParseTokenBuckets("EC2:^Describe=2:2")
	if err != nil {
		t.Fatal(err)
	}
	p := NewLimiter(table, testclock.FromVariable(&now), 0)
	for i := range 2 {
		if _, err := p.wait(t.Context(), "EC2", "DescribeVpcs"); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	_, err = p.wait(t.Context(), "EC2", "DescribeSubnets")
	var e *PostponedError
	if !errors.As(err, &e) || e.RetryAfter() != 505*time.Millisecond {
		t.Fatalf("got %v, want to be postponed for half a second", err)
	}
	if _, err := p.wait(t.Context(), "EC2", "CreateTags"); err != nil {
		t.Errorf("another operation: %v", err)
	}
	now = now.Add(505 * time.Millisecond)
	if _, err := p.wait(t.Context(), "EC2", "DescribeSubnets"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

func TestParseTokenBuckets(t *testing.T) {
	got, err := ParseTokenBuckets("Elastic Load Balancing v2:^Create=1:2, EC2:Describe=0.5:3")
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, p := range got {
		text = append(text, p.String())
	}
	want := []string{
		"ACM:^ImportCertificate=1:1", "ACM:^RequestCertificate=5:5", "ACM:^Describe|^Get|^List=8:8", "EC2:Describe=0.5:3",
		"Elastic Load Balancing v2:^Create=1:2", "Global Accelerator:.*=5:10", "Resource Groups Tagging API:.*=15:15",
		"Route 53:.*=3:5", "WAF Regional:^AssociateWebACL|DisassociateWebACL=0.5:1", "WAF Regional:^GetWebACLForResource|ListResourcesForWebACL=1:1",
		"WAFV2:^AssociateWebACL|DisassociateWebACL=0.5:1", "WAFV2:^GetWebACLForResource|ListResourcesForWebACL=1:1",
	}
	if fmt.Sprint(text) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", text, want)
	}
	for _, bad := range []string{"EC2:^A=NaN:2", "EC2:^A=+Inf:2", "EC2:^A=1e-300:2", "x", "EC2:a", "EC2:a=1", "EC2:a=x:1", "EC2:a=1:0", "EC2:(=1:1", "Nobody:a=1:1", ":a=1:1"} {
		if _, err := ParseTokenBuckets(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
