package elbv2

import (
	"slices"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// maxNamesPerCall is the maximum number of load balancer names, and of load balancer ARNs, in a request.
const maxNamesPerCall = 20

// DescribeLoadBalancers lists the load balancers with the ARNs or names in the request, or all load balancers.
func (s *loadBalancers) DescribeLoadBalancers(c *store.Call, in *elb.DescribeLoadBalancersInput) (*elb.DescribeLoadBalancersOutput, error) {
	st := c.Partition.ELB
	if len(in.LoadBalancerArns) > 0 && len(in.Names) > 0 {
		return nil, validationError(store.UnprovenSource, "Load balancer names and load balancer ARNs cannot be specified at the same time")
	}
	if n := max(len(in.LoadBalancerArns), len(in.Names)); n > maxNamesPerCall {
		return nil, validationError(store.UnprovenSource, "Cannot have more than %d load balancers described", maxNamesPerCall)
	}
	found, err := findAll(st, kindLoadBalancer, st.LoadBalancers, in.LoadBalancerArns)
	if err != nil {
		return nil, err
	}
	switch {
	case len(in.Names) > 0:
		var missing []string
		for _, name := range withoutDuplicates(in.Names) {
			if lb := loadBalancerByName(st, name); lb != nil {
				found = append(found, lb)
			} else {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			return nil, store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#10669"), "LoadBalancerNotFound", "Load balancers '[%s]' not found", strings.Join(missing, ", "))
		}
	case len(in.LoadBalancerArns) == 0:
		found = sortedValues(st.LoadBalancers)
	}
	found, next, err := page(s.store, found, func(lb *store.LoadBalancer) string { return lb.ARN }, unordered, in.Marker, in.PageSize)
	if err != nil {
		return nil, err
	}
	out := &elb.DescribeLoadBalancersOutput{NextMarker: next}
	for _, lb := range found {
		out.LoadBalancers = append(out.LoadBalancers, s.describeLoadBalancer(c, lb))
	}
	return out, nil
}

func loadBalancerByName(st *store.ELBState, name string) *store.LoadBalancer {
	for _, lb := range st.LoadBalancers {
		if lb.Name == name {
			return lb
		}
	}
	return nil
}

// describeLoadBalancer returns a load balancer in the form in which DescribeLoadBalancers returns it.
func (s *loadBalancers) describeLoadBalancer(c *store.Call, lb *store.LoadBalancer) types.LoadBalancer {
	state, reason := lb.State(c.Now)
	out := types.LoadBalancer{
		LoadBalancerArn: new(lb.ARN), LoadBalancerName: new(lb.Name), DNSName: new(lb.DNSName),
		CanonicalHostedZoneId: new(lb.HostedZone), CreatedTime: new(lb.Created), Type: lb.Type, Scheme: lb.Scheme,
		IpAddressType: lb.Addressing, VpcId: new(lb.VPC), AvailabilityZones: s.describeZones(lb),
		SecurityGroups: store.Shuffle(s.store, slices.Clone(lb.SecurityGroups)),
		State:          &types.LoadBalancerState{Code: state, Reason: store.StringOrNil(reason)},
		IpamPools:      ipamPools(lb), CustomerOwnedIpv4Pool: store.StringOrNil(lb.CustomerPool),
		EnablePrefixForIpv6SourceNat: lb.PrefixForSourceNAT,
	}
	if lb.EnforcePrivateLink != "" {
		out.EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic = new(lb.EnforcePrivateLink)
	}
	return out
}

func (s *loadBalancers) describeZones(lb *store.LoadBalancer) []types.AvailabilityZone {
	out := make([]types.AvailabilityZone, 0, len(lb.Zones))
	for _, z := range lb.Zones {
		az := types.AvailabilityZone{ZoneName: new(z.Zone), SubnetId: new(z.Subnet), LoadBalancerAddresses: []types.LoadBalancerAddress{}}
		if z.Allocation != "" || z.PrivateIPv4 != "" || z.IPv6 != "" {
			az.LoadBalancerAddresses = append(az.LoadBalancerAddresses, types.LoadBalancerAddress{
				AllocationId: store.StringOrNil(z.Allocation), IpAddress: store.StringOrNil(z.PublicIP),
				PrivateIPv4Address: store.StringOrNil(z.PrivateIPv4), IPv6Address: store.StringOrNil(z.IPv6),
			})
		}
		if z.NATPrefix != "" {
			az.SourceNatIpv6Prefixes = []string{z.NATPrefix}
		}
		out = append(out, az)
	}
	return store.Shuffle(s.store, out)
}
