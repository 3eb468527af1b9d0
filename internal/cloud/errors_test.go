package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

func apiError(code string, status int) error {
	return fmt.Errorf("wrapped: %w", &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: "m"},
	})
}

func TestClass(t *testing.T) {
	cases := map[string]struct {
		err  error
		want engine.Class
	}{
		"throttled by ELB":           {apiError("Throttling", 400), engine.Throttled},
		"throttled by EC2":           {apiError("RequestLimitExceeded", 503), engine.Throttled},
		"denied by ELB":              {apiError("AccessDenied", 403), engine.Denied},
		"denied by EC2":              {apiError("UnauthorizedOperation", 403), engine.Denied},
		"denied with a code unheard": {apiError("Unheard", 403), engine.Denied},
		"quota":                      {apiError("TooManyRules", 400), engine.Quota},
		"rules of a group":           {apiError("RulesPerSecurityGroupLimitExceeded", 400), engine.Quota},
		"not seen by the plan":       {apiError("PriorityInUse", 400), engine.Conflict},
		"in use":                     {apiError("DependencyViolation", 400), engine.InUse},
		"gone":                       {apiError("TargetGroupNotFound", 400), engine.Gone},
		"refused":                    {apiError("ValidationError", 400), engine.Invalid},
		"unheard":                    {apiError("Unheard", 400), engine.Unknown},
		"no answer":                  {errors.New("connection reset"), engine.Unknown},
		"fenced":                     {fmt.Errorf("x: %w", errFenced), engine.Fenced},
		"own":                        {fmt.Errorf("x: %w", failed(engine.NotReady, "w", "e")), engine.NotReady},
		"own wins over AWS's": {
			&Error{What: "w", class: engine.NotReady, err: apiError("ListenerNotFound", 400)}, engine.NotReady,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := classify(c.err); got != c.want {
				t.Errorf("class %d, want %d", got, c.want)
			}
		})
	}
}

func TestMayHaveHappened(t *testing.T) {
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
		"put off":   {&ratelimit.Postponed{Operation: "w"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mayHaveHappened(c.err); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// An answer that is not about limits shows that AWS took the call.
func TestWhatAttemptsTeachTheRateLimiter(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want ratelimit.Outcome
	}{
		"answered":                 {nil, ratelimit.Taken},
		"refused":                  {apiError("ValidationError", 400), ratelimit.Taken},
		"throttled":                {apiError("ThrottlingException", 400), ratelimit.Throttled},
		"another change under way": {apiError("PriorRequestNotComplete", 400), ratelimit.Taken},
		"no answer":                {errors.New("connection reset"), ratelimit.Unanswered},
	} {
		if got := outcomeOf(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
