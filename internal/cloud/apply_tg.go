package cloud

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func (c *Cloud) createTargetGroup(ctx context.Context, id model.StackID, a plan.CreateTargetGroup) (plan.Result, error) {
	g, h := a.Group, a.Group.HealthCheck
	in := &elb.CreateTargetGroupInput{
		Name: aws.String(g.Name), TargetType: elbtypes.TargetTypeEnum(g.Type), Port: aws.Int32(g.Port),
		Protocol: elbtypes.ProtocolEnum(g.Protocol), ProtocolVersion: optional(g.ProtocolVersion), VpcId: aws.String(c.vpc),
		TargetControlPort: g.ControlPort, Tags: tagsToAWS(a.Tags),
		HealthCheckEnabled: aws.Bool(true), HealthCheckPort: optional(h.Port), HealthCheckProtocol: elbtypes.ProtocolEnum(h.Protocol),
		HealthCheckPath: optional(h.Path), HealthCheckIntervalSeconds: optionalNumber(h.IntervalSeconds),
		HealthCheckTimeoutSeconds: optionalNumber(h.TimeoutSeconds), HealthyThresholdCount: optionalNumber(h.HealthyThreshold),
		UnhealthyThresholdCount: optionalNumber(h.UnhealthyThreshold), Matcher: matcherToAWS(h),
	}
	if g.AddressType != "" && g.AddressType != model.IPv4 {
		in.IpAddressType = elbtypes.TargetGroupIpAddressTypeEnum(g.AddressType)
	}
	what := "create target group " + g.Name
	start := c.cfg.Now()
	out, err := c.api.elb.CreateTargetGroup(ctx, in)
	if code(err) == "DuplicateTargetGroupName" {
		return plan.Result{}, c.targetGroupNameTaken(ctx, id, g.Name, what)
	}
	if err != nil {
		return plan.Result{}, c.failure(what, err, time.Time{}, forgetTargetGroups)
	}
	if len(out.TargetGroups) != 1 {
		return plan.Result{}, failed(engine.Unknown, what, "AWS told of %d target groups", len(out.TargetGroups))
	}
	made := targetGroupFromAWS(out.TargetGroups[0])
	// AWS gives the existing target group if one has the name and all the same settings. It does
	// not tell when a group was made: one that was seen before, or is in use, was there.
	var seen bool
	var tags map[string]string
	c.inv.read(func() {
		if e := c.inv.groups.get(made.ARN); e != nil {
			seen, tags = true, e.g.Tags
		}
	})
	if seen && tags == nil || !seen && len(made.LoadBalancers) > 0 {
		got, err := c.describeTags(ctx, []string{made.ARN})
		if err != nil {
			c.inv.write(func() { forgetTargetGroups(c.inv) })
			return plan.Result{}, err
		}
		seen, tags = true, got[made.ARN]
	}
	if seen && !carries(tags, naming.StackTags(c.cfg.Cluster, id)) {
		return plan.Result{}, nameTaken(what, "a target group of this name exists and belongs to %s", ownerOf(tags))
	}
	if !seen {
		c.targets.noteEmpty(made.ARN, start)
	}
	now := c.cfg.Now()
	made.Tags = a.Tags
	c.inv.write(func() {
		if e := c.inv.groups.get(made.ARN); e == nil || e.g.Tags == nil {
			c.inv.setAccount(made.ARN)
			c.inv.groups.put(made.ARN, &groupEntry{g: made, vpc: c.vpc, at: now, tagsAt: now, made: now, written: now})
		}
	})
	return plan.Result{ID: made.ARN}, nil
}

// targetGroupNameTaken finds out who has the name.
func (c *Cloud) targetGroupNameTaken(ctx context.Context, id model.StackID, name, what string) error {
	out, err := c.api.elb.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil {
		return c.failure(what, err, time.Time{}, forgetTargetGroups)
	}
	if len(out.TargetGroups) != 1 {
		return failed(engine.Conflict, what, "the name was taken a moment ago")
	}
	arn := aws.ToString(out.TargetGroups[0].TargetGroupArn)
	tags, err := c.describeTags(ctx, []string{arn})
	if err != nil {
		return err
	}
	known, stack := false, naming.StackTags(c.cfg.Cluster, id)
	c.inv.write(func() {
		e := c.inv.groups.get(arn)
		known = e != nil && (e.vpc != c.vpc || carries(e.g.Tags, stack))
		if e != nil && !known {
			// They were not read, or have changed.
			c.inv.groups.edit(arn, func(e *groupEntry) { e.tagsAt = time.Time{} })
		}
	})
	if !known && carries(tags[arn], stack) {
		c.inv.write(func() { forgetTargetGroups(c.inv) })
		return failed(engine.Conflict, what, "it exists already")
	}
	return nameTaken(what, "a target group of this name exists with other settings and belongs to %s", ownerOf(tags[arn]))
}

func (c *Cloud) setHealthCheck(ctx context.Context, a plan.SetHealthCheck, known plan.Known) error {
	arn, err := lookup(known, a.Group)
	if err != nil {
		return err
	}
	owned, err := c.inv.ownedGroup(arn)
	if err != nil {
		return err
	}
	h := a.Check
	out, err := c.api.elb.ModifyTargetGroup(ctx, &elb.ModifyTargetGroupInput{
		TargetGroupArn: aws.String(arn), HealthCheckPort: optional(h.Port), HealthCheckProtocol: elbtypes.ProtocolEnum(h.Protocol),
		HealthCheckPath: optional(h.Path), HealthCheckIntervalSeconds: optionalNumber(h.IntervalSeconds),
		HealthCheckTimeoutSeconds: optionalNumber(h.TimeoutSeconds), HealthyThresholdCount: optionalNumber(h.HealthyThreshold),
		UnhealthyThresholdCount: optionalNumber(h.UnhealthyThreshold), Matcher: matcherToAWS(h),
	})
	if err != nil {
		return c.failure("set the health check of "+arn, err, owned.made, forgetTargetGroups)
	}
	c.inv.write(func() {
		if e := c.inv.groups.get(arn); e != nil && len(out.TargetGroups) == 1 {
			e.g.HealthCheck = targetGroupFromAWS(out.TargetGroups[0]).HealthCheck
			e.written = c.cfg.Now()
		}
	})
	return nil
}

// deleteTargetGroup deletes a target group; one that is gone already is a success.
func (c *Cloud) deleteTargetGroup(ctx context.Context, a plan.DeleteTargetGroup) error {
	if _, err := c.inv.ownedGroup(a.ARN); err != nil {
		if isGone(err) {
			return nil
		}
		return err
	}
	_, err := c.api.elb.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: aws.String(a.ARN)})
	if err != nil && !isGone(err) {
		return c.failure("delete target group "+a.ARN, err, time.Time{}, forgetTargetGroups)
	}
	c.inv.write(func() {
		c.inv.groups.drop(a.ARN)
		c.inv.bury(a.ARN, c.cfg.Now())
	})
	c.targets.forgetALB(a.ARN)
	c.targets.own().forget(a.ARN)
	return nil
}
