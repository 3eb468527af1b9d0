package apply

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/targets"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// albTargetWriter changes the targets of target groups of type alb.
type albTargetWriter struct {
	*dependencies
	targets *targets.Targets
}

// changeALBTargets calls write with the ARN of a target group of type alb, and applies change to the cached targets. After a
// failure it removes the cached targets.
func (w *albTargetWriter) changeALBTargets(known plan.KnownIDs, a plan.Address, what string, write func(group string) error, change func([]observed.Target) []observed.Target) error {
	arn, made, err := w.lookupOwnedID(known, a)
	if err != nil {
		return err
	}
	if err := write(arn); err != nil {
		w.targets.ForgetALBTargets(arn)
		return w.handleFailure(what+" "+arn, err, made, forgetFunc(plan.TargetGroup, arn))
	}
	w.targets.ChangeALBTargets(arn, w.IsYounger(made, durations.SettleWindow), change)
	return nil
}

func (w *albTargetWriter) registerALB(ctx context.Context, a plan.RegisterALB, known plan.KnownIDs) error {
	lb, made := a.ARN, time.Time{}
	if lb == "" {
		var err error
		if lb, made, err = w.lookupOwnedID(known, a.LoadBalancer); err != nil {
			return err
		}
	}
	what := "register the application load balancer in"
	err := w.changeALBTargets(known, a.Group, what, func(group string) error {
		call, err := w.targets.OwnTargetGroups().Admit(ratelimit.RegisterTargets, group, bindings.CallPriority{}, 1)
		if err != nil {
			return err
		}
		defer func() { call.End(targets.IsRetryable(err)) }()
		_, err = w.API.ELB.RegisterTargets(call.WithPermit(ctx), &elb.RegisterTargetsInput{
			TargetGroupArn: aws.String(group), Targets: []elbtypes.TargetDescription{{Id: aws.String(lb), Port: aws.Int32(a.Port)}},
		})
		return err
	}, func(have []observed.Target) []observed.Target {
		return append(have, observed.Target{ID: lb, Port: a.Port})
	})
	if sdk.Code(err) == "InvalidTarget" && (a.ARN != "" || w.IsYounger(made, durations.JustCreatedAge)) {
		// AWS refuses a load balancer in state provisioning.
		return sdk.Wrap(failure.NotReady, "the load balancer is being created", err)
	}
	return err
}

// deregisterALB deregisters a load balancer from a target group of type alb. It succeeds if the target group does not exist
// any more.
func (w *albTargetWriter) deregisterALB(ctx context.Context, a plan.DeregisterALB, known plan.KnownIDs) error {
	err := w.changeALBTargets(known, a.Group, "deregister the application load balancer from", func(group string) error {
		call, err := w.targets.OwnTargetGroups().Admit(ratelimit.DeregisterTargets, group, bindings.CallPriority{}, 1)
		if err != nil {
			return err
		}
		defer func() { call.End(targets.IsRetryable(err)) }()
		_, err = w.API.ELB.DeregisterTargets(call.WithPermit(ctx), &elb.DeregisterTargetsInput{
			TargetGroupArn: aws.String(group), Targets: []elbtypes.TargetDescription{{Id: aws.String(a.ARN), Port: aws.Int32(a.Port)}},
		})
		return err
	}, func(have []observed.Target) []observed.Target {
		return slices.DeleteFunc(have, func(t observed.Target) bool { return t.ID == a.ARN && t.Port == a.Port })
	})
	return sdk.IgnoreGone(err)
}
