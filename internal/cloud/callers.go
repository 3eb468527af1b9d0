package cloud

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// callerForStack names the caller of calls for a stack. Its tenant is its namespace, or the group that
// members share.
func callerForStack(ctx context.Context, id model.StackID) context.Context {
	return sdk.WithCaller(ctx, cmp.Or(id.Namespace, "group "+id.Name), fmt.Sprint(id), sdk.ForStack)
}
