package targets

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

type cachedALBTargets struct {
	targets []observed.Target
	readAt  time.Time
}

// LookUpALBTargets returns the load balancers that are registered in a target group of type alb, except draining load
// balancers. It reads them from AWS if the cached answer is not fresh or was read before the time since. No other client
// registers targets in this target group, so the answer stays fresh for the refresh period. The result is nil if the
// inventory does not contain the target group.
func (t *Targets) LookUpALBTargets(ctx context.Context, q model.AskALBTargets, since time.Time) ([]observed.Target, error) {
	if !t.inv.Has(q.ARN) {
		return nil, nil
	}
	fresh := func() (ok bool) {
		t.WithLock(func() { ok = t.IsCurrent(t.albTargets[q.ARN].readAt, since, q.ARN) })
		return ok
	}
	err := sdk.ReadOnce(ctx, t.ReadOptional, q.Key(), fresh, func() error {
		start := t.Config.Clock.Now()
		out, err := t.API.ELB.DescribeTargetHealth(sdk.WithOptional(ctx), &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String(q.ARN)})
		if err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		var targets []observed.Target
		for _, d := range out.TargetHealthDescriptions {
			if d.Target == nil || d.TargetHealth != nil && d.TargetHealth.State == elbtypes.TargetHealthStateEnumDraining {
				continue
			}
			targets = append(targets, observed.Target{ID: aws.ToString(d.Target.Id), Port: aws.ToInt32(d.Target.Port)})
		}
		slices.SortFunc(targets, func(a, b observed.Target) int { return compareTargets(&a, &b) })
		t.WithLock(func() { t.albTargets[q.ARN] = cachedALBTargets{targets, start} })
		return nil
	})
	var out []observed.Target
	t.WithLock(func() { out = t.albTargets[q.ARN].targets })
	return out, err
}

// ChangeALBTargets applies a change by this process to the cached targets of a target group of type alb. created reports
// whether this process has just created the target group. If the targets are not cached and created is false, it does
// nothing.
func (t *Targets) ChangeALBTargets(arn string, created bool, change func([]observed.Target) []observed.Target) {
	t.WithLock(func() {
		e, ok := t.albTargets[arn]
		if !ok && !created {
			return
		}
		if !ok {
			e.readAt = t.Config.Clock.Now() // a new target group has no targets
		}
		t.albTargets[arn] = cachedALBTargets{change(slices.Clone(e.targets)), e.readAt}
	})
}

// ForgetALBTargets removes the targets of a target group of type alb from the cache.
func (t *Targets) ForgetALBTargets(arn string) { t.WithLock(func() { delete(t.albTargets, arn) }) }
