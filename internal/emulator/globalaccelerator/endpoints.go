package globalaccelerator

import (
	"regexp"
	"slices"
	"strings"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// maxEndpoints is the maximum number of endpoints in one request. It does not depend on quotas.
const maxEndpoints = 10

var loadBalancerARNPattern = regexp.MustCompile(`^arn:[a-z-]+:elasticloadbalancing:([a-z0-9-]+):(\d{12}):loadbalancer/(app|net)/.+$`)

// endpointResource is the AWS resource to which an endpoint ID refers. Exactly one of lb, instance and address is set.
type endpointResource struct {
	partition *store.Partition
	id        string
	lb        *store.LoadBalancer
	instance  *store.Instance
	address   *store.Address
}

// endpoints implements the operations on endpoints.
type endpoints struct{ *Service }

// findResource returns the AWS resource in a region to which an endpoint ID refers, or an error if there is none.
func (s endpoints) findResource(c *store.Call, region, id string) (endpointResource, error) {
	p := s.store.Partition(c.Account, region)
	t := endpointResource{partition: p, id: id}
	switch {
	case strings.HasPrefix(id, "arn:"):
		m := loadBalancerARNPattern.FindStringSubmatch(id)
		switch {
		case m == nil || m[1] != region:
			return t, invalidArgumentError(store.ReportSource("hashicorp/terraform-provider-aws#28536"),
				"'%s' is not a valid load balancer ARN (Service: AmazonElasticLoadBalancing; Status Code: 400; Error Code: ValidationError)", id)
		case m[2] != c.Account:
			return t, invalidArgumentError(store.UnprovenSource, "The endpoint '%s' belongs to another account", id)
		}
		t.lb = p.ELB.LoadBalancers[id]
	case strings.HasPrefix(id, "i-"):
		if i := p.Instances[id]; i != nil && p.InstanceState(i) != store.InstanceTerminated {
			t.instance = i
		}
	case strings.HasPrefix(id, "eipalloc-"):
		t.address = p.Addresses[id]
	}
	if t.lb == nil && t.instance == nil && t.address == nil {
		return t, invalidArgumentError(store.UnprovenSource, "The endpoint '%s' was not found in %s", id, region)
	}
	return t, nil
}

// quotaName returns the name of the quota for endpoint groups in which all endpoints have this resource type.
func (t endpointResource) quotaName() string {
	switch {
	case t.instance != nil:
		return "ec2-instances-per-endpoint-group"
	case t.address != nil:
		return "elastic-ip-addresses-per-endpoint-group"
	case t.lb.IsALB():
		return "application-load-balancers-per-endpoint-group"
	}
	return "network-load-balancers-per-endpoint-group"
}

// checkUsable returns an error if the endpoint is a load balancer that is not active, or that is not in an availability
// zone.
func (t endpointResource) checkUsable(c *store.Call) error {
	if t.lb == nil {
		return nil
	}
	switch state, _ := t.lb.State(c.Now); state {
	case elbtypes.LoadBalancerStateEnumProvisioning, elbtypes.LoadBalancerStateEnumFailed:
		return invalidArgumentError(store.UnprovenSource, "The load balancer '%s' is not active", t.id)
	}
	for _, z := range t.lb.Zones {
		if zone := t.partition.ZoneByName(z.Zone); zone != nil && zone.Type != "availability-zone" {
			return invalidArgumentError(store.UnprovenSource, "The load balancer '%s' is in a Local Zone", t.id)
		}
	}
	return nil
}

// checkDualStack returns an error if a dual-stack accelerator cannot have the endpoint.
func (t endpointResource) checkDualStack() error {
	switch {
	case t.lb != nil && t.lb.Addressing != elbtypes.IpAddressTypeIpv4:
		return t.checkNLBTargets()
	case t.instance != nil && slices.ContainsFunc(t.instance.Interfaces, func(id string) bool {
		eni := t.partition.NetworkInterfaces[id]
		return eni != nil && len(eni.IPv6) > 0
	}):
		return nil
	}
	return invalidArgumentError(store.UnprovenSource, "The endpoint '%s' is not dual-stack, as the accelerator is", t.id)
}

// checkNLBTargets returns an error if the load balancer is an NLB with a target group that Global Accelerator does not
// support for dual-stack NLBs.
func (t endpointResource) checkNLBTargets() error {
	if t.lb.IsALB() {
		return nil
	}
	for _, g := range t.targetGroups() {
		if g.Type == elbtypes.TargetTypeEnumIp || g.Type == elbtypes.TargetTypeEnumInstance && g.Addressing == elbtypes.TargetGroupIpAddressTypeEnumIpv6 {
			return invalidArgumentError(store.UnprovenSource, "The dual-stack load balancer '%s' has targets that an accelerator does not support", t.id)
		}
	}
	return nil
}

// targetGroups returns the target groups of the load balancer, ordered by ARN.
func (t endpointResource) targetGroups() []*store.TargetGroup {
	var out []*store.TargetGroup
	for _, arn := range store.SortedKeys(t.partition.ELB.TargetGroups) {
		if g := t.partition.ELB.TargetGroups[arn]; g.LoadBalancer == t.lb.ARN {
			out = append(out, g)
		}
	}
	return out
}

// mergeEndpoints returns a copy of kept in which the endpoints of a request (in) are added or replaced.
func (s endpoints) mergeEndpoints(c *store.Call, of endpointGroupPath, in []types.EndpointConfiguration, kept []*store.AcceleratorEndpoint) ([]*store.AcceleratorEndpoint, error) {
	out := slices.Clone(kept)
	given := map[string]bool{}
	for _, e := range in {
		id := store.Value(e.EndpointId)
		err := firstError(checkPresent("EndpointId", id != ""), checkShortText("EndpointId", &id), checkRange("Weight", e.Weight, 0, 255))
		if err != nil {
			return nil, err
		}
		if given[id] {
			return nil, invalidArgumentError(store.UnprovenSource, "The endpoint '%s' is given more than once", id)
		}
		given[id] = true
		made, err := s.newEndpoint(c, of, e)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(out, func(x *store.AcceleratorEndpoint) bool { return x.ID == id }); i >= 0 {
			out[i] = made
		} else {
			out = append(out, made)
		}
	}
	return out, s.checkEndpointCount(c, of.endpointGroup.Region, out)
}

// newEndpoint returns the endpoint for a part of a request. If the endpoint exists, its creation time and health are kept.
func (s endpoints) newEndpoint(c *store.Call, of endpointGroupPath, in types.EndpointConfiguration) (*store.AcceleratorEndpoint, error) {
	out := &store.AcceleratorEndpoint{ID: *in.EndpointId, Weight: 128, Added: c.Now}
	if before := of.endpointGroup.Endpoint(out.ID); before != nil {
		out.Added, out.Checked, out.Forced = before.Added, before.Checked, before.Forced
	}
	assignIfSet(&out.Weight, in.Weight)
	t, err := s.findResource(c, of.endpointGroup.Region, out.ID)
	if err != nil {
		return nil, err
	}
	if err := t.checkUsable(c); err != nil {
		return nil, err
	}
	dual := of.accelerator.Addressing == types.IpAddressTypeDualStack
	if dual {
		if err := t.checkDualStack(); err != nil {
			return nil, err
		}
	}
	out.PreserveClient, err = t.preservesClientIP(in.ClientIPPreservationEnabled, dual)
	return out, err
}

// checkEndpointCount returns an error if a list has more endpoints than the quota. The quota depends on their resource
// types.
func (s endpoints) checkEndpointCount(c *store.Call, region string, list []*store.AcceleratorEndpoint) error {
	name := ""
	for _, e := range list {
		t, err := s.findResource(c, region, e.ID)
		if err != nil {
			continue // the resource was deleted
		}
		if kind := t.quotaName(); name == "" {
			name = kind
		} else if name != kind {
			name = "mixed-endpoints-per-endpoint-group"
		}
	}
	if most := s.store.Quota(name, 10); len(list) > most {
		return store.Errorf(store.UnprovenSource, codeLimit, "The limit of %d endpoints of an endpoint group has been reached", most)
	}
	return nil
}

// AddEndpoints adds endpoints to an endpoint group, or changes existing ones.
func (s endpoints) AddEndpoints(c *store.Call, in *ga.AddEndpointsInput) (*ga.AddEndpointsOutput, error) {
	of, err := s.findEndpointGroup(c, in.EndpointGroupArn)
	if err != nil {
		return nil, err
	}
	if err := firstError(checkPresent("EndpointConfigurations", in.EndpointConfigurations != nil), checkMaxItems("EndpointConfigurations", len(in.EndpointConfigurations), maxEndpoints)); err != nil {
		return nil, err
	}
	if err := s.checkNoTransaction(c, of.accelerator); err != nil {
		return nil, err
	}
	next, err := s.mergeEndpoints(c, of, in.EndpointConfigurations, of.endpointGroup.Endpoints)
	if err != nil {
		return nil, err
	}
	of.endpointGroup.Endpoints = next
	s.recordChange(c, of.accelerator)
	out := &ga.AddEndpointsOutput{EndpointGroupArn: new(of.endpointGroup.ARN), EndpointDescriptions: []types.EndpointDescription{}}
	for _, e := range in.EndpointConfigurations {
		out.EndpointDescriptions = append(out.EndpointDescriptions, s.describeEndpoint(c, of.endpointGroup, of.endpointGroup.Endpoint(*e.EndpointId)))
	}
	return out, nil
}

// RemoveEndpoints removes endpoints from an endpoint group. If it returns an error, it removes no endpoint.
func (s endpoints) RemoveEndpoints(c *store.Call, in *ga.RemoveEndpointsInput) (*ga.RemoveEndpointsOutput, error) {
	of, err := s.findEndpointGroup(c, in.EndpointGroupArn)
	if err != nil {
		return nil, err
	}
	if err := firstError(checkNotEmpty("EndpointIdentifiers", len(in.EndpointIdentifiers)), checkMaxItems("EndpointIdentifiers", len(in.EndpointIdentifiers), maxEndpoints)); err != nil {
		return nil, err
	}
	if err := s.checkNoTransaction(c, of.accelerator); err != nil {
		return nil, err
	}
	gone := map[*store.AcceleratorEndpoint]bool{}
	for _, x := range in.EndpointIdentifiers {
		e := of.endpointGroup.Endpoint(store.Value(x.EndpointId))
		if e == nil || x.ClientIPPreservationEnabled != nil && *x.ClientIPPreservationEnabled != e.PreserveClient {
			return nil, invalidArgumentError(store.UnprovenSource, "The endpoint '%s' is not in the endpoint group", store.Value(x.EndpointId))
		}
		gone[e] = true
	}
	of.endpointGroup.Endpoints = slices.DeleteFunc(slices.Clone(of.endpointGroup.Endpoints), func(e *store.AcceleratorEndpoint) bool { return gone[e] })
	s.recordChange(c, of.accelerator)
	return &ga.RemoveEndpointsOutput{}, nil
}

func (s endpoints) describeEndpoint(c *store.Call, g *store.EndpointGroup, e *store.AcceleratorEndpoint) types.EndpointDescription {
	return types.EndpointDescription{
		EndpointId: new(e.ID), Weight: new(e.Weight), ClientIPPreservationEnabled: new(e.PreserveClient),
		HealthState: s.store.EndpointHealth(c.Account, g, e, c.Now),
	}
}
