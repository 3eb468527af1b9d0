package observe

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// attributeReader reads attributes, capacity reservations, and the states of load balancers that are being provisioned.
type attributeReader struct {
	*sdk.Client
	inv *inventory.Inventory
}

// lookUpAttributes reads the attributes of a resource into the inventory, unless they are fresh and were not read before the
// time since. It does nothing if the inventory does not contain the resource.
func (r *attributeReader) lookUpAttributes(ctx context.Context, q model.AskAttributes, since time.Time) error {
	if !r.inv.Has(q.ARN) {
		return nil
	}
	fresh := func() bool { return r.IsCurrent(r.inv.AttributesAt(q), since, q.ARN) }
	return sdk.ReadOnce(ctx, r.ReadOptional, q.Key(), fresh, func() error {
		if err := r.readAttributes(ctx, q); err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		return nil
	})
}

func (r *attributeReader) readAttributes(ctx context.Context, q model.AskAttributes) error {
	start := r.Config.Clock.Now()
	got, err := r.describeAttributes(sdk.WithOptional(ctx), q)
	if err == nil {
		r.inv.StoreAttributes(q, got, start)
	}
	return err
}

func (r *attributeReader) describeAttributes(ctx context.Context, q model.AskAttributes) (map[string]string, error) {
	switch plan.ResourceKind(q.Of) {
	case plan.LoadBalancer:
		out, err := r.API.ELB.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return convert.PairsFromAWS(out.Attributes), nil
	case plan.Listener:
		out, err := r.API.ELB.DescribeListenerAttributes(ctx, &elb.DescribeListenerAttributesInput{ListenerArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return convert.PairsFromAWS(out.Attributes), nil
	case plan.TargetGroup:
		out, err := r.API.ELB.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return convert.PairsFromAWS(out.Attributes), nil
	}
	return nil, fmt.Errorf("a %s has no attributes", q.Of)
}

// lookUpCapacity reads the capacity reservation of a load balancer into the inventory, unless it is fresh and was not read
// before the time since. It also reads the state of a load balancer that was last read in state provisioning.
func (r *attributeReader) lookUpCapacity(ctx context.Context, q model.AskCapacity, since time.Time) error {
	if !r.inv.Has(q.ARN) {
		return nil
	}
	provisioning := false
	fresh := func() (ok bool) {
		r.inv.WithReadLock(func() {
			if e := r.inv.LoadBalancers.Get(q.ARN); e != nil {
				ok, provisioning = e.IsCapacityFresh(r.Client, since), e.Seen.State == observed.LoadBalancerProvisioning
			}
		})
		return ok
	}
	return sdk.ReadOnce(ctx, r.ReadOptional, q.Key(), fresh, func() error {
		if err := r.readCapacity(ctx, q.ARN, provisioning); err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		return nil
	})
}

// lookUpState reads the state of a load balancer again if it was "provisioning" or "failed" at the last read. It makes at
// most one read per durations.Recent. If a failed load balancer was deleted, the error has the class Gone, and a later run
// can create another load balancer.
func (r *attributeReader) lookUpState(ctx context.Context, q model.AskState) error {
	fresh := func() (ok bool) {
		r.inv.WithReadLock(func() {
			e := r.inv.LoadBalancers.Get(q.ARN)
			ok = e == nil || e.Seen.State != observed.LoadBalancerProvisioning && e.Seen.State != observed.LoadBalancerFailed || r.IsYounger(e.StateAt, durations.Recent)
		})
		return ok
	}
	return sdk.ReadOnce(ctx, r.ReadOptional, q.Key(), fresh, func() error {
		if err := r.readState(ctx, q.ARN); err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		return nil
	})
}

func (r *attributeReader) readState(ctx context.Context, arn string) error {
	start := r.Config.Clock.Now()
	out, err := r.API.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if err != nil {
		return err
	}
	r.inv.WithWriteLock(func() {
		if e := r.inv.LoadBalancers.Get(arn); e != nil && len(out.LoadBalancers) == 1 {
			e.Seen.State, e.StateAt = convert.LoadBalancerFromAWS(out.LoadBalancers[0]).State, start
		}
	})
	return nil
}

func (r *attributeReader) readCapacity(ctx context.Context, arn string, provisioning bool) error {
	start := r.Config.Clock.Now()
	if provisioning {
		if err := r.readState(ctx, arn); err != nil {
			return err
		}
	}
	out, err := r.API.ELB.DescribeCapacityReservation(sdk.WithOptional(ctx), &elb.DescribeCapacityReservationInput{LoadBalancerArn: aws.String(arn)})
	if err != nil {
		return err
	}
	units := int32(0)
	if m := out.MinimumLoadBalancerCapacity; m != nil {
		units = aws.ToInt32(m.CapacityUnits)
	}
	r.inv.SetCapacity(arn, units, start)
	return nil
}
