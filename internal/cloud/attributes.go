package cloud

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// askAttributes reads the attributes of a resource, which is done only where a plan wants them.
func (c *Cloud) askAttributes(ctx context.Context, q model.AskAttributes, since time.Time) error {
	if !c.knows(q.ARN) {
		return nil
	}
	return c.once(ctx, q.Key(), q.ARN, since, func() time.Time { return c.attributesAt(q) }, func() error {
		start := c.cfg.Now()
		got, err := brief(ctx, func(ctx context.Context) (map[string]string, error) { return c.describeAttributes(ctx, q) })
		if err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		c.setAttributes(q, got, start)
		return nil
	})
}

func (c *Cloud) describeAttributes(ctx context.Context, q model.AskAttributes) (map[string]string, error) {
	switch plan.ResourceKind(q.Of) {
	case plan.LoadBalancer:
		out, err := c.api.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return lbAttributes(out.Attributes), nil
	case plan.Listener:
		out, err := c.api.elb.DescribeListenerAttributes(ctx, &elb.DescribeListenerAttributesInput{ListenerArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return listenerAttributes(out.Attributes), nil
	case plan.TargetGroup:
		out, err := c.api.elb.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(q.ARN)})
		if err != nil {
			return nil, err
		}
		return groupAttributes(out.Attributes), nil
	}
	return nil, fmt.Errorf("a %s has no attributes", q.Of)
}

// attributesAt is when the attributes were read.
func (c *Cloud) attributesAt(q model.AskAttributes) (at time.Time) {
	c.inv.read(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := c.inv.lbs.get(q.ARN); e != nil {
				at = e.attributesAt
			}
		case plan.Listener:
			if _, le := c.inv.listener(q.ARN); le != nil {
				at = le.attributesAt
			}
		case plan.TargetGroup:
			if e := c.inv.groups.get(q.ARN); e != nil {
				at = e.attributesAt
			}
		}
	})
	return at
}

// setAttributes enters all attributes of a resource.
func (c *Cloud) setAttributes(q model.AskAttributes, got map[string]string, at time.Time) {
	c.inv.write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			if e := c.inv.lbs.get(q.ARN); e != nil {
				e.lb.Attributes, e.attributesAt = got, at
			}
		case plan.Listener:
			if _, le := c.inv.listener(q.ARN); le != nil {
				le.l.Attributes, le.attributesAt = got, at
			}
		case plan.TargetGroup:
			if e := c.inv.groups.get(q.ARN); e != nil {
				e.g.Attributes, e.attributesAt = got, at
			}
		}
	})
}

// forgetAttributes makes the next plan ask for the attributes again.
func (c *Cloud) forgetAttributes(q model.AskAttributes) { c.setAttributes(q, nil, time.Time{}) }

// forgetResource makes the next look read whether a resource is still there.
func (c *Cloud) forgetResource(q model.AskAttributes) {
	c.inv.write(func() {
		switch plan.ResourceKind(q.Of) {
		case plan.LoadBalancer:
			c.inv.lbsAt = time.Time{}
		case plan.Listener:
			if e, _ := c.inv.listener(q.ARN); e != nil {
				e.detailAt = time.Time{}
			}
		case plan.TargetGroup:
			c.inv.groupsAt = time.Time{}
		}
	})
}

// provisioningFor is how long the capacity and the state of a load balancer that is being made are
// taken as read.
const provisioningFor = 10 * time.Second

func (c *Cloud) capacityCurrent(e *lbEntry, since time.Time) bool {
	if e.lb.State == observed.Provisioning {
		return c.younger(e.capacityAt, provisioningFor)
	}
	return c.current(e.capacityAt, since, e.lb.ARN)
}

// askCapacity reads a capacity reservation; 0 stands for none. Of a load balancer that was being
// made it reads as well whether it still is.
func (c *Cloud) askCapacity(ctx context.Context, q model.AskCapacity, since time.Time) error {
	if !c.knows(q.ARN) {
		return nil
	}
	known := func() (fresh, provisioning bool) {
		c.inv.read(func() {
			if e := c.inv.lbs.get(q.ARN); e != nil {
				fresh, provisioning = c.capacityCurrent(e, since), e.lb.State == observed.Provisioning
			}
		})
		return fresh, provisioning
	}
	if fresh, _ := known(); fresh {
		return nil
	}
	return c.optional(ctx, q.Key(), func() error {
		fresh, provisioning := known()
		if fresh {
			return nil
		}
		if err := c.readCapacity(ctx, q.ARN, provisioning); err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		return nil
	})
}

func (c *Cloud) readCapacity(ctx context.Context, arn string, provisioning bool) error {
	start := c.cfg.Now()
	if provisioning {
		out, err := c.api.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}})
		if err != nil {
			return err
		}
		c.inv.write(func() {
			if e := c.inv.lbs.get(arn); e != nil && len(out.LoadBalancers) == 1 {
				e.lb.State = loadBalancerFromAWS(out.LoadBalancers[0]).State
			}
		})
	}
	out, err := brief(ctx, func(ctx context.Context) (*elb.DescribeCapacityReservationOutput, error) {
		return c.api.elb.DescribeCapacityReservation(ctx, &elb.DescribeCapacityReservationInput{LoadBalancerArn: aws.String(arn)})
	})
	if err != nil {
		return err
	}
	c.setCapacity(arn, out.MinimumLoadBalancerCapacity, start)
	return nil
}

func (c *Cloud) setCapacity(arn string, m *elbtypes.MinimumLoadBalancerCapacity, at time.Time) {
	units := int32(0)
	if m != nil {
		units = aws.ToInt32(m.CapacityUnits)
	}
	c.inv.write(func() {
		if e := c.inv.lbs.get(arn); e != nil {
			e.lb.Capacity, e.capacityAt = &units, at
		}
	})
}

// once reads something of the resource with the id unless it was read since a time and is fresh, shared
// among those who ask at the same time.
func (c *Cloud) once(ctx context.Context, key, id string, since time.Time, at func() time.Time, read func() error) error {
	if c.current(at(), since, id) {
		return nil
	}
	return c.optional(ctx, key, func() error {
		if c.current(at(), since, id) {
			return nil
		}
		return read()
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
