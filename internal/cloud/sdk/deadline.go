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

// maxDeadlineGrowth, multiplied by Config.AttemptTimeout, is the maximum deadline of an attempt.
const maxDeadlineGrowth = 4

// deadlines computes the deadline of each attempt. The initial deadline is Config.AttemptTimeout. After a missed deadline,
// the deadline of one attempt of the operation at a time, the probe, is twice the missed deadline. Other attempts keep their
// deadline, so that an operation without answers blocks at most one worker for the longer time. After a slow answer, the
// deadline of all attempts for the service is twice the time of this answer, until several answers were faster.
type deadlines struct {
	cache.Guard
	initialDeadline time.Duration // Config.AttemptTimeout
	clock           clock.PassiveClock
	responses       map[string]*responseTimes // by service, and by service and operation
	// pending has the calls in flight for which a run waits. Calls for optional facts are not included.
	pending map[*pendingCall]bool
}

// responseTimes has the observed response times of a service, or of one of its operations.
type responseTimes struct {
	slowest        time.Duration // the time of the slowest recent answer; each quicker answer lowers it by an eighth
	missedDeadline time.Duration // the longest missed deadline since the last answer; 0 if none was missed
	missedAt       time.Time
	probing        bool // whether a probe is in flight
}

func newDeadlines(first time.Duration, clock clock.PassiveClock) *deadlines {
	return &deadlines{initialDeadline: first, clock: clock, responses: map[string]*responseTimes{}, pending: map[*pendingCall]bool{}}
}

// responseTimesOf returns the response times of a service, or of an operation. key is a key of the map responses. The caller
// holds the lock.
func (d *deadlines) responseTimesOf(key string) *responseTimes {
	if d.responses[key] == nil {
		d.responses[key] = &responseTimes{}
	}
	return d.responses[key]
}

// attemptDeadline returns the deadline of an attempt that is not a probe. The caller holds the lock.
func (d *deadlines) attemptDeadline(service, operation string) time.Duration {
	return min(max(d.initialDeadline, 2*d.responseTimesOf(service).slowest, 2*d.responseTimesOf(service+" "+operation).slowest), maxDeadlineGrowth*d.initialDeadline)
}

// probeDeadline returns the deadline of a probe. The caller holds the lock.
func (d *deadlines) probeDeadline(service, operation string) time.Duration {
	return min(max(d.attemptDeadline(service, operation), 2*d.responseTimesOf(service+" "+operation).missedDeadline), maxDeadlineGrowth*d.initialDeadline)
}

// callDeadline returns the longest deadline that an attempt of an operation may currently have. It returns an error if an
// optional call must not be made now. After a missed deadline, no optional call of the operation is made while a probe is in
// flight, or before a time equal to the missed deadline has passed.
func (d *deadlines) callDeadline(service, operation string, optional bool) (limit time.Duration, err error) {
	d.WithLock(func() {
		a := d.responseTimesOf(service + " " + operation)
		if optional && a.missedDeadline > 0 && (a.probing || d.clock.Now().Before(a.missedAt.Add(a.missedDeadline))) {
			err = &timeoutError{after: a.missedDeadline}
		}
		limit = d.probeDeadline(service, operation)
	})
	return limit, err
}

// beginAttempt returns the deadline of an attempt that begins now. The caller must call end with the result of the attempt:
// answered if AWS has answered, missed if the deadline was missed. If both are false, the attempt does not affect later
// deadlines.
func (d *deadlines) beginAttempt(service, operation string) (limit time.Duration, end func(answered, missed bool)) {
	start, probe := d.clock.Now(), false
	d.WithLock(func() {
		a := d.responseTimesOf(service + " " + operation)
		if limit = d.attemptDeadline(service, operation); a.missedDeadline > 0 && !a.probing {
			a.probing, probe = true, true
			limit = d.probeDeadline(service, operation)
		}
	})
	return limit, func(answered, missed bool) {
		took := d.clock.Now().Sub(start)
		d.WithLock(func() {
			a := d.responseTimesOf(service + " " + operation)
			if probe {
				a.probing = false
			}
			switch {
			case answered:
				a.missedDeadline = 0
				for _, a := range []*responseTimes{a, d.responseTimesOf(service)} {
					a.slowest = max(took, a.slowest*7/8)
				}
			case missed:
				a.missedDeadline, a.missedAt = max(a.missedDeadline, took), d.clock.Now()
			}
		})
	}
}

type optionalKey struct{}

// WithOptional returns a context for calls that read an optional fact. Such a call ends after the first attempt that misses
// its deadline, and a fault replaces the fact. A service that does not answer therefore blocks a worker only for a short
// time.
func WithOptional(ctx context.Context) context.Context {
	return context.WithValue(ctx, optionalKey{}, true)
}

func isOptional(ctx context.Context) bool { return ctx.Value(optionalKey{}) != nil }

// timeoutError is the error of an attempt or a call that AWS did not answer within its deadline.
type timeoutError struct {
	after time.Duration
	// lastAnswer is the error with which AWS answered an earlier attempt; nil if AWS answered none.
	lastAnswer error
}

// Error implements error.
func (e *timeoutError) Error() string {
	text := fmt.Sprintf("no answer from AWS within %s", e.after)
	if e.lastAnswer != nil {
		text += ", last error: " + e.lastAnswer.Error()
	}
	return text
}

// Unwrap returns the last answer, which determines the class of the error.
func (e *timeoutError) Unwrap() error { return e.lastAnswer }

// RetryableError reports that the SDK may make another attempt.
func (e *timeoutError) RetryableError() bool { return true }

// boundCall runs a call with all of its attempts under a deadline. If the call ends because of this deadline, or of a
// deadline of an attempt, the error is a timeoutError.
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
				ended.lastAnswer = r.Err
			}
		}
	}
	return &ended
}

// boundAttempt runs one attempt under its deadline. The deadline covers finding credentials, connecting, sending the
// request, and reading the whole answer.
func (d *deadlines) boundAttempt(ctx context.Context, service, operation string, attempt func(context.Context) error) error {
	limit, end := d.beginAttempt(service, operation)
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

// withTimeout returns an HTTP client whose requests have a deadline. The SDK requests credentials once for all callers, and
// without the middleware of the controller, so one request without an answer would block every call. The deadline is one
// second longer than the deadline of a call, because the error of a call has more details.
func withTimeout(c *http.Client, limit time.Duration) aws.HTTPClient {
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

// withoutClientTimeout returns an HTTP client without timeout, because boundAttempt gives each attempt a deadline.
func withoutClientTimeout(c aws.HTTPClient) aws.HTTPClient {
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
