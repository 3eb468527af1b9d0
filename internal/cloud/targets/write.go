package targets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// zoneRequiredMessage is a part of the message with which AWS refuses a target outside the VPC that has no availability
// zone. AWS has no separate error code for this refusal.
const zoneRequiredMessage = "you must specify an Availability Zone"

// Register implements bindings.TargetGroups.
func (t TargetGroups) Register(ctx context.Context, arn string, priority bindings.CallPriority, targets []bindings.Target) (err error) {
	api, err := t.api(ctx)
	if err != nil {
		return err
	}
	call, err := t.Admit(ratelimit.RegisterTargets, arn, priority, len(targets))
	if err != nil {
		return err
	}
	defer func() { call.End(IsRetryable(err)) }()
	in := &elb.RegisterTargetsInput{TargetGroupArn: aws.String(arn)}
	for _, n := range targets {
		in.Targets = append(in.Targets, elbtypes.TargetDescription{
			Id: aws.String(n.ID), Port: convert.NilIfZero(n.Port), AvailabilityZone: convert.NilIfEmpty(n.Zone), QuicServerId: convert.NilIfEmpty(n.ServerID),
		})
	}
	if _, err = api.RegisterTargets(call.WithPermit(ctx), in); err != nil {
		if sdk.Code(err) == "ValidationError" && strings.Contains(err.Error(), zoneRequiredMessage) {
			err = errors.Join(bindings.ErrZoneNeeded, err)
		}
		return t.forgetAfterFailure(arn, err)
	}
	var registered []*observed.Target
	for _, add := range targets {
		registered = append(registered, &observed.Target{
			ID: add.ID, Port: add.Port, Zone: add.Zone, ServerID: add.ServerID,
			State: string(elbtypes.TargetHealthStateEnumInitial), Reason: string(elbtypes.TargetHealthReasonEnumRegistrationInProgress),
		})
	}
	t.recordOwnWrite(arn, registered)
	return nil
}

// Deregister implements bindings.TargetGroups.
func (t TargetGroups) Deregister(ctx context.Context, arn string, priority bindings.CallPriority, targets []*observed.Target) (err error) {
	api, err := t.api(ctx)
	if err != nil {
		return err
	}
	call, err := t.Admit(ratelimit.DeregisterTargets, arn, priority, len(targets))
	if err != nil {
		return err
	}
	defer func() { call.End(IsRetryable(err)) }()
	in := &elb.DeregisterTargetsInput{TargetGroupArn: aws.String(arn)}
	for _, o := range targets {
		in.Targets = append(in.Targets, elbtypes.TargetDescription{
			Id: aws.String(o.ID), Port: convert.NilIfZero(o.Port), AvailabilityZone: convert.NilIfEmpty(o.Zone), QuicServerId: convert.NilIfEmpty(o.ServerID),
		})
	}
	if _, err = api.DeregisterTargets(call.WithPermit(ctx), in); err != nil {
		return t.forgetAfterFailure(arn, fmt.Errorf("deregister targets of %s: %w", arn, err))
	}
	var leaving []*observed.Target
	for _, o := range targets {
		n := *o
		n.State, n.Reason = string(elbtypes.TargetHealthStateEnumDraining), string(elbtypes.TargetHealthReasonEnumDeregistrationInProgress)
		n.Description = ""
		leaving = append(leaving, &n)
	}
	t.recordOwnWrite(arn, leaving)
	return nil
}

// forgetAfterFailure removes a target group from the caches if err shows that the cached state is outdated, or that targets
// may have changed. It returns err.
func (t TargetGroups) forgetAfterFailure(arn string, err error) error {
	class := sdk.ClassOf(err)
	if sdk.MayHaveTakenEffect(err) || class == failure.Gone || class == failure.Conflict || class == failure.Invalid {
		t.Forget(arn)
	}
	return err
}

// RecordNewTargetGroup records that this process has just created a target group, which has no targets. The first registration
// then needs no read. at is when the creation began.
func (t *Targets) RecordNewTargetGroup(arn string, at time.Time) {
	key := t.OwnTargetGroups().key(arn)
	t.WithLock(func() {
		if _, known := t.health[key]; !known {
			t.health[key] = observed.Health{ReadAt: at}
		}
	})
}

func compareTargets(a, b *observed.Target) int {
	if n := strings.Compare(a.ID, b.ID); n != 0 {
		return n
	}
	return int(a.Port) - int(b.Port)
}
