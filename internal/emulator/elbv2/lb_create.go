package elbv2

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

var (
	namePattern     = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	ipamPoolPattern = regexp.MustCompile(`^(ipam-pool-)[a-zA-Z0-9]+$`)
	coipPoolPattern = regexp.MustCompile(`^(ipv4pool-coip-)[a-zA-Z0-9]+$`)
)

// CreateLoadBalancer creates an ALB or NLB. If a load balancer with the same name and settings exists, it returns this load
// balancer.
func (s *loadBalancers) CreateLoadBalancer(c *store.Call, in *elb.CreateLoadBalancerInput) (*elb.CreateLoadBalancerOutput, error) {
	if err := s.validateCreateLoadBalancer(in); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	lb := &store.LoadBalancer{
		Name: *in.Name, Type: cmp.Or(in.Type, types.LoadBalancerTypeEnumApplication),
		Scheme:     cmp.Or(in.Scheme, types.LoadBalancerSchemeEnumInternetFacing),
		Addressing: cmp.Or(in.IpAddressType, types.IpAddressTypeIpv4),
		Created:    c.Now, Active: c.Now.Add(s.store.Config.ELB.ProvisioningDelay),
		CustomerPool: store.Value(in.CustomerOwnedIpv4Pool),
	}
	if in.IpamPools != nil {
		lb.IPAMPool = store.Value(in.IpamPools.Ipv4IpamPoolId)
	}
	if err := checkLoadBalancerName(lb.Name); err != nil {
		return nil, err
	}
	if lb.Type == types.LoadBalancerTypeEnumGateway {
		return nil, validationError(store.EmulatorSource, "Load balancers with type 'gateway' are not supported by this emulator")
	}
	want := placement{
		lb: lb, subnets: in.Subnets, mappings: in.SubnetMappings, addressing: lb.Addressing,
		sourceNATPrefix: in.EnablePrefixForIpv6SourceNat,
	}
	zones, err := s.chooseSubnets(p, want)
	if err != nil {
		return nil, err
	}
	lb.Zones, lb.VPC = zones, p.Subnets[zones[0].Subnet].VPCID
	lb.SecurityGroups = withoutDuplicates(in.SecurityGroups)
	if len(lb.SecurityGroups) == 0 && lb.IsALB() {
		if sg := p.DefaultSecurityGroup(lb.VPC); sg != nil {
			lb.SecurityGroups = []string{sg.ID}
		}
	}
	if !lb.IsALB() {
		lb.PrefixForSourceNAT = cmp.Or(in.EnablePrefixForIpv6SourceNat, types.EnablePrefixForIpv6SourceNatEnumOff)
	}
	if lb.Tags, err = newTags(in.Tags); err != nil {
		return nil, err
	}
	for _, other := range st.LoadBalancers {
		if other.Name != lb.Name {
			continue
		}
		if !isSameLoadBalancer(other, lb) {
			return nil, store.Errorf(store.ReportSource("fortinet/fortigate-terraform-deploy#21"), "DuplicateLoadBalancerName", "A load balancer with the same name '%s' exists, but with different settings", lb.Name)
		}
		return &elb.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{s.describeLoadBalancer(c, other)}}, nil
	}
	if err := s.checkPlacement(p, want, lb.VPC, zones); err != nil {
		return nil, err
	}
	if err := checkSecurityGroups(p, lb.VPC, lb.SecurityGroups); err != nil {
		return nil, err
	}
	if lb.IPAMPool != "" && !lb.IsALB() {
		return nil, configurationError(store.UnprovenSource, "IPAM pools are not supported for load balancers with type 'network'")
	}
	if s.store.Config.ELB.Disabled {
		return nil, store.Errorf(store.UnprovenSource, codeNotPermitted, "This AWS account currently does not support creating load balancers. For more information, please contact AWS Support.")
	}
	if err := s.checkLoadBalancerQuota(st, lb); err != nil {
		return nil, err
	}
	s.setLoadBalancerNames(p, lb)
	if err := s.createNodes(p, lb, lb.Zones); err != nil {
		return nil, err
	}
	assignSourceNAT(p, lb)
	lb.CreatedWithSecurityGroups = len(lb.SecurityGroups) > 0
	if !lb.IsALB() && lb.CreatedWithSecurityGroups {
		lb.EnforcePrivateLink = "on"
	}
	lb.Attributes = initialLoadBalancerAttributes(lb)
	st.LoadBalancers[lb.ARN] = lb
	s.store.AddServiceLinkedRole(c.Account, store.LinkedServiceELB)
	return &elb.CreateLoadBalancerOutput{LoadBalancers: []types.LoadBalancer{s.describeLoadBalancer(c, lb)}}, nil
}

func (s *loadBalancers) validateCreateLoadBalancer(in *elb.CreateLoadBalancerInput) error {
	sh := s.newValidation()
	sh.checkPresent("name", in.Name != nil)
	checkEnum(&sh, "type", in.Type, in.Type.Values())
	checkEnum(&sh, "scheme", in.Scheme, in.Scheme.Values())
	checkEnum(&sh, "ipAddressType", in.IpAddressType, in.IpAddressType.Values())
	checkEnum(&sh, "enablePrefixForIpv6SourceNat", in.EnablePrefixForIpv6SourceNat, in.EnablePrefixForIpv6SourceNat.Values())
	sh.checkLength("customerOwnedIpv4Pool", in.CustomerOwnedIpv4Pool, 0, 256)
	sh.checkPattern("customerOwnedIpv4Pool", in.CustomerOwnedIpv4Pool, coipPoolPattern)
	if in.IpamPools != nil {
		sh.checkLength("ipamPools.ipv4IpamPoolId", in.IpamPools.Ipv4IpamPoolId, 0, 1000)
		sh.checkPattern("ipamPools.ipv4IpamPoolId", in.IpamPools.Ipv4IpamPoolId, ipamPoolPattern)
	}
	sh.validateTags(in.Tags)
	return sh.err()
}

func checkLoadBalancerName(name string) error {
	switch {
	case len(name) > 32:
		return validationError(store.ReportSource("aws-cloudformation/cfn-lint#3259"), "The load balancer name '%s' cannot be longer than '32' characters", name)
	case !namePattern.MatchString(name):
		return validationError(store.UnprovenSource, "The load balancer name '%s' can only contain characters that are alphanumeric characters and hyphens(-)", name)
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return validationError(store.UnprovenSource, "The load balancer name '%s' cannot begin or end with a hyphen(-)", name)
	case strings.HasPrefix(name, "internal-"):
		return validationError(store.UnprovenSource, "The load balancer name '%s' cannot begin with 'internal-'", name)
	}
	return nil
}

// isSameLoadBalancer reports whether an existing load balancer (have) has the settings in a create request (want).
func isSameLoadBalancer(have, want *store.LoadBalancer) bool {
	requestedZones := func(lb *store.LoadBalancer) []store.LoadBalancerZone {
		out := slices.Clone(lb.Zones)
		for i := range out {
			out[i].ENI, out[i].Address, out[i].PublicIP, out[i].NATPrefix = "", "", "", ""
			if out[i].SourceNATIPv6Prefix == autoAssigned {
				out[i].SourceNATIPv6Prefix = ""
			}
		}
		return out
	}
	return have.Type == want.Type && have.Scheme == want.Scheme && have.Addressing == want.Addressing &&
		have.IPAMPool == want.IPAMPool && have.CustomerPool == want.CustomerPool &&
		have.PrefixForSourceNAT == want.PrefixForSourceNAT &&
		slices.Equal(requestedZones(have), requestedZones(want)) &&
		slices.Equal(slices.Sorted(slices.Values(have.SecurityGroups)), slices.Sorted(slices.Values(want.SecurityGroups))) &&
		maps.Equal(have.Tags, want.Tags)
}

// checkLoadBalancerQuota returns an error if a new load balancer would exceed the quota of load balancers of its type, or
// the quota of ENIs.
func (s *loadBalancers) checkLoadBalancerQuota(st *store.ELBState, lb *store.LoadBalancer) error {
	n := 0
	for _, other := range st.LoadBalancers {
		if other.Type == lb.Type {
			n++
		}
	}
	name := quotaALBs
	if !lb.IsALB() {
		name = quotaNLBs
	}
	if most := s.quota(name); n >= most {
		return store.Errorf(store.UnprovenSource, "TooManyLoadBalancers", "The maximum number of load balancers with type '%s' has been reached: '%d'", lb.Type, most)
	}
	return s.checkENIQuota(st, lb, len(lb.Zones))
}

// checkENIQuota returns an error if an NLB would exceed the quota of NLB ENIs in its VPC. more is the number of ENIs that
// the NLB needs in addition to its existing ENIs. For an ALB it returns nil.
func (s *loadBalancers) checkENIQuota(st *store.ELBState, lb *store.LoadBalancer, more int) error {
	if lb.IsALB() {
		return nil
	}
	n := more
	for _, other := range st.LoadBalancers {
		if !other.IsALB() && other.VPC == lb.VPC {
			n += len(other.Zones)
		}
	}
	if most := s.quota(quotaENIsNLB); n > most {
		return configurationError(store.UnprovenSource, "The maximum number of Network Load Balancer network interfaces '%d' has been reached for VPC '%s'", most, lb.VPC)
	}
	return nil
}

// setLoadBalancerNames sets the ID, the ARN, the DNS name and the hosted zone of a new load balancer.
func (s *loadBalancers) setLoadBalancerNames(p *store.Partition, lb *store.LoadBalancer) {
	lb.ID = s.store.RandomHex(16)
	lb.ARN = newARN(p, fmt.Sprintf("loadbalancer/%s/%s/%s", shortType(lb), lb.Name, lb.ID))
	if lb.IsALB() {
		lb.DNSName = fmt.Sprintf("%s-%s.%s.elb.%s", lb.Name, s.store.RandomDecimal(10), p.Region, p.AWSPartition().Suffix)
		if lb.Scheme == types.LoadBalancerSchemeEnumInternal {
			lb.DNSName = "internal-" + lb.DNSName
		}
	} else {
		lb.DNSName = fmt.Sprintf("%s-%s.elb.%s.%s", lb.Name, lb.ID, p.Region, p.AWSPartition().Suffix)
	}
	lb.HostedZone = hostedZoneID(p.Region, lb.IsALB())
}

// shortType returns the abbreviation of a load balancer type in ARNs.
func shortType(lb *store.LoadBalancer) string {
	if lb.IsALB() {
		return "app"
	}
	return "net"
}

// hostedZoneID returns the ID of the Route 53 hosted zone for the DNS names of load balancers in a region. For regions that
// it does not list, it derives an ID from the region's name.
func hostedZoneID(region string, alb bool) string {
	known := map[string][2]string{
		"us-east-1": {"Z35SXDOTRQ7X7K", "Z26RNL4JYFTOTI"},
		"us-east-2": {"Z3AADJGX6KTTL2", "ZLMOA37VPKANP"},
		"us-west-1": {"Z368ELLRRE2KJ0", "Z24FKFUX50B4VW"},
		"us-west-2": {"Z1H1FL5HABSF5", "Z18D5FSROUN65G"},
	}
	pair, ok := known[region]
	if !ok {
		pair = [2]string{
			fmt.Sprintf("Z%013X", hashKey(1, region)&0xfffffffffffff), fmt.Sprintf("Z%013X", hashKey(2, region)&0xfffffffffffff),
		}
	}
	if alb {
		return pair[0]
	}
	return pair[1]
}

// withoutDuplicates returns the strings in their order, without repetitions.
func withoutDuplicates(in []string) []string {
	var out []string
	for _, v := range in {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
