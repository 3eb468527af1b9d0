package bindings

import (
	"context"
	"fmt"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// inUse reads whether a load balancer whose owner is to stay sends requests to the target group of a binding that
// goes.
func (p reader) inUse(ctx context.Context, b *elbv2.TargetGroupBinding) (bool, error) {
	wanted, err := p.r.stackWanted(b)
	if err != nil || !wanted || b.Spec.TargetGroupARN == "" {
		return false, err
	}
	used, err := p.r.Cloud.As(accountOf(b)).InUse(ctx, b.Spec.TargetGroupARN)
	if err != nil {
		switch p.r.Cloud.Class(err) {
		case engine.Gone, engine.Invalid:
			return false, nil
		}
		return false, fmt.Errorf("see whether target group %s is in use: %w", b.Spec.TargetGroupARN, err)
	}
	return used, nil
}

// stackWanted reports whether an object that is not being deleted asks for the stack of a binding. Bindings are made in
// the namespace of the object whose backends they are for, so other members of the stack do not count.
func (r *Reconciler) stackWanted(b *elbv2.TargetGroupBinding) (bool, error) {
	id, ok := naming.StackFromLabels(b.Labels)
	if !ok {
		return false, nil
	}
	v := r.Cluster.View().Unsubscribed()
	return ownership.HasLiveMember(v, id, b.Namespace), v.Err()
}
