package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
)

// mostGrowth is how many times the first deadline of an attempt the grown one is at most.
const mostGrowth = 4

// deadlines are how long AWS may take for an attempt of an operation: at first Config.AttemptTimeout.
// A deadline that was missed is doubled for the next attempt, and where AWS has answered late, attempts
// have twice the time of that answer, at other operations of the service too, until answers were quick
// for a while. Only one attempt of an operation at a time has a deadline that grows because it was
// missed, so that an operation that hangs holds no more than one worker for longer than the first one.
type deadlines struct {
	cache.Guard
	first time.Duration
	clock clock.PassiveClock
	by    map[string]*answers // by operation and by service
	// waiting are the calls under way.
	waiting map[*unanswered]bool
}

// answers are the observed response times of AWS.
type answers struct {
	slowest  time.Duration // of the last ones: quick answers let it fade
	missed   time.Duration // the deadline that no answer has met since; 0: AWS answers
	missedAt time.Time
	probing  bool // an attempt with a deadline that has grown is under way
}

func newDeadlines(first time.Duration, clock clock.PassiveClock) *deadlines {
	return &deadlines{first: first, clock: clock, by: map[string]*answers{}, waiting: map[*unanswered]bool{}}
}

// answersOf returns what is known of an operation or a service. The lock is held.
func (d *deadlines) answersOf(key string) *answers {
	if d.by[key] == nil {
		d.by[key] = &answers{}
	}
	return d.by[key]
}

// attemptDeadline returns the deadline of attempts that are no probe. The lock is held.
func (d *deadlines) attemptDeadline(service, operation string) time.Duration {
	return min(max(d.first, 2*d.answersOf(service).slowest, 2*d.answersOf(service+" "+operation).slowest), mostGrowth*d.first)
}

// probeDeadline returns the deadline of a probe. The lock is held.
func (d *deadlines) probeDeadline(service, operation string) time.Duration {
	return min(max(d.attemptDeadline(service, operation), 2*d.answersOf(service+" "+operation).missed), mostGrowth*d.first)
}

// call returns the longest deadline that an attempt of an operation may have now. The error is that of
// a call that a run can do without: an operation that has missed its deadline is left alone by such
// calls while one tries it, and then for as long as it was waited for.
func (d *deadlines) call(service, operation string, spare bool) (limit time.Duration, err error) {
	d.With(func() {
		a := d.answersOf(service + " " + operation)
		if spare && a.missed > 0 && (a.probing || d.clock.Now().Before(a.missedAt.Add(a.missed))) {
			err = &timeoutError{after: a.missed}
		}
		limit = d.probeDeadline(service, operation)
	})
	return limit, err
}

// begin returns the deadline of an attempt, and end takes what became of it: how long it took, and
// whether AWS has answered or the deadline was missed; neither counts nothing.
func (d *deadlines) begin(service, operation string) (limit time.Duration, end func(answered, missed bool)) {
	start, probe := d.clock.Now(), false
	d.With(func() {
		a := d.answersOf(service + " " + operation)
		if limit = d.attemptDeadline(service, operation); a.missed > 0 && !a.probing {
			a.probing, probe = true, true
			limit = d.probeDeadline(service, operation)
		}
	})
	return limit, func(answered, missed bool) {
		took := d.clock.Now().Sub(start)
		d.With(func() {
			a := d.answersOf(service + " " + operation)
			if probe {
				a.probing = false
			}
			switch {
			case answered:
				a.missed = 0
				for _, a := range []*answers{a, d.answersOf(service)} {
					a.slowest = max(took, a.slowest*7/8)
				}
			case missed:
				a.missed, a.missedAt = max(a.missed, took), d.clock.Now()
			}
		})
	}
}

type spareKey struct{}

// Brief makes calls for something that a run can do without: an attempt that misses its deadline ends
// the call. Such a fact is reported as a fault, so that a service that hangs does not hold a worker for
// long.
func Brief[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	return call(context.WithValue(ctx, spareKey{}, true))
}

func isOptional(ctx context.Context) bool { return ctx.Value(spareKey{}) != nil }

// timeoutError reports that AWS gave no answer in time.
type timeoutError struct {
	after time.Duration
	// last is what AWS answered to the last attempt before, nil if it answered nothing.
	last error
}

// Error implements error.
func (e *timeoutError) Error() string {
	text := fmt.Sprintf("no answer from AWS within %s", e.after)
	if e.last != nil {
		text += ", last error: " + e.last.Error()
	}
	return text
}

// Unwrap gives the last answer, by which the failure is classified.
func (e *timeoutError) Unwrap() error { return e.last }

// RetryableError lets the SDK make another attempt.
func (e *timeoutError) RetryableError() bool { return true }

// boundCall runs a call with all of its attempts under its deadline, or under that of its caller if
// it is an error of this package.
func boundCall(ctx context.Context, limit time.Duration, call func(context.Context) (middleware.Metadata, error)) error {
	short, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{after: limit})
	defer cancel()
	meta, err := call(short)
	var timeout *timeoutError
	if err == nil || !errors.As(context.Cause(short), &timeout) {
		return err
	}
	ended := *timeout
	var api smithy.APIError
	if a, ok := retry.GetAttemptResults(meta); ok {
		for _, r := range a.Results {
			if errors.As(r.Err, &api) {
				ended.last = r.Err
			}
		}
	}
	return &ended
}

// boundAttempt runs one attempt under its deadline. It covers all that an attempt does: finding
// credentials, connecting, sending, and reading the answer to its end.
func (d *deadlines) boundAttempt(ctx context.Context, service, operation string, attempt func(context.Context) error) error {
	limit, end := d.begin(service, operation)
	short, cancel := context.WithTimeoutCause(ctx, limit, &timeoutError{after: limit})
	defer cancel()
	err := attempt(short)
	var timeout *timeoutError
	missed := err != nil && short.Err() != nil && errors.As(context.Cause(short), &timeout)
	end(!missed && (err == nil || isAnswer(err)), missed)
	if missed && ctx.Err() == nil {
		return timeout
	}
	return err
}

// isAnswer reports whether an error is an answer of AWS.
func isAnswer(err error) bool {
	var response *smithyhttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() > 0
}

// bounded returns an HTTP client whose requests have a deadline. The SDK finds credentials with requests
// that pass none of our own steps, and for all callers together, so that one that hangs would hold
// every call. The deadline is a little later than that of a call, whose error says more.
func bounded(c *http.Client, limit time.Duration) aws.HTTPClient {
	limit += time.Second
	if c == nil {
		return awshttp.NewBuildableClient().WithTimeout(limit)
	}
	if c.Timeout > 0 {
		return c
	}
	own := *c
	own.Timeout = limit
	return &own
}

// withAttemptDeadlines returns the client that calls are made with: each of their attempts has its own deadline.
func withAttemptDeadlines(c aws.HTTPClient) aws.HTTPClient {
	switch c := c.(type) {
	case *awshttp.BuildableClient:
		return c.WithTimeout(0)
	case *http.Client:
		own := *c
		own.Timeout = 0
		return &own
	}
	return c
}
