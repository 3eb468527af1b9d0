package cloud_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestFailedOptionalReadIsRetriedWithBackOff checks that a failed optional read is retried with a growing back-off, however
// often runs need it. The first successful read removes the fault.
func TestFailedOptionalReadIsRetriedWithBackOff(t *testing.T) {
	cases := map[string]struct {
		action fault.Action
		want   []time.Duration // times between attempts
		reason finding.Reason
	}{
		"denied": {
			fault.Action{Deny: true},
			[]time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 4 * time.Minute}, finding.AccessDenied,
		},
		"failing": {
			fault.Action{Error: &store.Error{Code: "InternalFailure", Status: 500}},
			[]time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 4 * time.Minute}, finding.CallFailed,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			r.em.Faults().Add(fault.Rule{Operation: "ListCertificates", Action: c.action})
			q := model.AskCertificates{}
			read := func() *observed.Fault {
				have := must(r.cloud.Observe(r.ctx, webStack, []model.Question{q}))(t)
				if f := have.Facts.Fault(q); (f == nil) != have.Facts.CertificatesAsked {
					t.Errorf("fault %v, asked %v", f, have.Facts.CertificatesAsked)
				}
				return have.Facts.Fault(q)
			}
			for n, wait := range c.want {
				if f := read(); f == nil || f.RetryAfter != wait || f.Reason != c.reason || f.Action != "acm:ListCertificates" {
					t.Fatalf("failure %d: %+v", n+1, f)
				}
				r.clock.Advance(wait - time.Second)
				if f := read(); f == nil || f.RetryAfter != time.Second {
					t.Fatalf("before the next try: %+v", f)
				}
				if got := r.em.Calls().Count("ListCertificates"); got != n+1 {
					t.Fatalf("want %d calls, got %d", n+1, got)
				}
				r.clock.Advance(time.Second)
			}
			r.em.Faults().ClearRules()
			if f := read(); f != nil {
				t.Errorf("fault after a successful read: %+v", f)
			}
		})
	}
}

// TestDeniedEssentialReadFailsTheRun checks that an observation fails if AWS denies an essential read. The denied call is
// not repeated for durations.NotFoundAge.
func TestDeniedEssentialReadFailsTheRun(t *testing.T) {
	for _, operation := range []string{"DescribeLoadBalancers", "DescribeTargetGroups", "DescribeTags", "DescribeListeners", "DescribeRules"} {
		t.Run(operation, func(t *testing.T) {
			r := newHarness(t)
			r.checkConverges(desiredStack(webStack))
			r.restart()
			r.em.Faults().Add(fault.Rule{Operation: operation, Action: fault.Action{Deny: true}})
			r.takeCallCounts()
			for range 5 {
				if _, err := r.cloud.Observe(r.ctx, webStack, nil); r.cloud.Class(err) != failure.Denied {
					t.Errorf("want a denial, got %v", err)
				}
			}
			if n := r.em.Calls().Count(operation); n != 1 {
				t.Errorf("%d denied calls for five runs", n)
			}
			r.em.Faults().ClearRules()
			r.clock.Advance(time.Minute)
			must(r.cloud.Observe(r.ctx, webStack, nil))(t)
		})
	}
}

// TestPostponedReadIsNotReportedAsFault checks that an observation fails with a time to retry, and reports no fault, if the
// rate limiter of the controller postpones a read.
func TestPostponedReadIsNotReportedAsFault(t *testing.T) {
	r := newHarness(t, func(c *cloud.Config) {
		paces, err := ratelimit.ParseTokenBuckets("ACM:.*=0.001:1")
		if err != nil {
			t.Fatal(err)
		}
		c.TokenBuckets = paces
	})
	q := []model.Question{model.AskCertificates{}}
	must(r.cloud.Observe(r.ctx, webStack, q))(t)
	r.clock.Advance(2 * time.Minute)
	var later interface{ RetryAfter() time.Duration }
	if _, err := r.cloud.Observe(r.ctx, webStack, q); !asPostponed(err, &later) || later.RetryAfter() <= 0 {
		t.Errorf("want an error that says when to try again, got %v", err)
	}
}

// TestTagsAreReadWithoutTheTaggingService checks that the controller reads tags by DescribeTags if AWS denies the Resource
// Groups Tagging API, which only saves calls.
func TestTagsAreReadWithoutTheTaggingService(t *testing.T) {
	r := newHarness(t, func(c *cloud.Config) { c.TaggingAPI = true })
	r.em.Faults().Add(fault.Rule{Service: "tagging", Action: fault.Action{Deny: true}})
	r.checkConverges(desiredStack(webStack))
	if calls := r.takeCallCounts(); !strings.Contains(calls, "DescribeTags") {
		t.Errorf("calls:\n%s", calls)
	}
}
