package cloud

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// callerForStack returns a context whose calls to AWS have the stack as their caller. The tenant is the tenant in ctx. If
// ctx has no tenant, it is the namespace of the stack or, for a stack without namespace, the IngressGroup.
func callerForStack(ctx context.Context, id model.StackID) context.Context {
	return sdk.WithCaller(ctx, cmp.Or(model.TenantOf(ctx), id.Namespace, "group "+id.Name), fmt.Sprint(id), sdk.CauseStack)
}

// callerForDrift returns a context for the calls of drift checks. All drift checks share one tenant.
func callerForDrift(ctx context.Context) context.Context {
	return sdk.WithCaller(ctx, "drift", "drift", sdk.CauseDrift)
}
