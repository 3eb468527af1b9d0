package cloud

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// callerForStack returns a context whose calls to AWS have the stack as their caller. The tenant is that of the context. If
// it has none, the tenant is the namespace of the stack, or the IngressGroup, which has no namespace.
func callerForStack(ctx context.Context, id model.StackID) context.Context {
	return sdk.WithCaller(ctx, cmp.Or(model.TenantOf(ctx), id.Namespace, "group "+id.Name), fmt.Sprint(id), sdk.CauseStack)
}

// callerForDrift returns a context for the calls of drift checks. All drift checks share one tenant.
func callerForDrift(ctx context.Context) context.Context {
	return sdk.WithCaller(ctx, "drift", "drift", sdk.CauseDrift)
}
