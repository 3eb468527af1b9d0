package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// newRateLimitedHarness returns a test harness in virtual time. Each call to AWS takes 30 ms, and the emulator has the rate
// limits that AWS documents.
func newRateLimitedHarness(t *testing.T, edit ...func(*cloud.Config)) *harness {
	r := newHarnessOn(t, nil, append([]func(*cloud.Config){func(c *cloud.Config) { c.TokenBuckets, c.MaxAttempts = nil, 10 }}, edit...)...)
	r.em.Faults().SetLimits(fault.DocumentedLimits(1))
	r.em.Faults().Add(fault.Rule{Action: fault.Action{Latency: 30 * time.Millisecond}})
	return r
}

// applyUntilConverged applies plans of a stack until no step is left. It waits when the rate limiter postpones a call.
func (r *harness) applyUntilConverged(ctx context.Context, want model.Stack) error {
	for {
		questions := want.Questions()
		var p plan.Plan
		for {
			have, err := r.cloud.Observe(ctx, want.ID, questions)
			if err != nil {
				return err
			}
			if p, _ = planner.Make(want, have, r.planOptions(), plan.Memory{}); len(p.Questions) == 0 {
				break
			}
			questions = append(questions, p.Questions...)
		}
		known := maps.Clone(p.KnownIDs)
		todo, wait := 0, time.Duration(0)
		for _, s := range p.Steps {
			if plan.WritesToKubernetes(s.Do) {
				continue
			}
			todo++
			res, err := r.cloud.Apply(ctx, p.Stack, s, known)
			var later interface{ RetryAfter() time.Duration }
			switch {
			case errors.As(err, &later) && later.RetryAfter() > 0:
				wait = later.RetryAfter()
			case err != nil:
				return err
			}
			if wait > 0 {
				break
			}
			if res.ID != "" {
				known[s.Address] = res.ID
			}
		}
		if todo == 0 {
			return nil
		}
		time.Sleep(wait)
	}
}

func manyStacks(n int) []model.Stack {
	var out []model.Stack
	for i := range n {
		out = append(out, desiredStack(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: fmt.Sprintf("web%d", i)}))
	}
	return out
}

func (r *harness) applyAllUntilConverged(stacks []model.Stack) {
	r.t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, len(stacks))
	for i, w := range stacks {
		wg.Go(func() { errs[i] = r.applyUntilConverged(r.ctx, w) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

func TestFiftyStacksConvergeConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRateLimitedHarness(t)
		r.em.Store().Lock()
		r.em.Store().Config.Quotas["application-load-balancers"] = 100
		r.em.Store().Unlock()
		start := time.Now()
		r.applyAllUntilConverged(manyStacks(50))
		took := time.Since(start)
		total := r.em.Calls().Total()
		throttled := 0
		for _, n := range r.em.Faults().ThrottledCalls() {
			throttled += n
		}
		t.Logf("%d calls, %d throttled, %v; %.2f calls each", total, throttled, took, float64(total)/50)
		// Each stack needs 8 mutating calls. In addition, lists are read at first, and the list of target groups is read
		// again each minute while target groups are created.
		if limit := 50*8 + 14; total-throttled > limit {
			t.Errorf("%d calls that were not throttled, want at most %d:\n%s", total-throttled, limit, r.takeCallCounts())
		}
		if throttled*100 > total {
			t.Errorf("%d of %d calls were throttled", throttled, total)
		}
		// AWS admits 10 calls of CreateLoadBalancer at once, and 0.2 per second after that, so 50 calls take 200 seconds.
		if took > 211*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestRestartMakesFewCalls(t *testing.T) {
	const n = 60
	synctest.Test(t, func(t *testing.T) {
		r := newRateLimitedHarness(t)
		r.em.Store().Lock()
		r.em.Store().Config.Quotas["application-load-balancers"] = 1000
		r.em.Store().Unlock()
		r.em.Faults().SetLimits(fault.Limits{})
		r.cfg.TokenBuckets = []ratelimit.TokenBucket{}
		r.restart()
		stacks := manyStacks(n)
		r.applyAllUntilConverged(stacks)
		r.restart()
		r.em.Calls().Reset()
		// The first run reads the lists, and the details of its own stack.
		if err := r.applyUntilConverged(r.ctx, stacks[0]); err != nil {
			t.Fatal(err)
		}
		if total := r.em.Calls().Total(); total > 1+1+1+(3*n+19)/20+3 {
			t.Errorf("%d calls:\n%s", total, r.takeCallCounts())
		}
		r.takeCallCounts()
		r.applyAllUntilConverged(stacks)
		if got := r.takeCallCounts(); got != strings.Join([]string{fmt.Sprintf("DescribeListeners %d", n-1), fmt.Sprintf("DescribeRules %d", n-1), fmt.Sprintf("DescribeTags %d", n-1)}, "\n") {
			t.Errorf("calls for the other stacks:\n%s", got)
		}
		r.applyAllUntilConverged(stacks)
		if got := r.takeCallCounts(); got != "" {
			t.Errorf("calls for a second plan of all stacks:\n%s", got)
		}
	})
}
