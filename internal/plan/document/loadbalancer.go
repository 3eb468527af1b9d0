package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/securitygroups"
)

type loadBalancerSpec struct {
	Name           string            `json:"name"`
	Type           string            `json:"type"`
	Scheme         model.Scheme      `json:"scheme"`
	AddressType    model.AddressType `json:"ipAddressType"`
	SourceNAT      string            `json:"enablePrefixForIpv6SourceNat,omitempty"`
	Subnets        []subnetMapping   `json:"subnetMapping,omitempty"`
	SecurityGroups []textOrReference `json:"securityGroups,omitempty"`
	PrivateLink    string            `json:"securityGroupsInboundRulesOnPrivateLink,omitempty"`
	CoIPPool       string            `json:"customerOwnedIPv4Pool,omitempty"`
	Attributes     []setting         `json:"loadBalancerAttributes,omitempty"`
	Capacity       *capacity         `json:"minimumLoadBalancerCapacity,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	IPAMPool       string            `json:"ipv4IPAMPool,omitempty"`
}

type subnetMapping struct {
	Subnet      string `json:"subnetID"`
	Allocation  string `json:"allocationID,omitempty"`
	PrivateIPv4 string `json:"privateIPv4Address,omitempty"`
	IPv6        string `json:"ipv6Address,omitempty"`

	SourceNATPrefix string `json:"sourceNatIpv6Prefix,omitempty"`
}

type capacity struct {
	Units int32 `json:"capacityUnits"`
}

// describeLoadBalancer adds a load balancer to the document.
func (d *Describer) describeLoadBalancer(lb *resolved.LoadBalancer) {
	w := lb.Desired
	spec := loadBalancerSpec{
		Name: w.Name, Type: w.Type.String(), Scheme: w.Scheme, AddressType: w.AddressType,
		Subnets: subnetMappings(lb.SubnetMappings()), SecurityGroups: d.securityGroupReferences(lb.SecurityGroups),
		CoIPPool: w.CoIPPool, IPAMPool: w.IPAMPool, Attributes: sortedSettings(w.Attributes), Tags: w.Tags,
		SourceNAT: w.SourceNAT, PrivateLink: w.PrivateLinkRules,
	}
	if w.Capacity != nil {
		spec.Capacity = &capacity{*w.Capacity}
	}
	d.addResource(TypeLoadBalancer, lb.ID, spec)
}

// describeLiveLoadBalancer adds an observed load balancer that the plan does not change to the document.
func (d *Describer) describeLiveLoadBalancer(lb *observed.LoadBalancer) {
	var groups []plan.SecurityGroupRef
	for _, id := range lb.SecurityGroups {
		if id == d.KnownIDs[plan.ManagedSecurityGroupAddress] && d.hasResource(TypeSecurityGroup, model.ManagedSecurityGroupID) {
			groups = append(groups, plan.SecurityGroupRef{Address: plan.ManagedSecurityGroupAddress})
		} else {
			groups = append(groups, plan.SecurityGroupRef{ID: id})
		}
	}
	d.addResource(TypeLoadBalancer, lb.ResourceID, loadBalancerSpec{
		Name: lb.Name, Type: lb.Type, Scheme: lb.Scheme, AddressType: lb.AddressType,
		Subnets: subnetMappings((&resolved.LoadBalancer{Subnets: lb.Subnets}).SubnetMappings()), SecurityGroups: d.securityGroupReferences(groups),
		CoIPPool: lb.CoIPPool, IPAMPool: lb.IPAMPool, Tags: owners.UserTags(lb.Tags), SourceNAT: lb.SourceNAT, PrivateLink: lb.PrivateLinkRules,
	})
}

// subnetMappings converts subnets to their form in a document, sorted by id.
func subnetMappings(ms []model.SubnetMapping) []subnetMapping {
	var out []subnetMapping
	for _, m := range ms {
		out = append(out, subnetMapping(m))
	}
	slices.SortFunc(out, func(a, b subnetMapping) int { return cmp.Compare(a.Subnet, b.Subnet) })
	return out
}

type securityGroupSpec struct {
	Name        string            `json:"groupName"`
	Description string            `json:"description"`
	Tags        map[string]string `json:"tags,omitempty"`
	Ingress     []permission      `json:"ingress,omitempty"`
}

// permission is an inbound rule for one source. Exactly one of its lists has an entry.
type permission struct {
	Protocol       string              `json:"ipProtocol"`
	From           int32               `json:"fromPort"`
	To             int32               `json:"toPort"`
	Ranges         []ipRange           `json:"ipRanges,omitempty"`
	IPv6Ranges     []ipv6Range         `json:"ipv6Ranges,omitempty"`
	SecurityGroups []securityGroupPair `json:"userIDGroupPairs,omitempty"`
	PrefixLists    []prefixList        `json:"prefixLists,omitempty"`
}

type ipRange struct {
	CIDR        string `json:"cidrIP"`
	Description string `json:"description,omitempty"`
}

type ipv6Range struct {
	CIDR        string `json:"cidrIPv6"`
	Description string `json:"description,omitempty"`
}

type securityGroupPair struct {
	ID          string `json:"groupID"`
	Description string `json:"description,omitempty"`
}

type prefixList struct {
	ID          string `json:"listID"`
	Description string `json:"description,omitempty"`
}

// describeSecurityGroup adds the managed security group of the stack to the document.
func (d *Describer) describeSecurityGroup() {
	choice, ok := d.Want.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
	if !ok {
		return
	}
	want := choice.Group
	rules, _ := network.DiffRules(want.Ingress, nil) // without duplicates
	if live := securitygroups.LiveManagedSecurityGroup(d.Have.SecurityGroups, d.LB.Live); live != nil {
		_, others := network.DiffRules(want.Ingress, live.Ingress)
		for _, r := range others {
			if d.SecurityGroups.RetainsRule(r) {
				rules = append(rules, r)
			}
		}
	}
	slices.SortFunc(rules, func(a, b model.IngressRule) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To),
			cmp.Compare(a.CIDR, b.CIDR), cmp.Compare(a.PrefixList, b.PrefixList), cmp.Compare(a.Group, b.Group))
	})
	spec := securityGroupSpec{Name: want.Name, Description: want.Description, Tags: want.Tags}
	for _, r := range rules {
		spec.Ingress = append(spec.Ingress, permissionOf(r))
	}
	d.addResource(TypeSecurityGroup, model.ManagedSecurityGroupID, spec)
}

// permissionOf converts an inbound rule to its form in a document.
func permissionOf(r model.IngressRule) permission {
	p := permission{Protocol: r.Protocol, From: r.From, To: r.To}
	switch {
	case strings.Contains(r.CIDR, ":"):
		p.IPv6Ranges = []ipv6Range{{r.CIDR, r.Description}}
	case r.CIDR != "":
		p.Ranges = []ipRange{{r.CIDR, r.Description}}
	case r.PrefixList != "":
		p.PrefixLists = []prefixList{{r.PrefixList, r.Description}}
	default:
		p.SecurityGroups = []securityGroupPair{{r.Group, r.Description}}
	}
	return p
}
