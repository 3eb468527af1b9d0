package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

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
		"put off":   {&Error{What: "w", class: engine.Throttled, err: errors.New("e")}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mayHaveHappened(c.err); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
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
		"Elastic Load Balancing v2:^Create=1:2", "Resource Groups Tagging API:.*=15:15",
		"Route 53:.*=3:5", "WAF Regional:^AssociateWebACL|DisassociateWebACL=0.5:1", "WAF Regional:^GetWebACLForResource|ListResourcesForWebACL=1:1",
		"WAFV2:^AssociateWebACL|DisassociateWebACL=0.5:1", "WAFV2:^GetWebACLForResource|ListResourcesForWebACL=1:1",
	}
	if fmt.Sprint(text) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", text, want)
	}
	for _, bad := range []string{"EC2:^A=NaN:2", "EC2:^A=+Inf:2", "EC2:^A=1e-300:2", "x", "EC2:a", "EC2:a=1", "EC2:a=x:1", "EC2:a=1:0", "EC2:(=1:1", "Nobody:a=1:1", ":a=1:1"} {
		if _, err := ParseTokenBuckets(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestRateLimits(t *testing.T) {
	now := time.Unix(0, 0)
	table, err := ParseTokenBuckets("EC2:^Describe=2:2")
	if err != nil {
		t.Fatal(err)
	}
	p := newLimiter(table, func() time.Time { return now }, 0)
	for i := range 2 {
		if _, err := p.wait(t.Context(), "EC2", "DescribeVpcs"); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	_, err = p.wait(t.Context(), "EC2", "DescribeSubnets")
	var e *Error
	if !errors.As(err, &e) || e.Class() != engine.Throttled || e.RetryAfter() != 505*time.Millisecond {
		t.Fatalf("got %v, want to be put off for half a second", err)
	}
	if _, err := p.wait(t.Context(), "EC2", "CreateTags"); err != nil {
		t.Errorf("another operation: %v", err)
	}
	now = now.Add(505 * time.Millisecond)
	if _, err := p.wait(t.Context(), "EC2", "DescribeSubnets"); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}
