package sdk

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
)

// The causes of calls, as metrics name them.
const (
	ForStack   = "stack"
	ForTargets = "targets"
	ForDrift   = "drift"
	ForOrphans = "orphans"
)

// WithCaller names the caller of the calls that are made with the context. Calls of a check for drift have the cause
// ForDrift, whatever cause is given.
func WithCaller(ctx context.Context, tenant, name, cause string) context.Context {
	if drift.IsCheck(ctx) {
		cause = ForDrift
	}
	return ratelimit.WithCaller(ctx, ratelimit.Caller{Tenant: tenant, Name: name, Cause: cause})
}
