package cloud

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// callerForStack returns a context that names the stack as the caller of calls. The tenant is the namespace of the stack,
// or the IngressGroup.
func callerForStack(ctx context.Context, id model.StackID) context.Context {
	return sdk.WithCaller(ctx, cmp.Or(id.Namespace, "group "+id.Name), fmt.Sprint(id), sdk.CauseStack)
}

// callerForDrift returns a context for calls that look for drift. They all have the same tenant.
func callerForDrift(ctx context.Context) context.Context {
	return sdk.WithCaller(ctx, "drift", "drift", sdk.CauseDrift)
}
