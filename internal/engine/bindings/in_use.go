package bindings

import (
	"context"
	"fmt"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// readTargetGroupInUse reports whether the target group of binding b, which is being deleted, is still in use: an object
// still needs the stack, and a load balancer forwards to the target group.
func (p reader) readTargetGroupInUse(ctx context.Context, b *elbv2.TargetGroupBinding) (bool, error) {
	wanted, err := p.r.isStackDesired(b)
	if err != nil || !wanted || b.Spec.TargetGroupARN == "" {
		return false, err
	}
	used, err := p.r.Cloud.TargetGroupsOf(accountOf(b)).IsInUse(ctx, b.Spec.TargetGroupARN)
	if err != nil {
		switch p.r.Cloud.Class(err) {
		case failure.Gone, failure.Invalid:
			return false, nil
		}
		return false, fmt.Errorf("determine whether target group %s is in use: %w", b.Spec.TargetGroupARN, err)
	}
	return used, nil
}

// isStackDesired reports whether an object that is not being deleted still needs the stack that created binding b. Only
// objects in the namespace of the binding count, because a binding is created in the namespace of the object that references
// its Service.
func (r *Reconciler) isStackDesired(b *elbv2.TargetGroupBinding) (bool, error) {
	id, ok := naming.StackFromLabels(b.Labels)
	if !ok {
		return false, nil
	}
	v := r.Cluster.View().Unsubscribed()
	return ownership.HasMemberInNamespace(v, id, b.Namespace), v.Err()
}
