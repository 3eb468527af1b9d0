package targets

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// readHealth reads the targets of a target group with their health into the cache. The registrations and deregistrations of
// this process within the settle window are applied to the answer of AWS.
func (t TargetGroups) readHealth(ctx context.Context, arn string) error {
	key := t.key(arn)
	api, err := t.api(ctx)
	if err != nil {
		return err
	}
	start := t.Config.Clock.Now()
	out, err := api.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String(arn)})
	if err != nil {
		if sdk.IsGone(err) {
			t.Forget(arn)
		}
		return fmt.Errorf("read health of %s: %w", arn, err)
	}
	h := observed.Health{ReadAt: start}
	for _, d := range out.TargetHealthDescriptions {
		n := &observed.Target{}
		if d.Target != nil {
			n.ID, n.Port, n.Zone = aws.ToString(d.Target.Id), aws.ToInt32(d.Target.Port), aws.ToString(d.Target.AvailabilityZone)
			n.ServerID = aws.ToString(d.Target.QuicServerId)
		}
		if d.TargetHealth != nil {
			n.State, n.Reason, n.Description = string(d.TargetHealth.State), string(d.TargetHealth.Reason), aws.ToString(d.TargetHealth.Description)
		}
		h.Targets = append(h.Targets, n)
	}
	slices.SortFunc(h.Targets, compareTargets)
	t.WithLock(func() {
		for k, old := range t.health {
			if !t.IsYounger(old.ReadAt, durations.RarelyChangedAge) {
				delete(t.health, k)
				delete(t.recentWrites, k)
			}
		}
		h.Targets = t.recentWrites[key].applyTo(h.Targets, start)
		t.health[key] = h
	})
	return nil
}

// LookUpHealth returns the health of the targets of a target group, which is cached for durations.Moment, so that concurrent
// callers share a call. The result has no targets if the target group was deleted.
func (t *Targets) LookUpHealth(ctx context.Context, arn string) (observed.Health, error) {
	key := t.OwnTargetGroups().key(arn)
	cached := func() (h observed.Health, ok bool) {
		t.WithLock(func() { h = t.health[key] })
		return h, t.IsYounger(h.ReadAt, durations.Moment)
	}
	h, err := sdk.CachedOrRead(ctx, t.ReadOptional, key.text("health"), cached, func() error {
		return t.OwnTargetGroups().readHealth(sdk.WithOptional(ctx), arn)
	})
	if sdk.IsGone(err) && !t.inv.Has(arn) {
		return observed.Health{ReadAt: t.Config.Clock.Now()}, nil // the target group was deleted
	}
	return h, err
}
