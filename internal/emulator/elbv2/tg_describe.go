package elbv2

import (
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// DescribeTargetGroups lists the target groups with the ARNs or names in the request, those that a load balancer uses, or
// all.
func (s *targetGroups) DescribeTargetGroups(c *store.Call, in *elb.DescribeTargetGroupsInput) (*elb.DescribeTargetGroupsOutput, error) {
	st := c.Partition.ELB
	ways := 0
	for _, given := range []bool{in.LoadBalancerArn != nil, len(in.Names) > 0, len(in.TargetGroupArns) > 0} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return nil, validationError(store.UnprovenSource, "Target group names, target group ARNs, and a load balancer ARN cannot be specified at the same time")
	}
	var found []*store.TargetGroup
	switch {
	case in.LoadBalancerArn != nil:
		lb, err := findLoadBalancer(st, in.LoadBalancerArn)
		if err != nil {
			return nil, err
		}
		for _, g := range sortedValues(st.TargetGroups) {
			if g.LoadBalancer == lb.ARN {
				found = append(found, g)
			}
		}
		if len(found) == 0 {
			return nil, targetGroupNotFoundError()
		}
	case len(in.Names) > 0:
		for _, name := range withoutDuplicates(in.Names) {
			if g := targetGroupByName(st, name); g != nil {
				found = append(found, g)
			}
		}
		if len(found) == 0 {
			return nil, targetGroupNotFoundError()
		}
	case len(in.TargetGroupArns) > 0:
		var err error
		if found, err = findAll(st, kindTargetGroup, st.TargetGroups, in.TargetGroupArns); err != nil {
			return nil, err
		}
	default:
		found = sortedValues(st.TargetGroups)
	}
	found, next, err := page(s.store, found, func(g *store.TargetGroup) string { return g.ARN }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeTargetGroupsOutput{NextMarker: next}
	for _, g := range found {
		out.TargetGroups = append(out.TargetGroups, describeTargetGroup(g))
	}
	return out, nil
}

func targetGroupByName(st *store.ELBState, name string) *store.TargetGroup {
	for _, g := range st.TargetGroups {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// ModifyTargetGroup changes the health check settings of a target group. AWS cannot change its other settings.
func (s *targetGroups) ModifyTargetGroup(c *store.Call, in *elb.ModifyTargetGroupInput) (*elb.ModifyTargetGroupOutput, error) {
	check := healthCheckSettings{
		enabled: in.HealthCheckEnabled, protocol: in.HealthCheckProtocol, port: in.HealthCheckPort, path: in.HealthCheckPath,
		interval: in.HealthCheckIntervalSeconds, timeout: in.HealthCheckTimeoutSeconds,
		healthyThreshold: in.HealthyThresholdCount, unhealthyThreshold: in.UnhealthyThresholdCount, matcher: in.Matcher,
	}
	var sh validation
	sh.checkPresent("targetGroupArn", in.TargetGroupArn != nil)
	sh.validateHealthCheck(check)
	if err := sh.err(); err != nil {
		return nil, err
	}
	g, err := findTargetGroup(c.Partition.ELB, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	next, err := mergeHealthCheck(g, g.Check, check)
	if err != nil {
		return nil, err
	}
	g.Check = next
	return &elb.ModifyTargetGroupOutput{TargetGroups: []types.TargetGroup{describeTargetGroupWithoutLoadBalancers(g)}}, nil
}

// DeleteTargetGroup deletes a target group that no listener or rule uses. It also succeeds if no target group has
// the ARN.
func (s *targetGroups) DeleteTargetGroup(c *store.Call, in *elb.DeleteTargetGroupInput) (*elb.DeleteTargetGroupOutput, error) {
	if err := requiredError("targetGroupArn", in.TargetGroupArn != nil); err != nil {
		return nil, err
	}
	st, arn := c.Partition.ELB, *in.TargetGroupArn
	if err := kindTargetGroup.checkARN(st, arn); err != nil {
		return nil, err
	}
	g := st.TargetGroups[arn]
	if g == nil {
		return &elb.DeleteTargetGroupOutput{}, nil
	}
	lingers := !g.Detached.IsZero() && c.Now.Before(g.Detached.Add(s.store.Config.ELB.TargetGroupLinger))
	if g.LoadBalancer != "" || lingers {
		return nil, store.Errorf(store.ReportSource("aws/copilot-cli#2593"), codeInUse, "Target group '%s' is currently in use by a listener or a rule", arn)
	}
	delete(st.TargetGroups, arn)
	return &elb.DeleteTargetGroupOutput{}, nil
}
