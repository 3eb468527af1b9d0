package sdk

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
)

// The causes of calls. The causes are the values of a label of metrics.
const (
	CauseStack   = "stack"
	CauseTargets = "targets"
	CauseDrift   = "drift"
	CauseOrphans = "orphans"
)

// WithCaller returns a context for the calls of a caller. name identifies the caller, and callers with the same tenant share
// a part of the calls. In a drift check the cause is always CauseDrift.
func WithCaller(ctx context.Context, tenant, name, cause string) context.Context {
	if drift.IsCheck(ctx) {
		cause = CauseDrift
	}
	return ratelimit.WithCaller(ctx, ratelimit.Caller{Tenant: tenant, Name: name, Cause: cause})
}
