package targets

import (
	"errors"
	"testing"

	smithy "github.com/aws/smithy-go"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// TestRolesOfOneAccountShareItsBucket checks that all IAM roles of an account share one token bucket, because the rate
// limits of AWS apply to the account.
func TestRolesOfOneAccountShareItsBucket(t *testing.T) {
	cfg := sdk.Config{TokenBuckets: ratelimit.DefaultTokenBuckets(), Clock: clock.RealClock{}}
	c := New(&sdk.Client{Config: cfg, Limits: ratelimit.NewSchedule(ratelimit.NewLimiter(cfg.TokenBuckets, cfg.Clock, 0))}, nil)
	const arn = "arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/a/0123456789abcdef"
	of := func(role string) *ratelimit.Schedule {
		return c.TargetGroupsOf(bindings.Account{Role: role}).schedule(arn)
	}
	if of("") != c.limits.ownSchedule || of("arn:aws:iam::111122223333:role/x") != c.limits.ownSchedule {
		t.Error("a role in the account of the controller has a separate rate limiter")
	}
	if of("arn:aws:iam::444455556666:role/x") != of("arn:aws:iam::444455556666:role/y") || of("arn:aws:iam::444455556666:role/x") == c.limits.ownSchedule {
		t.Error("the roles of another account do not share one separate rate limiter")
	}
}

func TestRetryableErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"taken": {nil, false}, "throttled": {&smithy.GenericAPIError{Code: "Throttling"}, true}, "no answer": {errors.New("connection reset"), true}, "refused": {&smithy.GenericAPIError{Code: "InvalidTarget"}, false},
	} {
		if got := IsRetryable(c.err); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
