package cloud

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

type albTargetsEntry struct {
	targets []observed.Target
	at      time.Time
}

// askALBTargets reads which load balancers are the targets of a target group of type alb. No other client
// registers targets there, so the answer is kept for as long as other readings.
func (t *targets) askALBTargets(ctx context.Context, q model.AskALBTargets, since time.Time) ([]observed.Target, error) {
	if !t.inv.knows(q.ARN) {
		return nil, nil
	}
	at := func() (at time.Time) {
		t.With(func() { at = t.albTargets[q.ARN].at })
		return at
	}
	err := t.Once(ctx, q.Key(), q.ARN, since, at, func() error {
		start := t.Config.Now()
		out, err := sdk.Brief(ctx, func(ctx context.Context) (*elb.DescribeTargetHealthOutput, error) {
			return t.API.ELB.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String(q.ARN)})
		})
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
		t.With(func() { t.albTargets[q.ARN] = albTargetsEntry{targets, start} })
		return nil
	})
	var out []observed.Target
	t.With(func() { out = t.albTargets[q.ARN].targets })
	return out, err
}

// changeALB lays an own write over the remembered targets of a target group of type alb. Made reports
// whether the group was made from here a moment ago.
func (t *targets) changeALB(arn string, made bool, next func([]observed.Target) []observed.Target) {
	t.With(func() {
		e, ok := t.albTargets[arn]
		if !ok && !made {
			return
		}
		if !ok {
			e.at = t.Config.Now() // nothing else is in it
		}
		t.albTargets[arn] = albTargetsEntry{next(slices.Clone(e.targets)), e.at}
	})
}

// forgetALB forgets the targets of a target group of type alb.
func (t *targets) forgetALB(arn string) { t.With(func() { delete(t.albTargets, arn) }) }

// changeALBTargets runs a write on the targets of a target group of type alb.
func (w *writer) changeALBTargets(known plan.Known, a plan.Address, what string, write func(group string) error, next func([]observed.Target) []observed.Target) error {
	arn, err := lookup(known, a)
	if err != nil {
		return err
	}
	owned, err := w.inv.ownedGroup(arn)
	if err != nil {
		return err
	}
	if err := write(arn); err != nil {
		w.targets.forgetALB(arn)
		return w.failure(what+" "+arn, err, owned.made, forgetTargetGroups)
	}
	w.targets.changeALB(arn, w.Younger(owned.made, cache.SettleWindow), next)
	return nil
}

func (w *writer) registerALB(ctx context.Context, a plan.RegisterALB, known plan.Known) error {
	lb, made := a.ARN, time.Time{}
	if lb == "" {
		found, err := lookup(known, a.LoadBalancer)
		if err != nil {
			return err
		}
		owned, err := w.inv.ownedLoadBalancer(found)
		if err != nil {
			return err
		}
		lb, made = found, owned.made
	}
	what := "register the application load balancer in"
	err := w.changeALBTargets(known, a.Group, what, func(group string) error {
		call, err := w.targets.own().admit(ratelimit.RegisterTargets, group, bindings.Turn{}, 1)
		if err != nil {
			return err
		}
		defer func() { call.End(sentAgain(err)) }()
		_, err = w.API.ELB.RegisterTargets(call.With(ctx), &elb.RegisterTargetsInput{
			TargetGroupArn: aws.String(group), Targets: []elbtypes.TargetDescription{{Id: aws.String(lb), Port: aws.Int32(a.Port)}},
		})
		return err
	}, func(have []observed.Target) []observed.Target {
		return append(have, observed.Target{ID: lb, Port: a.Port})
	})
	if sdk.Code(err) == "InvalidTarget" && (a.ARN != "" || w.Younger(made, newLoadBalancer)) {
		// A load balancer that is being made is not accepted yet.
		return sdk.Wrap(engine.NotReady, what, err)
	}
	return err
}

// deregisterALB takes a load balancer out; a group that is gone is a success.
func (w *writer) deregisterALB(ctx context.Context, a plan.DeregisterALB, known plan.Known) error {
	err := w.changeALBTargets(known, a.Group, "deregister the application load balancer from", func(group string) error {
		call, err := w.targets.own().admit(ratelimit.DeregisterTargets, group, bindings.Turn{}, 1)
		if err != nil {
			return err
		}
		defer func() { call.End(sentAgain(err)) }()
		_, err = w.API.ELB.DeregisterTargets(call.With(ctx), &elb.DeregisterTargetsInput{
			TargetGroupArn: aws.String(group), Targets: []elbtypes.TargetDescription{{Id: aws.String(a.ARN), Port: aws.Int32(a.Port)}},
		})
		return err
	}, func(have []observed.Target) []observed.Target {
		return slices.DeleteFunc(have, func(t observed.Target) bool { return t.ID == a.ARN && t.Port == a.Port })
	})
	if sdk.IsGone(err) {
		return nil
	}
	return err
}
