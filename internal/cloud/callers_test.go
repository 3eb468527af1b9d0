package cloud

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestPostponedReadsKeepTheirPlaceInTheQueue checks that a read that the rate limiter postpones keeps its place in the
// queue, if it is a read for bindings or for the search of orphans. Otherwise it would never be sent while stacks make more
// calls than AWS admits.
func TestPostponedReadsKeepTheirPlaceInTheQueue(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/a/0123456789abcdef"
	for name, read := range map[string]func(*Cloud, bindings.TargetGroups) error{
		"target health": func(_ *Cloud, g bindings.TargetGroups) error {
			_, err := g.TargetHealth(t.Context(), arn, 0)
			return err
		},
		"target group": func(_ *Cloud, g bindings.TargetGroups) error {
			_, err := g.TargetGroup(t.Context(), "", "a", 0)
			return err
		},
		"use": func(_ *Cloud, g bindings.TargetGroups) error {
			_, err := g.IsInUse(t.Context(), arn)
			return err
		},
		"owner": func(_ *Cloud, g bindings.TargetGroups) error {
			_, err := g.OwnerNamespaces(t.Context(), arn, true)
			return err
		},
		"orphans": func(c *Cloud, _ bindings.TargetGroups) error {
			_, err := c.Owned(t.Context(), model.Ingress)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := New(t.Context(), sdk.Config{
				Cluster: "c", Region: "us-west-2", VPC: "vpc-1", MaxWait: time.Nanosecond, Env: func(string) string { return "" },
				TokenBuckets: []ratelimit.TokenBucket{{Service: services.ELB, Operation: regexp.MustCompile(".*"), Rate: 0.001, Burst: 1, Fixed: true}},
			})
			if err != nil {
				t.Fatal(err)
			}
			l := c.client.Limits.Limiter
			if _, err := l.Begin(t.Context(), services.ELB, "DescribeRules"); err != nil { // takes the only token
				t.Fatal(err)
			}
			var put *ratelimit.PostponedError
			if err := read(c, c.TargetGroupsOf(bindings.Account{})); !errors.As(err, &put) || put.RetryAfter() == 0 {
				t.Fatalf("the read is not postponed: %v", err)
			}
			if !put.HasReservedPosition {
				t.Error("its position is not kept")
			}
		})
	}
}
