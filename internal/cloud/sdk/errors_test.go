package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

func apiError(code string, status int) error {
	return fmt.Errorf("wrapped: %w", &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: "m"},
	})
}

func TestErrorsAreClassified(t *testing.T) {
	cases := map[string]struct {
		err  error
		want failure.Class
	}{
		"throttled by ELB":         {apiError("Throttling", 400), failure.Throttled},
		"throttled by EC2":         {apiError("RequestLimitExceeded", 503), failure.Throttled},
		"denied by ELB":            {apiError("AccessDenied", 403), failure.Denied},
		"denied by EC2":            {apiError("UnauthorizedOperation", 403), failure.Denied},
		"denied with unknown code": {apiError("Unheard", 403), failure.Denied},
		"quota":                    {apiError("TooManyRules", 400), failure.Quota},
		"rules of a group":         {apiError("RulesPerSecurityGroupLimitExceeded", 400), failure.Quota},
		"not seen by the plan":     {apiError("PriorityInUse", 400), failure.Conflict},
		"in use":                   {apiError("DependencyViolation", 400), failure.InUse},
		"gone":                     {apiError("TargetGroupNotFound", 400), failure.Gone},
		"refused":                  {apiError("ValidationError", 400), failure.Invalid},
		"unknown code":             {apiError("Unheard", 400), failure.Unknown},
		"no answer":                {errors.New("connection reset"), failure.Unknown},
		"fenced":                   {fmt.Errorf("x: %w", errFenced), failure.Fenced},
		"own":                      {fmt.Errorf("x: %w", NewError(failure.NotReady, "w", "e")), failure.NotReady},
		"own wins over AWS's": {
			Wrap(failure.NotReady, "w", apiError("ListenerNotFound", 400)), failure.NotReady,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ClassOf(c.err); got != c.want {
				t.Errorf("class %d, want %d", got, c.want)
			}
		})
	}
}

func TestMayHaveTakenEffect(t *testing.T) {
	cases := map[string]struct {
		err  error
		want bool
	}{
		"refused":   {apiError("ValidationError", 400), false},
		"throttled": {apiError("Throttling", 400), false},
		"broken":    {apiError("InternalFailure", 500), true},
		"no answer": {errors.New("connection reset"), true},
		"given up":  {context.DeadlineExceeded, true},
		"fenced":    {fmt.Errorf("x: %w", errFenced), false},
		"postponed": {&ratelimit.PostponedError{Operation: "w"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := MayHaveTakenEffect(c.err); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestOutcomeOfAttemptsForTheRateLimiter checks that an error answer that does not concern rate limits counts as a handled
// call.
func TestOutcomeOfAttemptsForTheRateLimiter(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want ratelimit.Outcome
	}{
		"answered":                 {nil, ratelimit.Handled},
		"refused":                  {apiError("ValidationError", 400), ratelimit.Handled},
		"throttled":                {apiError("ThrottlingException", 400), ratelimit.Throttled},
		"another change under way": {apiError("PriorRequestNotComplete", 400), ratelimit.Handled},
		"no answer":                {errors.New("connection reset"), ratelimit.Unanswered},
	} {
		if got := outcomeOf(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
