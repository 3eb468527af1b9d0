package ec2

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// DescribeInstances lists instances, grouped by reservation.
func (s *instances) DescribeInstances(c *store.Call, in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
	p := c.Partition
	items, next, err := describe(s.core, c, kindInstance, p.Instances,
		describeQuery{in.InstanceIds, in.Filters, in.MaxResults, in.NextToken}, s.instanceFilters(c))
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstancesOutput{NextToken: next, Reservations: []types.Reservation{}}
	for _, i := range items {
		at := slices.IndexFunc(out.Reservations, func(r types.Reservation) bool { return *r.ReservationId == i.ReservationID })
		if at < 0 {
			at = len(out.Reservations)
			out.Reservations = append(out.Reservations, types.Reservation{ReservationId: aws.String(i.ReservationID), OwnerId: aws.String(c.Account)})
		}
		out.Reservations[at].Instances = append(out.Reservations[at].Instances, s.describeInstance(p, i))
	}
	return out, nil
}

func (s *instances) instanceFilters(c *store.Call) filters[*store.Instance] {
	p := c.Partition
	type inst = store.Instance
	known := filters[*inst]{
		"instance-id":         func(i *inst) []string { return textValue(i.ID) },
		"instance-state-name": func(i *inst) []string { return textValue(p.InstanceState(i)) },
		"instance-state-code": func(i *inst) []string {
			code := instanceStateCodes[p.InstanceState(i)]
			return textValue(formatNumber(&code))
		},
		"instance-type":     func(i *inst) []string { return textValue(i.Type) },
		"image-id":          func(i *inst) []string { return textValue(i.ImageID) },
		"vpc-id":            func(i *inst) []string { return textValue(i.VPCID) },
		"subnet-id":         func(i *inst) []string { return textValue(i.SubnetID) },
		"availability-zone": func(i *inst) []string { return textValue(i.Zone) },
		"private-dns-name":  func(i *inst) []string { return textValue(i.PrivateDNS) },
		"reservation-id":    func(i *inst) []string { return textValue(i.ReservationID) },
		"owner-id":          func(*inst) []string { return textValue(c.Account) },
		"private-ip-address": func(i *inst) []string {
			if len(i.Interfaces) == 0 {
				return nil
			}
			return textValue(primaryAddress(p.NetworkInterfaces[i.Interfaces[0]]))
		},
		"instance.group-id": func(i *inst) (out []string) {
			for _, id := range i.Interfaces {
				out = append(out, p.NetworkInterfaces[id].Groups...)
			}
			return out
		},
	}
	for name, values := range s.eniFilters(c) {
		known["network-interface."+name] = func(i *inst) (out []string) {
			for _, id := range i.Interfaces {
				out = append(out, values(p.NetworkInterfaces[id])...)
			}
			return out
		}
	}
	return known
}

func primaryAddress(e *store.NetworkInterface) string {
	if e == nil || len(e.Private) == 0 {
		return ""
	}
	return e.Private[0].Addr.String()
}

func (s *instances) describeInstance(p *store.Partition, i *store.Instance) types.Instance {
	out := types.Instance{
		InstanceId: aws.String(i.ID), ImageId: aws.String(i.ImageID), InstanceType: types.InstanceType(i.Type),
		State: newInstanceState(p.InstanceState(i)), LaunchTime: aws.Time(i.Launched), AmiLaunchIndex: aws.Int32(i.LaunchIndex),
		KeyName: store.StringOrNil(i.KeyName), ClientToken: store.StringOrNil(i.ClientToken), Architecture: types.ArchitectureValuesX8664,
		Placement:       &types.Placement{AvailabilityZone: aws.String(i.Zone), Tenancy: types.TenancyDefault},
		MetadataOptions: metadataOptions(i), Tags: s.tagList(p, i.ID),
		Monitoring: &types.Monitoring{State: types.MonitoringStateDisabled},
	}
	if !i.TerminatedAt.IsZero() {
		return out // a terminated instance has no ENIs
	}
	out.SubnetId, out.VpcId, out.PrivateDnsName = aws.String(i.SubnetID), aws.String(i.VPCID), store.StringOrNil(i.PrivateDNS)
	out.SourceDestCheck = aws.Bool(true)
	for n, id := range i.Interfaces {
		e := p.NetworkInterfaces[id]
		if e == nil {
			continue
		}
		if n == 0 {
			out.PrivateIpAddress = store.StringOrNil(primaryAddress(e))
			out.SecurityGroups = s.securityGroupIdentifiers(p, e.Groups)
			if len(e.IPv6) > 0 {
				out.Ipv6Address = aws.String(e.IPv6[0].String())
			}
		}
		out.NetworkInterfaces = append(out.NetworkInterfaces, s.describeInstanceENI(p, e))
	}
	return out
}

func metadataOptions(i *store.Instance) *types.InstanceMetadataOptionsResponse {
	return &types.InstanceMetadataOptionsResponse{
		State: types.InstanceMetadataOptionsStateApplied, HttpTokens: types.HttpTokensState(i.HTTPTokens),
		HttpPutResponseHopLimit: aws.Int32(i.HopLimit), HttpEndpoint: types.InstanceMetadataEndpointState(cmp.Or(i.HTTPEndpoint, "enabled")),
	}
}

func (s *instances) describeInstanceENI(p *store.Partition, e *store.NetworkInterface) types.InstanceNetworkInterface {
	out := types.InstanceNetworkInterface{
		NetworkInterfaceId: aws.String(e.ID), SubnetId: aws.String(e.SubnetID), VpcId: aws.String(e.VPCID),
		Description: aws.String(e.Description), InterfaceType: aws.String(e.Type), MacAddress: aws.String(e.MAC),
		OwnerId: aws.String(e.Owner), Status: eniStatus(e), SourceDestCheck: aws.Bool(e.SourceDestCheck),
		Groups: s.securityGroupIdentifiers(p, e.Groups), PrivateIpAddress: store.StringOrNil(primaryAddress(e)),
	}
	if a := e.Attachment; a != nil {
		out.Attachment = &types.InstanceNetworkInterfaceAttachment{
			AttachmentId: aws.String(a.ID), DeviceIndex: aws.Int32(a.DeviceIndex), Status: types.AttachmentStatusAttached,
			AttachTime: aws.Time(a.AttachTime), DeleteOnTermination: aws.Bool(a.DeleteOnEnd), NetworkCardIndex: aws.Int32(0),
		}
	}
	for _, a := range e.Private {
		out.PrivateIpAddresses = append(out.PrivateIpAddresses, types.InstancePrivateIpAddress{
			PrivateIpAddress: aws.String(a.Addr.String()), Primary: aws.Bool(a.Primary), PrivateDnsName: aws.String(p.PrivateDNS(a)),
		})
	}
	for _, a := range e.IPv6 {
		out.Ipv6Addresses = append(out.Ipv6Addresses, types.InstanceIpv6Address{Ipv6Address: aws.String(a.String())})
	}
	for _, b := range e.IPv4Prefixes {
		out.Ipv4Prefixes = append(out.Ipv4Prefixes, types.InstanceIpv4Prefix{Ipv4Prefix: aws.String(b.String())})
	}
	for _, b := range e.IPv6Prefixes {
		out.Ipv6Prefixes = append(out.Ipv6Prefixes, types.InstanceIpv6Prefix{Ipv6Prefix: aws.String(b.String())})
	}
	return out
}
