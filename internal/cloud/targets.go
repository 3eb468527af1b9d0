package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

var _ bindings.Cloud = (*Cloud)(nil)

// Target groups of bindings may be anybody's: a person who writes a binding names the group, and
// this package only fills it.

// How long descriptions and ranges are kept.
const (
	describedFor = 20 * time.Minute
	rangesFor    = 10 * time.Minute
	healthKept   = 15 * time.Minute
)

type describedGroup struct {
	group bindings.TargetGroup
	at    time.Time
}

type vpcRanges struct {
	ranges []string
	at     time.Time
}

// TargetGroup implements bindings.TargetGroups.
func (c *Cloud) TargetGroup(ctx context.Context, arn, name string) (bindings.TargetGroup, error) {
	key := arn
	if key == "" {
		key = "name " + name
	}
	cached := func() (g bindings.TargetGroup, ok bool) {
		c.facts.with(func() {
			d := c.facts.described[key]
			g, ok = d.group, c.younger(d.at, describedFor)
		})
		return g, ok
	}
	if g, ok := cached(); ok {
		return g, nil
	}
	err := c.flight.do(ctx, "describe "+key, func() error {
		if _, ok := cached(); ok {
			return nil
		}
		start := c.cfg.Now()
		in := &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}}
		if arn == "" {
			in = &elb.DescribeTargetGroupsInput{Names: []string{name}}
		}
		out, err := c.api.elb.DescribeTargetGroups(ctx, in)
		if err != nil {
			return fmt.Errorf("find target group %s: %w", key, err)
		}
		if len(out.TargetGroups) != 1 {
			return failed(engine.Gone, "find target group "+key, "it does not exist")
		}
		g := out.TargetGroups[0]
		found := bindings.TargetGroup{
			ARN: aws.ToString(g.TargetGroupArn), Type: model.TargetType(g.TargetType), Protocol: string(g.Protocol),
			AddressType: model.AddressType(g.IpAddressType), VPC: aws.ToString(g.VpcId),
		}
		c.facts.with(func() { c.facts.described[key] = describedGroup{found, start} })
		return nil
	})
	if err != nil {
		return bindings.TargetGroup{}, err
	}
	g, _ := cached()
	return g, nil
}

// TargetHealth implements bindings.TargetGroups.
func (c *Cloud) TargetHealth(ctx context.Context, arn string, maxAge time.Duration) (observed.Health, error) {
	start := c.cfg.Now()
	cached := func() (h observed.Health) {
		c.facts.with(func() { h = c.facts.health[arn] })
		return h
	}
	if h := cached(); c.younger(h.At, maxAge) {
		return h, nil
	}
	for {
		if err := c.flight.do(ctx, "health "+arn, func() error { return c.readHealth(ctx, arn) }); err != nil {
			return observed.Health{}, err
		}
		// Where another caller's reading was shared it may have begun too early.
		if h := cached(); !h.At.Before(start) || c.younger(h.At, maxAge) {
			return h, nil
		}
	}
}

// Register implements bindings.TargetGroups.
func (c *Cloud) Register(ctx context.Context, arn string, targets []bindings.Target) error {
	in := &elb.RegisterTargetsInput{TargetGroupArn: aws.String(arn)}
	for _, t := range targets {
		in.Targets = append(in.Targets, elbtypes.TargetDescription{Id: aws.String(t.ID), Port: optionalNumber(t.Port), AvailabilityZone: optional(t.Zone)})
	}
	_, err := c.api.elb.RegisterTargets(ctx, in)
	if err != nil {
		return c.targetsFailed(arn, fmt.Errorf("register targets in %s: %w", arn, err))
	}
	c.changeHealth(arn, func(have []observed.Target) []observed.Target {
		for _, t := range targets {
			i := slices.IndexFunc(have, func(h observed.Target) bool { return h.ID == t.ID && h.Port == t.Port })
			n := observed.Target{ID: t.ID, Port: t.Port, Zone: t.Zone, State: string(elbtypes.TargetHealthStateEnumInitial), Reason: string(elbtypes.TargetHealthReasonEnumRegistrationInProgress)}
			switch {
			case i < 0:
				have = append(have, n)
			case have[i].State == string(elbtypes.TargetHealthStateEnumDraining):
				have[i] = n
			}
		}
		slices.SortFunc(have, compareTargets)
		return have
	})
	return nil
}

// Deregister implements bindings.TargetGroups.
func (c *Cloud) Deregister(ctx context.Context, arn string, targets []observed.Target) error {
	in := &elb.DeregisterTargetsInput{TargetGroupArn: aws.String(arn)}
	for _, t := range targets {
		d := elbtypes.TargetDescription{Id: aws.String(t.ID), Port: optionalNumber(t.Port)}
		if t.Zone == "all" { // elsewhere AWS finds out, and does not want to be told for instances
			d.AvailabilityZone = aws.String(t.Zone)
		}
		in.Targets = append(in.Targets, d)
	}
	_, err := c.api.elb.DeregisterTargets(ctx, in)
	if err != nil {
		return c.targetsFailed(arn, fmt.Errorf("deregister targets of %s: %w", arn, err))
	}
	c.changeHealth(arn, func(have []observed.Target) []observed.Target {
		for i, h := range have {
			if slices.ContainsFunc(targets, func(t observed.Target) bool { return t.ID == h.ID && t.Port == h.Port }) {
				have[i].State = string(elbtypes.TargetHealthStateEnumDraining)
				have[i].Reason = string(elbtypes.TargetHealthReasonEnumDeregistrationInProgress)
				have[i].Description = ""
			}
		}
		return have
	})
	return nil
}

// targetsFailed forgets the targets of a group where they cannot be trusted any more.
func (c *Cloud) targetsFailed(arn string, err error) error {
	class := classify(err)
	if mayHaveHappened(err) || class == engine.Gone || class == engine.Conflict || class == engine.Invalid {
		c.facts.with(func() {
			delete(c.facts.health, arn)
			delete(c.facts.described, arn)
		})
	}
	return err
}

// changeHealth lays an own write over the remembered targets.
func (c *Cloud) changeHealth(arn string, change func([]observed.Target) []observed.Target) {
	c.facts.with(func() {
		h, ok := c.facts.health[arn]
		if !ok {
			return
		}
		c.facts.writes[arn]++
		h.Targets = change(slices.Clone(h.Targets))
		c.facts.health[arn] = h
	})
}

// noteEmpty remembers that a target group was made a moment ago by this process, so that whoever
// fills it need not ask what is in it.
func (c *Cloud) noteEmpty(arn string, at time.Time) {
	c.facts.with(func() {
		if _, known := c.facts.health[arn]; !known {
			c.facts.health[arn] = observed.Health{At: at}
		}
	})
}

func compareTargets(a, b observed.Target) int {
	if n := strings.Compare(a.ID, b.ID); n != 0 {
		return n
	}
	return int(a.Port) - int(b.Port)
}

// VPCRanges implements bindings.TargetGroups.
func (c *Cloud) VPCRanges(ctx context.Context, vpc string) ([]string, error) {
	cached := func() (out []string, ok bool) {
		c.facts.with(func() {
			f := c.facts.ranges[vpc]
			out, ok = f.ranges, c.younger(f.at, rangesFor)
		})
		return out, ok
	}
	if out, ok := cached(); ok {
		return out, nil
	}
	err := c.flight.do(ctx, "vpc "+vpc, func() error {
		if _, ok := cached(); ok {
			return nil
		}
		start := c.cfg.Now()
		out, err := c.api.ec2.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{vpc}})
		if err != nil {
			return fmt.Errorf("read VPC %s: %w", vpc, err)
		}
		var ranges []string
		for _, v := range out.Vpcs {
			for _, a := range v.CidrBlockAssociationSet {
				if a.CidrBlockState != nil && a.CidrBlockState.State == ec2types.VpcCidrBlockStateCodeAssociated {
					ranges = append(ranges, aws.ToString(a.CidrBlock))
				}
			}
			for _, a := range v.Ipv6CidrBlockAssociationSet {
				if a.Ipv6CidrBlockState != nil && a.Ipv6CidrBlockState.State == ec2types.VpcCidrBlockStateCodeAssociated {
					ranges = append(ranges, aws.ToString(a.Ipv6CidrBlock))
				}
			}
		}
		slices.Sort(ranges)
		c.facts.with(func() { c.facts.ranges[vpc] = vpcRanges{ranges, start} })
		return nil
	})
	out, _ := cached()
	return out, err
}
