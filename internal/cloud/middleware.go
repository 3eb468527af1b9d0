package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// userAgent takes the place of the SDK's whole user agent.
const userAgent = "elbv2.k8s.aws/"

// instrument puts our own steps into an operation's stack.
func instrument(s *middleware.Stack, c Config, p *pacer) error {
	call := middleware.InitializeMiddlewareFunc("fulcrum.call", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		if c.Fence != nil && mutating(operation) {
			if err := c.Fence(); err != nil {
				return middleware.InitializeOutput{}, middleware.Metadata{}, fmt.Errorf("%s: %w: %w", operation, errFenced, err)
			}
		}
		start := c.Now()
		if err := p.wait(ctx, service, operation); err != nil {
			return middleware.InitializeOutput{}, middleware.Metadata{}, err
		}
		out, meta, err := next.HandleInitialize(ctx, in)
		if c.OnCall != nil {
			r := report(service, operation, start, c.Now(), meta, err)
			if a, ok := retry.GetAttemptResults(meta); ok {
				r.Attempts = len(a.Results)
			}
			c.OnCall(r)
		}
		return out, meta, err
	})
	attempt := middleware.FinalizeMiddlewareFunc("fulcrum.attempt", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		start := c.Now()
		out, meta, err := next.HandleFinalize(ctx, in)
		if c.OnRequest != nil {
			r := report(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), start, c.Now(), meta, err)
			r.Attempts = 1
			c.OnRequest(r)
		}
		return out, meta, err
	})
	agent := middleware.BuildMiddlewareFunc("fulcrum.agent", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
		if r, ok := in.Request.(*smithyhttp.Request); ok {
			r.Header.Set("User-Agent", userAgent+c.Version)
		}
		return next.HandleBuild(ctx, in)
	})
	return errors.Join(
		s.Initialize.Add(call, middleware.After),
		s.Build.Add(agent, middleware.After),
		s.Finalize.Insert(attempt, "Retry", middleware.After),
	)
}

// mutating says whether an operation changes anything.
func mutating(operation string) bool {
	for _, p := range []string{"Describe", "Get", "List", "Search", "AssumeRole"} {
		if strings.HasPrefix(operation, p) {
			return false
		}
	}
	return true
}

// report tells what became of a call.
func report(service, operation string, start, end time.Time, meta middleware.Metadata, err error) Call {
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
		out.Code = code(err)
		if out.Code == "" {
			out.Code = "internal"
		}
	}
	return out
}
