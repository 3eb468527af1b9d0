package bindings

import (
	"context"
	"fmt"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// comeback is for how long no rule is taken away after a binding has disappeared without letting
// go, and how often it is looked then whether its group is still in use: it is made anew in a moment,
// or later, if its definition has to come back first.
const comeback = time.Minute

// inUse says whether a binding that is being deleted was made for a load balancer which still sends
// requests to its target group. The controller deletes a binding only after the last rule that
// forwards to its group, so somebody else deletes this one: by hand, with the definition of the
// kind, or by a tool that takes it for a leftover. It will be made anew, and taking its targets out
// meanwhile would stop the traffic.
func (p *pass) inUse(ctx context.Context) (bool, error) {
	wanted, err := p.r.wanted(p.b)
	if err != nil || !wanted || p.b.Spec.TargetGroupARN == "" {
		return false, err
	}
	used, err := p.groups().InUse(ctx, p.b.Spec.TargetGroupARN)
	if err != nil {
		if p.past(err) {
			return false, nil
		}
		return false, fmt.Errorf("see whether target group %s is in use: %w", p.b.Spec.TargetGroupARN, err)
	}
	return used, nil
}

// wanted reports whether an object that nobody deletes asks for the stack of a binding. Bindings are made in
// the namespace of the object whose backends they are for, so other members of the stack do not count.
func (r *Reconciler) wanted(b *elbv2.TargetGroupBinding) (bool, error) {
	id, ok := naming.StackFromLabels(b.Labels)
	if !ok {
		return false, nil
	}
	v := r.Cluster.View()
	return ownership.Wanted(v, id, b.Namespace), v.Err()
}

// leave lets the object go and leaves its targets and rules to the one that will be made anew.
func (p *pass) leave(ctx context.Context) error {
	p.out.Findings.Add(finding.Finding{
		Object: targets.Ref(p.b), Reason: finding.RemovalNotTrusted, Severity: finding.Warning,
		Message: "the binding is deleted while its load balancer still sends requests to the target group; the targets stay, and the binding is made anew",
		Fix:     "to end the traffic, delete the Ingress or its backend",
	})
	p.r.noteServing(p.key, true)
	p.r.mu.Lock()
	p.r.left[p.key] = p.b
	p.r.mu.Unlock()
	if err := p.events(ctx, ""); err != nil {
		return err
	}
	if err := p.r.change(ctx, ReleaseFinalizer{p.key}); err != nil {
		return p.note(ctx, err, "FailedRemoveFinalizer", "Failed remove finalizer due to ")
	}
	return nil
}

// awaited says whether a binding that is gone has to be made anew first, because requests are still
// sent to its targets.
func (p *pass) awaited(ctx context.Context) (bool, error) {
	if p.b == nil {
		return false, nil
	}
	return p.inUse(ctx)
}
