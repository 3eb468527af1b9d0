package reference

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// loadBalancers creates, updates and deletes the load balancers of a deployment.
type loadBalancers struct{ *deployment }

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

// stackLoadBalancers returns the load balancers in the VPC with the tags of the stack.
func (d loadBalancers) stackLoadBalancers() (out []taggedResource[elbtypes.LoadBalancer], err error) {
	var all []elbtypes.LoadBalancer
	var arns []string
	pages := elb.NewDescribeLoadBalancersPaginator(d.elb, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(d.ctx)
		if err != nil {
			return nil, err
		}
		for _, lb := range page.LoadBalancers {
			if stringValue(lb.VpcId) == d.VPC {
				all, arns = append(all, lb), append(arns, stringValue(lb.LoadBalancerArn))
			}
		}
	}
	tags, err := d.tagsOf(arns)
	if err != nil {
		return nil, err
	}
	for i, lb := range all {
		if d.hasStackTags(tags[arns[i]]) {
			out = append(out, taggedResource[elbtypes.LoadBalancer]{arns[i], lb, tags[arns[i]]})
		}
	}
	return out, nil
}

// synthesize deletes load balancers that are not desired, and then creates and updates the desired load balancers. It finds
// existing load balancers by their tags, not by name.
func (d loadBalancers) synthesize() error {
	have, err := d.stackLoadBalancers()
	if err != nil {
		return err
	}
	m, err := matchResources(d.deployment, document.TypeLoadBalancer, wrapTagged(have), func(id string, h taggedResource[elbtypes.LoadBalancer]) (bool, error) {
		var want loadBalancerSpec
		err := d.decodeSpec(document.TypeLoadBalancer, id, &want)
		return want.Type != string(h.resource.Type) || want.Scheme != string(h.resource.Scheme), err
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
		if err := d.updateLoadBalancer(u.id, u.existing); err != nil {
			return fmt.Errorf("load balancer: %w", err)
		}
	}
	return nil
}

// deleteLoadBalancer deletes a load balancer. If deletion protection prevents this, it disables the protection first.
func (d loadBalancers) deleteLoadBalancer(arn string) error {
	remove := func() error {
		d.announceChange("DeleteLoadBalancer", arn)
		_, err := d.elb.DeleteLoadBalancer(d.ctx, &elb.DeleteLoadBalancerInput{LoadBalancerArn: aws.String(arn)})
		return err
	}
	err := remove()
	if !hasErrorCode(err, "OperationNotPermitted") {
		return err
	}
	d.announceChange("ModifyLoadBalancerAttributes", arn)
	if _, err := d.elb.ModifyLoadBalancerAttributes(d.ctx, &elb.ModifyLoadBalancerAttributesInput{
		LoadBalancerArn: aws.String(arn), Attributes: []elbtypes.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: aws.String("false")}},
	}); err != nil {
		return err
	}
	return remove()
}

func (d loadBalancers) createLoadBalancer(id string) error {
	var want loadBalancerSpec
	if err := d.decodeSpec(document.TypeLoadBalancer, id, &want); err != nil {
		return err
	}
	in := &elb.CreateLoadBalancerInput{
		Name: aws.String(want.Name), Type: elbtypes.LoadBalancerTypeEnum(want.Type), Scheme: elbtypes.LoadBalancerSchemeEnum(want.Scheme),
		IpAddressType: elbtypes.IpAddressType(want.IPAddressType), SecurityGroups: want.SecurityGroups, Tags: elbTags(d.desiredTags(id, want.Tags)),
	}
	for _, s := range want.subnets() {
		in.SubnetMappings = append(in.SubnetMappings, elbtypes.SubnetMapping{SubnetId: aws.String(s)})
	}
	d.announceChange("CreateLoadBalancer", want.Name)
	out, err := d.elb.CreateLoadBalancer(d.ctx, in)
	if err != nil {
		return err
	}
	return d.storeReferencesAndAttributes(id, out.LoadBalancers[0], want)
}

func (d loadBalancers) updateLoadBalancer(id string, lb taggedResource[elbtypes.LoadBalancer]) error {
	var want loadBalancerSpec
	if err := d.decodeSpec(document.TypeLoadBalancer, id, &want); err != nil {
		return err
	}
	if err := d.retag(lb.id, d.desiredTags(id, want.Tags), lb.tags); err != nil {
		return err
	}
	if !sameSet(want.SecurityGroups, lb.resource.SecurityGroups) {
		d.announceChange("SetSecurityGroups", lb.id)
		if _, err := d.elb.SetSecurityGroups(d.ctx, &elb.SetSecurityGroupsInput{LoadBalancerArn: aws.String(lb.id), SecurityGroups: want.SecurityGroups}); err != nil {
			return err
		}
	}
	var live []string
	for _, z := range lb.resource.AvailabilityZones {
		live = append(live, stringValue(z.SubnetId))
	}
	if !sameSet(want.subnets(), live) {
		in := &elb.SetSubnetsInput{LoadBalancerArn: aws.String(lb.id)}
		for _, s := range want.subnets() {
			in.SubnetMappings = append(in.SubnetMappings, elbtypes.SubnetMapping{SubnetId: aws.String(s)})
		}
		d.announceChange("SetSubnets", lb.id)
		if _, err := d.elb.SetSubnets(d.ctx, in); err != nil {
			return err
		}
	}
	if want.IPAddressType != string(lb.resource.IpAddressType) {
		d.announceChange("SetIpAddressType", lb.id)
		if _, err := d.elb.SetIpAddressType(d.ctx, &elb.SetIpAddressTypeInput{LoadBalancerArn: aws.String(lb.id), IpAddressType: elbtypes.IpAddressType(want.IPAddressType)}); err != nil {
			return err
		}
	}
	return d.storeReferencesAndAttributes(id, lb.resource, want)
}

// storeReferencesAndAttributes stores the ARN and the DNS name of a load balancer as values of references, and sets its
// attributes.
func (d loadBalancers) storeReferencesAndAttributes(id string, lb elbtypes.LoadBalancer, want loadBalancerSpec) error {
	d.setReference(document.TypeLoadBalancer, id, "loadBalancerARN", stringValue(lb.LoadBalancerArn))
	d.setReference(document.TypeLoadBalancer, id, "dnsName", stringValue(lb.DNSName))
	d.dnsName = stringValue(lb.DNSName)
	out, err := d.elb.DescribeLoadBalancerAttributes(d.ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn})
	if err != nil {
		return err
	}
	change, err := changedAttributes[elbtypes.LoadBalancerAttribute](want.LoadBalancerAttributes, out.Attributes)
	if err != nil || len(change) == 0 {
		return err
	}
	d.announceChange("ModifyLoadBalancerAttributes", stringValue(lb.LoadBalancerArn))
	_, err = d.elb.ModifyLoadBalancerAttributes(d.ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerArn: lb.LoadBalancerArn, Attributes: change})
	return err
}
