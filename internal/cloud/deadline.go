package cloud

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
)

// The defaults of Config.AttemptTimeout and Config.CallTimeout.
const (
	attemptTimeout = 30 * time.Second
	callTimeout    = time.Minute
)

// optionalTimeout bounds each call for a fact that a run can do without, retries included. Such a
// fact is reported as a fault, so that a service that hangs does not hold a worker for long.
const optionalTimeout = 10 * time.Second

// brief makes one call for a fact that a run can do without.
func brief[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, optionalTimeout, &timeoutError{after: optionalTimeout})
	defer cancel()
	out, err := call(ctx)
	return out, named(ctx, err)
}

// named returns the timeout that ended a context in place of an error that only says that the
// context ended. Who waits for the same reading would take that for a caller that gave up, and
// would wait for the whole deadline again.
func named(ctx context.Context, err error) error {
	var timeout *timeoutError
	if err == nil || !interrupted(err) || !errors.As(context.Cause(ctx), &timeout) {
		return err
	}
	var operation *smithy.OperationError
	if errors.As(err, &operation) {
		return &smithy.OperationError{ServiceID: operation.ServiceID, OperationName: operation.OperationName, Err: timeout}
	}
	return timeout
}

// timeoutError says that AWS gave no answer in time.
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
// it is one of this package.
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
func boundAttempt(ctx context.Context, limit time.Duration, attempt func(context.Context) error) error {
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := attempt(short)
	if err != nil && expired(ctx, short) {
		return &timeoutError{after: limit}
	}
	return err
}

// expired reports whether a context ended by its own deadline and not with the one around it.
func expired(outer, inner context.Context) bool { return inner.Err() != nil && outer.Err() == nil }

// bounded is an HTTP client whose requests have a deadline. The SDK finds credentials with requests
// that pass none of our own steps, and for all callers together, so that one that hangs would hold
// every call. The deadline is a little later than that of an attempt, whose error says more.
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
