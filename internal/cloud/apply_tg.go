package cloud

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func (w *writer) createTargetGroup(ctx context.Context, id model.StackID, a plan.CreateTargetGroup) (plan.Result, error) {
	g, h := a.Group, a.Group.HealthCheck
	in := &elb.CreateTargetGroupInput{
		Name: aws.String(g.Name), TargetType: elbtypes.TargetTypeEnum(g.Type), Port: aws.Int32(g.Port),
		Protocol: elbtypes.ProtocolEnum(g.Protocol), ProtocolVersion: convert.Optional(g.ProtocolVersion), VpcId: aws.String(w.VPC),
		TargetControlPort: g.ControlPort, Tags: convert.TagsToAWS(a.Tags),
		HealthCheckEnabled: aws.Bool(true), HealthCheckPort: convert.Optional(h.Port), HealthCheckProtocol: elbtypes.ProtocolEnum(h.Protocol),
		HealthCheckPath: convert.Optional(h.Path), HealthCheckIntervalSeconds: convert.OptionalNumber(h.IntervalSeconds),
		HealthCheckTimeoutSeconds: convert.OptionalNumber(h.TimeoutSeconds), HealthyThresholdCount: convert.OptionalNumber(h.HealthyThreshold),
		UnhealthyThresholdCount: convert.OptionalNumber(h.UnhealthyThreshold), Matcher: convert.MatcherToAWS(h),
	}
	if g.AddressType != "" && g.AddressType != model.IPv4 {
		in.IpAddressType = elbtypes.TargetGroupIpAddressTypeEnum(g.AddressType)
	}
	what := "create target group " + g.Name
	start := w.Config.Now()
	// The list is read again at most once a minute, however many target groups are made.
	if err := w.reader.refresh(ctx, w.reader.targetGroups(), start.Add(-cache.SettleWindow), w.Essential); err != nil {
		return plan.Result{}, fmt.Errorf("%s: list target groups: %w", what, err)
	}
	out, err := w.API.ELB.CreateTargetGroup(ctx, in)
	if sdk.Code(err) == "DuplicateTargetGroupName" {
		return plan.Result{}, w.targetGroupNameTaken(ctx, id, g.Name, what)
	}
	if err != nil {
		return plan.Result{}, w.failure(what, err, time.Time{}, forgetTargetGroups)
	}
	if len(out.TargetGroups) != 1 {
		return plan.Result{}, sdk.Failed(engine.Unknown, what, "AWS returned %d target groups", len(out.TargetGroups))
	}
	made := convert.TargetGroupFromAWS(out.TargetGroups[0])
	seen, err := w.checkTargetGroup(ctx, id, made.ARN, what)
	if err != nil {
		return plan.Result{}, err
	}
	if !seen {
		w.targets.noteEmpty(made.ARN, start)
	}
	now := w.Config.Now()
	made.Tags = a.Tags
	w.inv.write(func() {
		e := w.inv.groups.get(made.ARN)
		switch {
		case e == nil:
			w.inv.setAccount(made.ARN)
			w.inv.groups.put(made.ARN, &groupEntry{g: made, vpc: w.VPC, at: now, tagsAt: now, made: now, written: now})
		case e.g.Tags == nil: // it was there, with load balancers that the answer does not have
			w.inv.groups.edit(made.ARN, func(e *groupEntry) { e.g.Tags, e.tagsAt, e.written = a.Tags, now, now })
		}
	})
	return plan.Result{ID: made.ARN}, nil
}

// checkTargetGroup refuses a target group that was there before and is not the stack's, as AWS gives an
// existing one that has the name and the same settings. Nothing in the answer shows that, neither a time
// nor load balancers, so the list of a moment ago and the tags decide. Seen reports whether the group was
// there before.
func (w *writer) checkTargetGroup(ctx context.Context, id model.StackID, arn, what string) (seen bool, err error) {
	var tags map[string]string
	w.inv.read(func() {
		if e := w.inv.groups.get(arn); e != nil {
			seen, tags = true, e.g.Tags
		}
	})
	if !seen {
		return false, nil
	}
	if tags == nil {
		got, err := describeTags(ctx, w.Client, []string{arn})
		if err != nil {
			w.inv.write(func() { forgetTargetGroups(w.inv) })
			return seen, err
		}
		tags = got[arn]
	}
	if !naming.Carries(tags, naming.StackTags(w.Config.Cluster, id)) {
		return seen, nameTaken(what, "a target group of this name exists and belongs to %s", ownerOf(tags))
	}
	return seen, nil
}

// targetGroupNameTaken finds out who has the name.
func (w *writer) targetGroupNameTaken(ctx context.Context, id model.StackID, name, what string) error {
	out, err := w.API.ELB.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil {
		return w.failure(what, err, time.Time{}, forgetTargetGroups)
	}
	if len(out.TargetGroups) != 1 {
		return sdk.Failed(engine.Conflict, what, "the name was taken a moment ago")
	}
	arn := aws.ToString(out.TargetGroups[0].TargetGroupArn)
	tags, err := describeTags(ctx, w.Client, []string{arn})
	if err != nil {
		return err
	}
	known, stack := false, naming.StackTags(w.Config.Cluster, id)
	w.inv.write(func() {
		e := w.inv.groups.get(arn)
		known = e != nil && (e.vpc != w.VPC || naming.Carries(e.g.Tags, stack))
		if e != nil && !known {
			// They were not read, or have changed.
			w.inv.groups.edit(arn, func(e *groupEntry) { e.tagsAt = time.Time{} })
		}
	})
	if !known && naming.Carries(tags[arn], stack) {
		w.inv.write(func() { forgetTargetGroups(w.inv) })
		return sdk.Failed(engine.Conflict, what, "it exists already")
	}
	return nameTaken(what, "a target group of this name exists with other settings and belongs to %s", ownerOf(tags[arn]))
}

func (w *writer) setHealthCheck(ctx context.Context, a plan.SetHealthCheck, known plan.Known) error {
	arn, err := lookup(known, a.Group)
	if err != nil {
		return err
	}
	owned, err := w.inv.ownedGroup(arn)
	if err != nil {
		return err
	}
	h := a.Check
	out, err := w.API.ELB.ModifyTargetGroup(ctx, &elb.ModifyTargetGroupInput{
		TargetGroupArn: aws.String(arn), HealthCheckPort: convert.Optional(h.Port), HealthCheckProtocol: elbtypes.ProtocolEnum(h.Protocol),
		HealthCheckPath: convert.Optional(h.Path), HealthCheckIntervalSeconds: convert.OptionalNumber(h.IntervalSeconds),
		HealthCheckTimeoutSeconds: convert.OptionalNumber(h.TimeoutSeconds), HealthyThresholdCount: convert.OptionalNumber(h.HealthyThreshold),
		UnhealthyThresholdCount: convert.OptionalNumber(h.UnhealthyThreshold), Matcher: convert.MatcherToAWS(h),
	})
	if err != nil {
		return w.failure("set the health check of "+arn, err, owned.made, forgetTargetGroups)
	}
	w.inv.write(func() {
		if e := w.inv.groups.get(arn); e != nil && len(out.TargetGroups) == 1 {
			e.g.HealthCheck = convert.TargetGroupFromAWS(out.TargetGroups[0]).HealthCheck
			e.written = w.Config.Now()
		}
	})
	return nil
}

// deleteTargetGroup deletes a target group; one that is gone already is a success.
func (w *writer) deleteTargetGroup(ctx context.Context, a plan.DeleteTargetGroup) error {
	if _, err := w.inv.ownedGroup(a.ARN); err != nil {
		if sdk.IsGone(err) {
			return nil
		}
		return err
	}
	_, err := w.API.ELB.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: aws.String(a.ARN)})
	if err != nil && !sdk.IsGone(err) {
		return w.failure("delete target group "+a.ARN, err, time.Time{}, forgetTargetGroups)
	}
	w.inv.write(func() {
		w.inv.groups.drop(a.ARN)
		w.inv.addTombstone(a.ARN, w.Config.Now())
	})
	w.targets.forgetALB(a.ARN)
	w.targets.own().forget(a.ARN)
	return nil
}
