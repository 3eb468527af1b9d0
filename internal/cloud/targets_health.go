package cloud

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// readHealth reads until no write of our own falls into the reading.
func (t targetGroups) readHealth(ctx context.Context, arn string) error {
	for {
		again, err := t.readHealthOnce(ctx, arn)
		if err != nil || !again {
			return err
		}
	}
}

func (t targetGroups) readHealthOnce(ctx context.Context, arn string) (again bool, err error) {
	c, key := t.c, t.key(arn)
	api, err := t.api(ctx)
	if err != nil {
		return false, err
	}
	start := c.cfg.Now()
	writes := 0
	c.facts.with(func() { writes = c.facts.writes[key] })
	out, err := api.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String(arn)})
	if err != nil {
		if isGone(err) {
			t.forget(arn)
		}
		return false, fmt.Errorf("read health of %s: %w", arn, err)
	}
	h := observed.Health{At: start}
	for _, d := range out.TargetHealthDescriptions {
		n := observed.Target{}
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
	c.facts.with(func() {
		if again = c.facts.writes[key] != writes; again {
			return
		}
		for k, old := range c.facts.health {
			if !c.younger(old.At, healthKept) {
				delete(c.facts.health, k)
				delete(c.facts.writes, k)
			}
		}
		c.facts.health[key] = h
	})
	return again, nil
}
