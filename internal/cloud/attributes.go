package cloud

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// askAttributes reads the attributes of a resource, which is done only where a plan wants them.
func (r *reader) askAttributes(ctx context.Context, q model.AskAttributes, since time.Time) error {
	if !r.inv.knows(q.ARN) {
		return nil
	}
	return r.Once(ctx, q.Key(), q.ARN, since, func() time.Time { return r.inv.attributesAt(q) }, func() error {
		start := r.Config.Now()
		got, err := sdk.Brief(ctx, func(ctx context.Context) (map[string]string, error) { return r.describeAttributes(ctx, q) })
		if err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		noteAttributes(r.inv, q, got, start)
		r.inv.setAttributes(q, got, start)
		return nil
	})
}

func (r *reader) describeAttributes(ctx context.Context, q model.AskAttributes) (map[string]string, error) {
	switch plan.ResourceKind(q.Of) {
	case plan.LoadBalancer:
		out, err := r.API.ELB.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return lbAttributes(out.Attributes), nil
	case plan.Listener:
		out, err := r.API.ELB.DescribeListenerAttributes(ctx, &elb.DescribeListenerAttributesInput{ListenerArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return listenerAttributes(out.Attributes), nil
	case plan.TargetGroup:
		out, err := r.API.ELB.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return groupAttributes(out.Attributes), nil
	}
	return nil, fmt.Errorf("a %s has no attributes", q.Of)
}

// attributesAt is when the attributes were read.
func (v *inventory) attributesAt(q model.AskAttributes) (at time.Time) {
	v.read(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := v.lbs.get(q.ARN); e != nil {
				at = e.attributesAt
			}
		case plan.Listener:
			if _, le := v.listener(q.ARN); le != nil {
				at = le.attributesAt
			}
		case plan.TargetGroup:
			if e := v.groups.get(q.ARN); e != nil {
				at = e.attributesAt
			}
		}
	})
	return at
}

// setAttributes enters all attributes of a resource.
func (v *inventory) setAttributes(q model.AskAttributes, got map[string]string, at time.Time) {
	v.write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := v.lbs.get(q.ARN); e != nil {
				e.lb.Attributes, e.attributesAt = got, at
			}
		case plan.Listener:
			if _, le := v.listener(q.ARN); le != nil {
				le.l.Attributes, le.attributesAt = got, at
			}
		case plan.TargetGroup:
			if e := v.groups.get(q.ARN); e != nil {
				e.g.Attributes, e.attributesAt = got, at
			}
		}
	})
}

// forgetAttributes makes the next plan ask for the attributes again.
func (v *inventory) forgetAttributes(q model.AskAttributes) { v.setAttributes(q, nil, time.Time{}) }

// forgetResource makes the next look read whether a resource is still there.
func (v *inventory) forgetResource(q model.AskAttributes) {
	v.write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			v.lbsAt = time.Time{}
		case plan.Listener:
			if e, _ := v.listener(q.ARN); e != nil {
				e.detailAt = time.Time{}
			}
		case plan.TargetGroup:
			v.groupsAt = time.Time{}
		}
	})
}

// provisioningFor is how long the capacity and the state of a load balancer that is being made are
// taken as read.
const provisioningFor = 10 * time.Second

// capacityCurrent reports whether the capacity may be compared with what was read since a time.
func (e *lbEntry) capacityCurrent(c *sdk.Client, since time.Time) bool {
	if e.lb.State == observed.Provisioning {
		return c.Younger(e.capacityAt, provisioningFor)
	}
	return c.Current(e.capacityAt, since, e.lb.ARN)
}

// askCapacity reads a capacity reservation; 0 stands for none. Of a load balancer that was being
// made it reads as well whether it still is.
func (r *reader) askCapacity(ctx context.Context, q model.AskCapacity, since time.Time) error {
	if !r.inv.knows(q.ARN) {
		return nil
	}
	known := func() (fresh, provisioning bool) {
		r.inv.read(func() {
			if e := r.inv.lbs.get(q.ARN); e != nil {
				fresh, provisioning = e.capacityCurrent(r.Client, since), e.lb.State == observed.Provisioning
			}
		})
		return fresh, provisioning
	}
	if fresh, _ := known(); fresh {
		return nil
	}
	return r.Optional(ctx, q.Key(), func() error {
		fresh, provisioning := known()
		if fresh {
			return nil
		}
		if err := r.readCapacity(ctx, q.ARN, provisioning); err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		return nil
	})
}

// askState reads whether a load balancer that was being made still is.
func (r *reader) askState(ctx context.Context, q model.AskState) error {
	provisioning := func() (is bool) {
		r.inv.read(func() {
			e := r.inv.lbs.get(q.ARN)
			is = e != nil && e.lb.State == observed.Provisioning && !r.Younger(e.stateAt, provisioningFor)
		})
		return is
	}
	if !provisioning() {
		return nil
	}
	return r.Optional(ctx, q.Key(), func() error {
		if !provisioning() {
			return nil
		}
		if err := r.readState(ctx, q.ARN); err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		return nil
	})
}

func (r *reader) readState(ctx context.Context, arn string) error {
	start := r.Config.Now()
	out, err := r.API.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
	if err != nil {
		return err
	}
	r.inv.write(func() {
		if e := r.inv.lbs.get(arn); e != nil && len(out.LoadBalancers) == 1 {
			e.lb.State, e.stateAt = convert.LoadBalancerFromAWS(out.LoadBalancers[0]).State, start
		}
	})
	return nil
}

func (r *reader) readCapacity(ctx context.Context, arn string, provisioning bool) error {
	start := r.Config.Now()
	if provisioning {
		if err := r.readState(ctx, arn); err != nil {
			return err
		}
	}
	out, err := sdk.Brief(ctx, func(ctx context.Context) (*elb.DescribeCapacityReservationOutput, error) {
		return r.API.ELB.DescribeCapacityReservation(ctx, &elb.DescribeCapacityReservationInput{LoadBalancerArn: aws.String(arn)})
	})
	if err != nil {
		return err
	}
	r.inv.write(func() {
		if e := r.inv.lbs.get(arn); e != nil {
			r.inv.foreign.capacity(e, unitsOf(out.MinimumLoadBalancerCapacity), start)
		}
	})
	r.inv.setCapacity(arn, out.MinimumLoadBalancerCapacity, start)
	return nil
}

func unitsOf(m *elbtypes.MinimumLoadBalancerCapacity) int32 {
	if m == nil {
		return 0
	}
	return aws.ToInt32(m.CapacityUnits)
}

func (v *inventory) setCapacity(arn string, m *elbtypes.MinimumLoadBalancerCapacity, at time.Time) {
	units := unitsOf(m)
	v.write(func() {
		if e := v.lbs.get(arn); e != nil {
			e.lb.Capacity, e.capacityAt = &units, at
		}
	})
}

func lbAttributes(as []elbtypes.LoadBalancerAttribute) map[string]string {
	out := make(map[string]string, len(as))
	for _, a := range as {
		out[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return out
}

func listenerAttributes(as []elbtypes.ListenerAttribute) map[string]string {
	out := make(map[string]string, len(as))
	for _, a := range as {
		out[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return out
}

func groupAttributes(as []elbtypes.TargetGroupAttribute) map[string]string {
	out := make(map[string]string, len(as))
	for _, a := range as {
		out[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return out
}
