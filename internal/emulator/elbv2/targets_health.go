package elbv2

import (
	"slices"
	"strconv"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// DescribeTargetHealth returns the health of the targets in the request, or of all targets of the target group.
func (s *targetGroups) DescribeTargetHealth(c *store.Call, in *elb.DescribeTargetHealthInput) (*elb.DescribeTargetHealthOutput, error) {
	var sh validation
	sh.checkPresent("targetGroupArn", in.TargetGroupArn != nil)
	for _, i := range in.Include {
		checkEnum(&sh, "include", i, i.Values())
	}
	sh.validateTargets(in.Targets)
	if err := sh.err(); err != nil {
		return nil, err
	}
	p := c.Partition
	g, err := findTargetGroup(p.ELB, in.TargetGroupArn)
	if err != nil {
		return nil, err
	}
	p.RemoveDrainedTargets(g, c.Now)
	anomaly := slices.Contains(in.Include, types.DescribeTargetHealthInputIncludeEnumAnomaly) ||
		slices.Contains(in.Include, types.DescribeTargetHealthInputIncludeEnumAll)
	out := &elb.DescribeTargetHealthOutput{}
	if len(in.Targets) == 0 {
		for _, t := range g.Targets {
			if t.Terminated {
				continue // AWS returns it only if the request contains it
			}
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, s.describeHealth(c, p, g, t, anomaly))
		}
		store.Shuffle(s.store, out.TargetHealthDescriptions)
		return out, nil
	}
	for _, d := range in.Targets {
		id, port := targetKey(g, d)
		if t := g.Target(id, port); t != nil {
			out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, s.describeHealth(c, p, g, t, anomaly))
			continue
		}
		target := &types.TargetDescription{Id: d.Id}
		if port != 0 {
			target.Port = new(port)
		}
		out.TargetHealthDescriptions = append(out.TargetHealthDescriptions, types.TargetHealthDescription{
			Target: target, HealthCheckPort: healthCheckPort(g, port),
			TargetHealth: &types.TargetHealth{
				State: types.TargetHealthStateEnumUnused, Reason: types.TargetHealthReasonEnumNotRegistered,
				Description: new("Target is not registered to the target group"),
			},
		})
	}
	return out, nil
}

// describeHealth returns the health of a target in the form in which DescribeTargetHealth returns it. If anomaly is set, it
// includes the result of anomaly detection.
func (s *targetGroups) describeHealth(c *store.Call, p *store.Partition, g *store.TargetGroup, t *store.Target, anomaly bool) types.TargetHealthDescription {
	v := p.TargetHealth(g, t, c.Now)
	out := types.TargetHealthDescription{
		Target:          &types.TargetDescription{Id: new(t.ID), QuicServerId: store.StringOrNil(t.QUICServerID)},
		HealthCheckPort: healthCheckPort(g, t.Port),
		TargetHealth:    &types.TargetHealth{State: v.State, Reason: v.Reason, Description: store.StringOrNil(v.Description)},
	}
	if t.Port != 0 {
		out.Target.Port = new(t.Port)
	}
	if g.Type == types.TargetTypeEnumIp {
		out.Target.AvailabilityZone = store.StringOrNil(t.Zone)
	}
	lb := p.ELB.LoadBalancers[g.LoadBalancer]
	if lb != nil && lb.Attributes[attrZonalShift] == "true" {
		out.AdministrativeOverride = &types.AdministrativeOverride{
			State: types.TargetAdministrativeOverrideStateEnumNoOverride, Reason: types.TargetAdministrativeOverrideReasonEnumNoOverrideEngaged,
			Description: new("No override is currently active on target"),
		}
	}
	if anomaly && lb != nil && isHTTP(g.Protocol) {
		out.AnomalyDetection = &types.AnomalyDetection{Result: types.AnomalyResultEnumNormal, MitigationInEffect: types.MitigationInEffectEnumNo}
	}
	return out
}

// healthCheckPort returns the health check port of a target with a port, which need not be registered. It returns nil for a
// Lambda function, which has no port.
func healthCheckPort(g *store.TargetGroup, port int32) *string {
	switch {
	case g.Check.Port != trafficPort:
		return store.StringOrNil(g.Check.Port)
	case port != 0:
		return new(strconv.Itoa(int(port)))
	}
	return nil
}
