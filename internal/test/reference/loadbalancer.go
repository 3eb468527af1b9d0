package reference

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// loadBalancers deploys load balancers.
type loadBalancers struct{ *deploy }

type loadBalancerSpec struct {
	Name, Type, Scheme, IPAddressType string
	SubnetMapping                     []struct{ SubnetID string }
	SecurityGroups                    []string
	LoadBalancerAttributes            []attribute
	Tags                              map[string]string
}

func (s loadBalancerSpec) subnets() (out []string) {
	for _, m := range s.SubnetMapping {
		out = append(out, m.SubnetID)
	}
	return out
}

// liveLoadBalancers returns the load balancers in the VPC with the tags of the stack.
func (d loadBalancers) liveLoadBalancers() (out []tagged[elbtypes.LoadBalancer], err error) {
	var all []elbtypes.LoadBalancer
	var arns []string
	pages := elb.NewDescribeLoadBalancersPaginator(d.elb, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.ctx)
		if err != nil {
			return nil, err
		}
		for _, lb := range page.LoadBalancers {
			if text(lb.VpcId) == d.VPC {
				all, arns = append(all, lb), append(arns, text(lb.LoadBalancerArn))
			}
		}
	}
	tags, err := d.tagsOf(arns)
	if err != nil {
		return nil, err
	}
	for i, lb := range all {
		if d.hasStackTags(tags[arns[i]]) {
			out = append(out, tagged[elbtypes.LoadBalancer]{arns[i], lb, tags[arns[i]]})
		}
	}
	return out, nil
}

// synthesize deletes load balancers that are not desired, and then creates and updates others. It does not match
// them by name.
func (d loadBalancers) synthesize() error {
	have, err := d.liveLoadBalancers()
	if err != nil {
		return err
	}
	m, err := match(d.deploy, document.TypeLoadBalancer, wrapped(have), func(id string, h tagged[elbtypes.LoadBalancer]) (bool, error) {
		var want loadBalancerSpec
		err := d.spec(document.TypeLoadBalancer, id, &want)
		return want.Type != string(h.of.Type) || want.Scheme != string(h.of.Scheme), err
	})
	if err != nil {
		return err
	}
	for _, lb := range m.remove {
		if err := d.deleteLoadBalancer(lb.id); err != nil {
			return err
		}
	}
	for _, id := range m.create {
		if err := d.createLoadBalancer(id); err != nil {
			return fmt.Errorf("load balancer: %w", err)
		}
	}
	for _, u := range m.update {
		if err := d.updateLoadBalancer(u.id, u.have); err != nil {
			return fmt.Errorf("load balancer: %w", err)
		}
	}
	return nil
}

// deleteLoadBalancer deletes a load balancer, after it has disabled its deletion protection.
func (d loadBalancers) deleteLoadBalancer(arn string) error {
	remove := func() error {
		d.announce("DeleteLoadBalancer", arn)
		_, err := d.elb.DeleteLoadBalancer(d.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(arn)})
		return err
	}
	err := remove()
	if !hasCode(err, "OperationNotPermitted") {
		return err
	}
	d.announce("ModifyLoadBalancerAttributes", arn)
	if _, err := d.elb.ModifyLoadBalancerAttributes(d.ctx, &elb.ModifyLoadBalancerAttributesInput{
		LoadBalancerArn: aws.String(arn), Attributes: []elbtypes.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: aws.String("false")}},
	}); err != nil {
		return err
	}
	return remove()
}

func (d loadBalancers) createLoadBalancer(id string) error {
	var want loadBalancerSpec
	if err := d.spec(document.TypeLoadBalancer, id, &want); err != nil {
		return err
	}
	in := &elb.CreateLoadBalancerInput{
		Name: aws.String(want.Name), Type: elbtypes.LoadBalancerTypeEnum(want.Type), Scheme: elbtypes.LoadBalancerSchemeEnum(want.Scheme),
		IpAddressType: elbtypes.IpAddressType(want.IPAddressType), SecurityGroups: want.SecurityGroups, Tags: elbTags(d.ownTags(id, want.Tags)),
	}
	for _, s := range want.subnets() {
		in.SubnetMappings = append(in.SubnetMappings, elbtypes.SubnetMapping{SubnetId: aws.String(s)})
	}
	d.announce("CreateLoadBalancer", want.Name)
	out, err := d.elb.CreateLoadBalancer(d.ctx, in)
	if err != nil {
		return err
	}
	return d.useLoadBalancer(id, out.LoadBalancers[0], want)
}

func (d loadBalancers) updateLoadBalancer(id string, lb tagged[elbtypes.LoadBalancer]) error {
	var want loadBalancerSpec
	if err := d.spec(document.TypeLoadBalancer, id, &want); err != nil {
		return err
	}
	if err := d.retag(lb.id, d.ownTags(id, want.Tags), lb.tags); err != nil {
		return err
	}
	if !sameSet(want.SecurityGroups, lb.of.SecurityGroups) {
		d.announce("SetSecurityGroups", lb.id)
		if _, err := d.elb.SetSecurityGroups(d.ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: aws.String(lb.id), SecurityGroups: want.SecurityGroups}); err != nil {
			return err
		}
	}
	var live []string
	for _, z := range lb.of.AvailabilityZones {
		live = append(live, text(z.SubnetId))
	}
	if !sameSet(want.subnets(), live) {
		in := &elb.SetSubnetsInput{LoadBalancerArn: aws.String(lb.id)}
		for _, s := range want.subnets() {
			in.SubnetMappings = append(in.SubnetMappings, elbtypes.SubnetMapping{SubnetId: aws.String(s)})
		}
		d.announce("SetSubnets", lb.id)
		if _, err := d.elb.SetSubnets(d.ctx, in); err != nil {
			return err
		}
	}
	if want.IPAddressType != string(lb.of.IpAddressType) {
		d.announce("SetIpAddressType", lb.id)
		if _, err := d.elb.SetIpAddressType(d.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: aws.String(lb.id), IpAddressType: elbtypes.IpAddressType(want.IPAddressType)}); err != nil {
			return err
		}
	}
	return d.useLoadBalancer(id, lb.of, want)
}

// useLoadBalancer stores the references to the load balancer of the stack, and sets its attributes.
func (d loadBalancers) useLoadBalancer(id string, lb elbtypes.LoadBalancer, want loadBalancerSpec) error {
	d.setReference(document.TypeLoadBalancer, id, "loadBalancerARN", text(lb.LoadBalancerArn))
	d.setReference(document.TypeLoadBalancer, id, "dnsName", text(lb.DNSName))
	d.dnsName = text(lb.DNSName)
	out, err := d.elb.DescribeLoadBalancerAttributes(d.ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn})
	if err != nil {
		return err
	}
	change, err := attributes[elbtypes.LoadBalancerAttribute](want.LoadBalancerAttributes, out.Attributes)
	if err != nil || len(change) == 0 {
		return err
	}
	d.announce("ModifyLoadBalancerAttributes", text(lb.LoadBalancerArn))
	_, err = d.elb.ModifyLoadBalancerAttributes(d.ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn, Attributes: change})
	return err
}
