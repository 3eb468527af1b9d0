package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
)

// userAgent is the user agent, without the version, that replaces the user agent of the SDK.
const userAgent = "elbv2.k8s.aws/"

type limitedKey struct{}

// instrument adds the middleware of the controller to the middleware stack of an operation.
func instrument(s *middleware.Stack, c Config, l *ratelimit.Limiter) error {
	call := middleware.InitializeMiddlewareFunc("fulcrum.call", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, meta middleware.Metadata, err error) {
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		// The fence is checked first, so that a call that it does not permit takes no token.
		if err := c.checkFence(operation); err != nil {
			return out, meta, err
		}
		limit, err := c.deadlines.callDeadline(service, operation, isOptional(ctx))
		if err != nil {
			return out, meta, err
		}
		if !isOptional(ctx) {
			limit = max(limit, c.CallTimeout)
		}
		start := c.Clock.Now()
		limited, err := l.Begin(ctx, service, operation)
		if err != nil {
			return out, meta, err
		}
		defer limited.End()
		drift.CountCall(ctx)
		ctx = context.WithValue(ctx, limitedKey{}, limited)
		ctx, end := c.deadlines.beginCall(ctx, service)
		defer end()
		err = boundCall(ctx, limit, func(ctx context.Context) (middleware.Metadata, error) {
			out, meta, err = next.HandleInitialize(ctx, in)
			return meta, err
		})
		err = markUncertain(meta, err)
		if c.CallRecorder != nil {
			r := recordOf(service, operation, start, c.Clock.Now(), meta, err)
			r.Cause = ratelimit.CallerOf(ctx).Cause
			if a, ok := retry.GetAttemptResults(meta); ok {
				r.Attempts = len(a.Results)
			}
			c.CallRecorder.RecordCall(r)
		}
		return out, meta, err
	})
	attempt := middleware.FinalizeMiddlewareFunc("fulcrum.attempt", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (out middleware.FinalizeOutput, meta middleware.Metadata, err error) {
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		call := ctx.Value(limitedKey{}).(*ratelimit.Call)
		if err := call.Attempt(ctx); err != nil {
			return out, meta, err
		}
		start, answered := c.Clock.Now(), c.deadlines.recordAttempt(ctx)
		err = c.deadlines.boundAttempt(ctx, service, operation, func(ctx context.Context) error {
			out, meta, err = next.HandleFinalize(ctx, in)
			return err
		})
		answered(err)
		err = call.RecordOutcome(err, outcomeOf(err))
		if c.CallRecorder != nil {
			r := recordOf(service, operation, start, c.Clock.Now(), meta, err)
			r.Attempts = 1
			c.CallRecorder.RecordAttempt(r)
		}
		return out, meta, err
	})
	agent := middleware.BuildMiddlewareFunc("fulcrum.agent", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
		if r, ok := in.Request.(*smithyhttp.Request); ok {
			r.Header.Set("User-Agent", userAgent+c.Version)
		}
		return next.HandleBuild(ctx, in)
	})
	fence := middleware.FinalizeMiddlewareFunc("fulcrum.fence", c.fenceAttempt)
	return errors.Join(
		s.Initialize.Add(call, middleware.After),
		s.Build.Add(agent, middleware.After),
		s.Finalize.Insert(attempt, "Retry", middleware.After),
		// The fence is the last middleware, because an earlier middleware may wait for credentials.
		s.Finalize.Add(fence, middleware.After),
	)
}

// checkFence returns an error if the operation changes resources and this process must not write.
func (c Config) checkFence(operation string) error {
	if c.Fence == nil || !isMutating(operation) {
		return nil
	}
	if err := c.Fence.CheckFence(); err != nil {
		return fmt.Errorf("%s: %w: %w", operation, errFenced, err)
	}
	return nil
}

// fenceAttempt checks the fence before an attempt, and again when the body of the request is about to be sent. The time to
// connect may be long, especially if the network is down and this process cannot renew its lease.
func (c Config) fenceAttempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	operation := awsmiddleware.GetOperationName(ctx)
	if err := c.checkFence(operation); err != nil {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, err
	}
	r, ok := in.Request.(*smithyhttp.Request)
	if c.Fence == nil || !isMutating(operation) || !ok || r.GetStream() == nil {
		return next.HandleFinalize(ctx, in)
	}
	body := &fencedBody{Reader: r.GetStream(), config: c, operation: operation}
	r, err := r.SetStream(body)
	if err != nil {
		return middleware.FinalizeOutput{}, middleware.Metadata{}, fmt.Errorf("%s: fence the request: %w", operation, err)
	}
	in.Request = r
	out, meta, err := next.HandleFinalize(ctx, in)
	if err != nil && body.refused != nil {
		err = body.refused // err is a connection error that the SDK would retry
	}
	return out, meta, err
}

// fencedBody is a request body that is only sent if this process may still write.
type fencedBody struct {
	io.Reader
	config    Config
	operation string
	checked   bool
	refused   error
}

// Read checks the fence before it returns the first byte.
func (b *fencedBody) Read(p []byte) (int, error) {
	if !b.checked {
		b.checked, b.refused = true, b.config.checkFence(b.operation)
	}
	if b.refused != nil {
		return 0, b.refused
	}
	return b.Reader.Read(p)
}

// markUncertain wraps the error of a call in an uncertainError if the last attempt did not take effect, but an earlier
// attempt may have taken effect.
func markUncertain(meta middleware.Metadata, err error) error {
	if err == nil || MayHaveTakenEffect(err) {
		return err
	}
	a, _ := retry.GetAttemptResults(meta)
	for _, r := range a.Results[:max(len(a.Results)-1, 0)] {
		if MayHaveTakenEffect(r.Err) {
			return &uncertainError{err}
		}
	}
	return err
}

// isMutating reports whether an operation changes resources.
func isMutating(operation string) bool {
	for _, p := range []string{"Describe", "Get", "List", "Search", "Simulate", "AssumeRole"} {
		if strings.HasPrefix(operation, p) {
			return false
		}
	}
	return true
}

// recordOf returns the Call for the recorder, without its cause and its number of attempts.
func recordOf(service, operation string, start, end time.Time, meta middleware.Metadata, err error) Call {
	out := Call{Service: service, Operation: operation, Duration: end.Sub(start)}
	var response *smithyhttp.ResponseError
	switch {
	case errors.As(err, &response):
		out.Status = response.HTTPStatusCode()
	default:
		if r, ok := awsmiddleware.GetRawResponse(meta).(*smithyhttp.Response); ok && r != nil && r.Response != nil {
			out.Status = r.StatusCode
		}
	}
	if err != nil {
		out.Code = Code(err)
		if out.Code == "" {
			out.Code = "internal"
		}
	}
	return out
}
