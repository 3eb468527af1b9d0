package elbv2

import (
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// DeleteLoadBalancer deletes a load balancer with its listeners, rules and web ACL associations, but not its target groups.
// It also succeeds if no load balancer has the ARN. The ENIs are deleted after the delay Config.Delays.InterfaceLinger.
func (s *loadBalancers) DeleteLoadBalancer(c *store.Call, in *elb.DeleteLoadBalancerInput) (*elb.DeleteLoadBalancerOutput, error) {
	if err := requiredError("loadBalancerArn", in.LoadBalancerArn != nil); err != nil {
		return nil, err
	}
	arn := *in.LoadBalancerArn
	p, st := c.Partition, c.Partition.ELB
	if err := kindLoadBalancer.checkARN(st, arn); err != nil {
		return nil, err
	}
	lb := st.LoadBalancers[arn]
	if lb == nil {
		return &elb.DeleteLoadBalancerOutput{}, nil
	}
	if lb.Attributes[attrDeletionProtection] == "true" {
		return nil, store.Errorf(store.ReportSource("rebuy-de/aws-nuke#1240"), codeNotPermitted, "Load balancer '%s' cannot be deleted because deletion protection is enabled", arn)
	}
	for _, g := range st.TargetGroups {
		p.RemoveDrainedTargets(g, c.Now)
		for _, t := range g.Targets {
			if t.ID == arn && !t.IsDraining() {
				return nil, store.Errorf(store.UnprovenSource, codeInUse, "Load balancer '%s' cannot be deleted because it is currently registered as a target", arn)
			}
		}
	}
	for _, l := range listenersOf(st, arn) {
		removeListener(st, l)
	}
	st.UpdateTargetGroupUse(arn, c.Now)
	for _, z := range lb.Zones {
		p.DeleteServiceENI(z.ENI, s.store.Config.Delays.InterfaceLinger)
	}
	delete(st.LoadBalancers, arn)
	delete(p.WAFv2.Associations, arn)
	delete(p.WAFv2.Changes, arn)
	delete(p.WAFRegional.Associations, arn)
	return &elb.DeleteLoadBalancerOutput{}, nil
}
