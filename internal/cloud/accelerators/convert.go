package accelerators

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

func acceleratorFromAWS(a types.Accelerator) observed.Accelerator {
	out := observed.Accelerator{
		ARN: aws.ToString(a.AcceleratorArn), Name: aws.ToString(a.Name), AddressType: model.IPv4, Enabled: aws.ToBool(a.Enabled), State: string(a.Status),
		DNSName: aws.ToString(a.DnsName), DualStackDNSName: aws.ToString(a.DualStackDnsName),
	}
	if a.IpAddressType == types.IpAddressTypeDualStack {
		out.AddressType = model.DualStack
	}
	for _, s := range a.IpSets {
		//lint:ignore SA1019 the examples in the AWS documentation have only the older field
		family := cmp.Or(string(s.IpAddressFamily), aws.ToString(s.IpFamily))
		out.Addresses = append(out.Addresses, observed.AddressSet{Family: family, Addresses: slices.Clone(s.IpAddresses)})
	}
	slices.SortFunc(out.Addresses, func(a, b observed.AddressSet) int { return cmp.Compare(a.Family, b.Family) })
	return out
}

func addressTypeToAWS(t model.AddressType) types.IpAddressType {
	switch t {
	case model.DualStack:
		return types.IpAddressTypeDualStack
	case model.IPv4:
		return types.IpAddressTypeIpv4
	}
	return ""
}

func listenerFromAWS(l types.Listener) observed.AcceleratorListener {
	out := observed.AcceleratorListener{ARN: aws.ToString(l.ListenerArn), Protocol: model.BaseProtocol(l.Protocol), SourceIP: l.ClientAffinity == types.ClientAffinitySourceIp}
	for _, r := range l.PortRanges {
		out.Ports = append(out.Ports, model.PortRange{From: aws.ToInt32(r.FromPort), To: aws.ToInt32(r.ToPort)})
	}
	slices.SortFunc(out.Ports, func(a, b model.PortRange) int { return int(a.From - b.From) })
	return out
}

func portsToAWS(ports []model.PortRange) []types.PortRange {
	var out []types.PortRange
	for _, r := range ports {
		out = append(out, types.PortRange{FromPort: aws.Int32(r.From), ToPort: aws.Int32(r.To)})
	}
	return out
}

func affinityToAWS(sourceIP bool) types.ClientAffinity {
	return types.ClientAffinity(plan.AffinityText(sourceIP))
}

func endpointGroupFromAWS(g types.EndpointGroup) observed.EndpointGroup {
	out := observed.EndpointGroup{ARN: aws.ToString(g.EndpointGroupArn), Region: aws.ToString(g.EndpointGroupRegion), Dial: 100}
	if g.TrafficDialPercentage != nil {
		out.Dial = float64(*g.TrafficDialPercentage)
	}
	for _, o := range g.PortOverrides {
		out.Overrides = append(out.Overrides, model.PortOverride{Listener: aws.ToInt32(o.ListenerPort), Endpoint: aws.ToInt32(o.EndpointPort)})
	}
	sortOverrides(out.Overrides)
	for _, e := range g.EndpointDescriptions {
		out.Endpoints = append(out.Endpoints, endpointFromAWS(e))
	}
	sortEndpoints(out.Endpoints)
	return out
}

func sortOverrides(list []model.PortOverride) {
	slices.SortFunc(list, func(a, b model.PortOverride) int {
		return cmp.Or(cmp.Compare(a.Listener, b.Listener), cmp.Compare(a.Endpoint, b.Endpoint))
	})
}

func sortEndpoints(list []observed.Endpoint) {
	slices.SortFunc(list, func(a, b observed.Endpoint) int { return cmp.Compare(a.ID, b.ID) })
}

func endpointFromAWS(e types.EndpointDescription) observed.Endpoint {
	return observed.Endpoint{ID: aws.ToString(e.EndpointId), Weight: aws.ToInt32(e.Weight), ClientIP: aws.ToBool(e.ClientIPPreservationEnabled), Health: string(e.HealthState)}
}

func overridesToAWS(list []model.PortOverride) []types.PortOverride {
	out := []types.PortOverride{}
	for _, o := range list {
		out = append(out, types.PortOverride{ListenerPort: aws.Int32(o.Listener), EndpointPort: aws.Int32(o.Endpoint)})
	}
	return out
}

func endpointsToAWS(list []plan.EndpointSettings) []types.EndpointConfiguration {
	var out []types.EndpointConfiguration
	for _, e := range list {
		out = append(out, types.EndpointConfiguration{EndpointId: aws.String(e.ID), Weight: aws.Int32(e.Weight), ClientIPPreservationEnabled: e.PreserveClientIP})
	}
	return out
}

func tagsToAWS(tags map[string]string) []types.Tag {
	var out []types.Tag
	for k, v := range tags {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	slices.SortFunc(out, func(a, b types.Tag) int { return cmp.Compare(*a.Key, *b.Key) })
	return out
}
