package sdk

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
)

// The causes of calls, as in the label of metrics.
const (
	CauseStack   = "stack"
	CauseTargets = "targets"
	CauseDrift   = "drift"
	CauseOrphans = "orphans"
)

// WithCaller names the caller of the calls that are made with the context. Calls of a drift check have the cause CauseDrift,
// whatever cause is given.
func WithCaller(ctx context.Context, tenant, name, cause string) context.Context {
	if drift.IsCheck(ctx) {
		cause = CauseDrift
	}
	return ratelimit.WithCaller(ctx, ratelimit.Caller{Tenant: tenant, Name: name, Cause: cause})
}
