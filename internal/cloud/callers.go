package cloud

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The causes of calls, as metrics name them.
const (
	forStack   = "stack"
	forTargets = "targets"
	forDrift   = "drift"
	forOrphans = "orphans"
)

// withCaller names the caller. Whatever a check for drift calls is for drift.
func withCaller(ctx context.Context, tenant, name, cause string) context.Context {
	if drift.IsCheck(ctx) {
		cause = forDrift
	}
	return ratelimit.WithCaller(ctx, ratelimit.Caller{Tenant: tenant, Name: name, Cause: cause})
}

// callerForStack names the caller of calls for a stack. Its tenant is its namespace, or the group that
// members share.
func callerForStack(ctx context.Context, id model.StackID) context.Context {
	return withCaller(ctx, cmp.Or(id.Namespace, "group "+id.Name), fmt.Sprint(id), forStack)
}
