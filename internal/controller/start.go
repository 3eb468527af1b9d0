package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// retryUntilReached calls try with back-off until it succeeds, fails with an error for which transient returns false, or ctx
// ends. what names the called service in log lines.
func retryUntilReached[T any](ctx context.Context, log logr.Logger, what string, try func(context.Context) (T, error), transient func(error) bool) (T, error) {
	for wait := durations.BriefWait / 2; ; wait = min(2*wait, durations.RequestTimeout) {
		out, err := try(ctx)
		if err == nil || ctx.Err() != nil || !transient(err) {
			return out, err
		}
		log.Info("waiting for "+what, "err", err.Error(), "retryAfter", wait.String())
		if !pause(ctx, wait) {
			return out, ctx.Err()
		}
	}
}

// connectAWS connects to AWS, and then waits until the API server answers.
func connectAWS(ctx context.Context, s Setup, fence engine.Fence, m *Metrics) (AWS, error) {
	log := s.Log.WithName("setup")
	aws, err := retryUntilReached(ctx, log, "AWS", func(ctx context.Context) (AWS, error) { return s.AWS.Connect(ctx, fence, m) },
		s.AWS.IsUnreached)
	if err != nil {
		return AWS{}, fmt.Errorf("connect to AWS: %w", err)
	}
	if err := awaitAPI(ctx, s.REST, log); err != nil {
		return AWS{}, fmt.Errorf("wait for the API server: %w", err)
	}
	return aws, nil
}

// awaitAPI waits until the API server answers. It returns nil if the answer is a client error, such as 401.
func awaitAPI(ctx context.Context, cfg *rest.Config, log logr.Logger) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = durations.ShortInterval
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("create the client of the API server: %w", err)
	}
	_, err = retryUntilReached(ctx, log, "the API server", func(context.Context) (struct{}, error) {
		_, err := d.ServerVersion()
		return struct{}{}, err
	}, isTransient)
	if err != nil && isTransient(err) {
		return err
	}
	return nil // a client error is handled by the first request that needs the API server
}

// isTransient reports whether the API server cannot be reached or is overloaded. It returns false only if the API server has
// answered with a client error other than 429.
func isTransient(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests
	}
	return true
}
