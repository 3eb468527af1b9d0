package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/targets"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// targetGroupWriter creates, changes and deletes target groups.
type targetGroupWriter struct {
	*dependencies
	reader  *observe.Reader
	targets *targets.Targets
}

func (w *targetGroupWriter) createTargetGroup(ctx context.Context, id model.StackID, a plan.CreateTargetGroup) (plan.StepResult, error) {
	g, h := a.Group, a.Group.HealthCheck
	in := &elb.CreateTargetGroupInput{
		Name: aws.String(g.Name), TargetType: elbtypes.TargetTypeEnum(g.Type), Port: aws.Int32(g.Port),
		Protocol: elbtypes.ProtocolEnum(g.Protocol), ProtocolVersion: convert.NilIfEmpty(g.ProtocolVersion), VpcId: aws.String(w.VPC),
		TargetControlPort: g.ControlPort, Tags: convert.TagsToAWS(a.Tags),
		HealthCheckEnabled: aws.Bool(true), HealthCheckPort: convert.NilIfEmpty(h.Port), HealthCheckProtocol: elbtypes.ProtocolEnum(h.Protocol),
		HealthCheckPath: convert.NilIfEmpty(h.Path), HealthCheckIntervalSeconds: convert.NilIfZero(h.IntervalSeconds),
		HealthCheckTimeoutSeconds: convert.NilIfZero(h.TimeoutSeconds), HealthyThresholdCount: convert.NilIfZero(h.HealthyThreshold),
		UnhealthyThresholdCount: convert.NilIfZero(h.UnhealthyThreshold), Matcher: convert.MatcherToAWS(h),
	}
	if g.AddressType != "" && g.AddressType != model.IPv4 {
		in.IpAddressType = elbtypes.TargetGroupIpAddressTypeEnum(g.AddressType)
	}
	what := "create target group " + g.Name
	start := w.Config.Clock.Now()
	// checkTargetGroup needs a list that was read within the settle window. The creations of all target groups in this
	// window use the same list.
	if err := w.reader.RefreshTargetGroups(ctx, start.Add(-durations.SettleWindow)); err != nil {
		return plan.StepResult{}, fmt.Errorf("%s: list target groups: %w", what, err)
	}
	out, err := w.API.ELB.CreateTargetGroup(ctx, in)
	if sdk.Code(err) == "DuplicateTargetGroupName" {
		return plan.StepResult{}, w.handleTargetGroupNameConflict(ctx, id, g.Name, what)
	}
	if err != nil {
		return plan.StepResult{}, w.handleFailure(what, err, time.Time{}, forgetFunc(plan.TargetGroup, ""))
	}
	if len(out.TargetGroups) != 1 {
		return plan.StepResult{}, sdk.NewError(failure.Unknown, what, "AWS returned %d target groups", len(out.TargetGroups))
	}
	made := convert.TargetGroupFromAWS(out.TargetGroups[0])
	seen, err := w.checkTargetGroup(ctx, id, made.ARN, what)
	if err != nil {
		return plan.StepResult{}, err
	}
	if !seen {
		w.targets.RecordNewTargetGroup(made.ARN, start)
	}
	now := w.Config.Clock.Now()
	made.Tags = a.Tags
	w.inv.WithWriteLock(func() {
		e := w.inv.TargetGroups.Get(made.ARN)
		switch {
		case e == nil:
			w.inv.SetAccount(made.ARN)
			w.inv.TargetGroups.Put(made.ARN, &inventory.TargetGroup{Seen: made, VPC: w.VPC, ReadAt: now, TagsAt: now, MadeAt: now, WrittenAt: now})
		case e.Seen.Tags == nil: // the target group existed before the call, and the answer of AWS does not contain its load balancers
			w.inv.TargetGroups.Edit(made.ARN, func(e *inventory.TargetGroup) { e.Seen.Tags, e.TagsAt, e.WrittenAt = a.Tags, now, now })
		}
	})
	return plan.StepResult{ID: made.ARN}, nil
}

// checkTargetGroup returns an error if a target group existed before the call and does not belong to the stack: AWS returns
// an existing target group if it has the same name and settings. The answer of AWS does not show whether the target group is
// new, so checkTargetGroup uses the recent list and the tags. seen reports whether the target group existed before.
func (w *targetGroupWriter) checkTargetGroup(ctx context.Context, id model.StackID, arn, what string) (seen bool, err error) {
	known, seen := w.inv.Resource(plan.TargetGroup, arn)
	if !seen {
		return false, nil
	}
	tags := known.Tags
	if tags == nil {
		got, err := observe.DescribeTags(ctx, w.Client, []string{arn})
		if err != nil {
			w.inv.WithWriteLock(func() { w.inv.Forget(plan.TargetGroup, arn) })
			return seen, err
		}
		tags = got[arn]
	}
	if !naming.HasAllTags(tags, naming.StackTags(w.Config.Cluster, id)) {
		return seen, nameTakenError(what, "a target group of this name exists and belongs to %w", ownerError(tags, id))
	}
	return seen, nil
}

// handleTargetGroupNameConflict returns an error that names the owner of the target group with the given name, as
// handleNameConflict does.
func (w *targetGroupWriter) handleTargetGroupNameConflict(ctx context.Context, id model.StackID, name, what string) error {
	out, err := w.API.ELB.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil {
		return w.handleFailure(what, err, time.Time{}, forgetFunc(plan.TargetGroup, ""))
	}
	if len(out.TargetGroups) != 1 {
		return sdk.NewError(failure.Conflict, what, "a resource with this name existed during the call, but was not found afterwards")
	}
	return w.handleNameConflict(ctx, id, plan.TargetGroup, aws.ToString(out.TargetGroups[0].TargetGroupArn), what, "a target group of this name exists with other settings and belongs to %w")
}

func (w *targetGroupWriter) setHealthCheck(ctx context.Context, a plan.SetHealthCheck, known plan.KnownIDs) error {
	arn, made, err := w.lookupOwnedID(known, a.Group)
	if err != nil {
		return err
	}
	h := a.Check
	out, err := w.API.ELB.ModifyTargetGroup(ctx, &elb.ModifyTargetGroupInput{
		TargetGroupArn: aws.String(arn), HealthCheckPort: convert.NilIfEmpty(h.Port), HealthCheckProtocol: elbtypes.ProtocolEnum(h.Protocol),
		HealthCheckPath: convert.NilIfEmpty(h.Path), HealthCheckIntervalSeconds: convert.NilIfZero(h.IntervalSeconds),
		HealthCheckTimeoutSeconds: convert.NilIfZero(h.TimeoutSeconds), HealthyThresholdCount: convert.NilIfZero(h.HealthyThreshold),
		UnhealthyThresholdCount: convert.NilIfZero(h.UnhealthyThreshold), Matcher: convert.MatcherToAWS(h),
	})
	if err != nil {
		return w.handleFailure("set the health check of "+arn, err, made, forgetFunc(plan.TargetGroup, arn))
	}
	w.inv.WithWriteLock(func() {
		if e := w.inv.TargetGroups.Get(arn); e != nil && len(out.TargetGroups) == 1 {
			e.Seen.HealthCheck = convert.TargetGroupFromAWS(out.TargetGroups[0]).HealthCheck
			e.WrittenAt = w.Config.Clock.Now()
		}
	})
	return nil
}

func (w *targetGroupWriter) deleteTargetGroup(ctx context.Context, a plan.DeleteTargetGroup) error {
	err := w.deleteOwned(plan.TargetGroup, a.ARN, func() error {
		_, err := w.API.ELB.DeleteTargetGroup(ctx, &elb.DeleteTargetGroupInput{TargetGroupArn: aws.String(a.ARN)})
		return err
	}, func() {
		w.inv.TargetGroups.Drop(a.ARN)
		w.inv.AddTombstone(a.ARN, w.Config.Clock.Now())
	})
	if err == nil {
		w.targets.ForgetALBTargets(a.ARN)
		w.targets.OwnTargetGroups().Forget(a.ARN)
	}
	return err
}
