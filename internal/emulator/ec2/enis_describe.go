package ec2

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// DescribeNetworkInterfaces lists ENIs, including those that AWS services manage.
func (s *instances) DescribeNetworkInterfaces(c *store.Call, in *ec2.DescribeNetworkInterfacesInput) (*ec2.DescribeNetworkInterfacesOutput, error) {
	p := c.Partition
	items, next, err := describe(s.core, c, kindENI, p.NetworkInterfaces,
		describeQuery{in.NetworkInterfaceIds, in.Filters, in.MaxResults, in.NextToken}, s.eniFilters(c))
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeNetworkInterfacesOutput{NextToken: next, NetworkInterfaces: []types.NetworkInterface{}}
	for _, eni := range items {
		out.NetworkInterfaces = append(out.NetworkInterfaces, s.describeENI(p, eni))
	}
	return out, nil
}

func (s *instances) eniFilters(c *store.Call) filters[*store.NetworkInterface] {
	p := c.Partition
	type eni = store.NetworkInterface
	attachment := func(field func(*store.Attachment) string) func(*eni) []string {
		return func(e *eni) []string {
			if e.Attachment == nil {
				return nil
			}
			return textValue(field(e.Attachment))
		}
	}
	private := func(e *eni) (out []string) {
		for _, a := range e.Private {
			out = append(out, a.Addr.String())
		}
		return out
	}
	return filters[*eni]{
		"network-interface-id":         func(e *eni) []string { return textValue(e.ID) },
		"vpc-id":                       func(e *eni) []string { return textValue(e.VPCID) },
		"subnet-id":                    func(e *eni) []string { return textValue(e.SubnetID) },
		"group-id":                     func(e *eni) []string { return e.Groups },
		"description":                  func(e *eni) []string { return textValue(e.Description) },
		"interface-type":               func(e *eni) []string { return textValue(e.Type) },
		"status":                       func(e *eni) []string { return textValue(string(eniStatus(e))) },
		"availability-zone":            func(e *eni) []string { return textValue(e.Zone) },
		"mac-address":                  func(e *eni) []string { return textValue(e.MAC) },
		"owner-id":                     func(e *eni) []string { return textValue(e.Owner) },
		"requester-id":                 func(e *eni) []string { return textValue(e.RequesterID) },
		"requester-managed":            func(e *eni) []string { return boolValue(e.RequesterManaged) },
		"attachment.instance-id":       attachment(func(a *store.Attachment) string { return a.InstanceID }),
		"attachment.instance-owner-id": attachment(func(a *store.Attachment) string { return a.InstanceOwner }),
		"attachment.attachment-id":     attachment(func(a *store.Attachment) string { return a.ID }),
		"attachment.device-index":      attachment(func(a *store.Attachment) string { return formatNumber(&a.DeviceIndex) }),
		"attachment.status":            attachment(func(*store.Attachment) string { return "attached" }),
		"addresses.private-ip-address": private,
		"private-ip-address": func(e *eni) []string {
			if len(e.Private) == 0 {
				return nil
			}
			return textValue(e.Private[0].Addr.String())
		},
		"ipv6-addresses.ipv6-address": func(e *eni) (out []string) {
			for _, a := range e.IPv6 {
				out = append(out, a.String())
			}
			return out
		},
		"addresses.association.public-ip": func(e *eni) (out []string) {
			for _, a := range p.Addresses {
				if a.InterfaceID == e.ID {
					out = append(out, a.PublicIP.String())
				}
			}
			return out
		},
	}
}

func eniStatus(e *store.NetworkInterface) types.NetworkInterfaceStatus {
	if e.Attachment != nil {
		return types.NetworkInterfaceStatusInUse
	}
	return types.NetworkInterfaceStatusAvailable
}

func (s *instances) describeENI(p *store.Partition, e *store.NetworkInterface) types.NetworkInterface {
	out := types.NetworkInterface{
		NetworkInterfaceId: aws.String(e.ID), SubnetId: aws.String(e.SubnetID), VpcId: aws.String(e.VPCID),
		AvailabilityZone: aws.String(e.Zone), Description: aws.String(e.Description),
		InterfaceType: types.NetworkInterfaceType(e.Type), MacAddress: aws.String(e.MAC),
		Status: eniStatus(e), Groups: s.securityGroupIdentifiers(p, e.Groups),
		OwnerId: aws.String(e.Owner), RequesterId: store.StringOrNil(e.RequesterID), RequesterManaged: aws.Bool(e.RequesterManaged),
		SourceDestCheck: aws.Bool(e.SourceDestCheck), TagSet: s.tagList(p, e.ID),
	}
	if z := p.ZoneByName(e.Zone); z != nil {
		out.AvailabilityZoneId = aws.String(z.ID)
	}
	if a := e.Attachment; a != nil {
		out.Attachment = &types.NetworkInterfaceAttachment{
			AttachmentId: aws.String(a.ID), InstanceId: store.StringOrNil(a.InstanceID), InstanceOwnerId: aws.String(a.InstanceOwner),
			DeviceIndex: aws.Int32(a.DeviceIndex), Status: types.AttachmentStatusAttached,
			AttachTime: aws.Time(a.AttachTime), DeleteOnTermination: aws.Bool(a.DeleteOnEnd),
		}
	}
	for _, a := range e.Private {
		item := types.NetworkInterfacePrivateIpAddress{
			PrivateIpAddress: aws.String(a.Addr.String()), Primary: aws.Bool(a.Primary), PrivateDnsName: aws.String(p.PrivateDNS(a)),
		}
		for _, id := range store.SortedKeys(p.Addresses) {
			if eip := p.Addresses[id]; eip.InterfaceID == e.ID && eip.PrivateIP == a.Addr {
				item.Association = &types.NetworkInterfaceAssociation{
					AllocationId: aws.String(eip.AllocationID), AssociationId: aws.String(eip.AssociationID),
					PublicIp: aws.String(eip.PublicIP.String()), IpOwnerId: aws.String(p.Account),
				}
			}
		}
		if a.Primary {
			out.PrivateIpAddress, out.PrivateDnsName, out.Association = item.PrivateIpAddress, item.PrivateDnsName, item.Association
		}
		out.PrivateIpAddresses = append(out.PrivateIpAddresses, item)
	}
	for _, a := range e.IPv6 {
		out.Ipv6Addresses = append(out.Ipv6Addresses, types.NetworkInterfaceIpv6Address{Ipv6Address: aws.String(a.String())})
	}
	if len(e.IPv6) > 0 {
		out.Ipv6Address = aws.String(e.IPv6[0].String())
	}
	for _, b := range e.IPv4Prefixes {
		out.Ipv4Prefixes = append(out.Ipv4Prefixes, types.Ipv4PrefixSpecification{Ipv4Prefix: aws.String(b.String())})
	}
	for _, b := range e.IPv6Prefixes {
		out.Ipv6Prefixes = append(out.Ipv6Prefixes, types.Ipv6PrefixSpecification{Ipv6Prefix: aws.String(b.String())})
	}
	return out
}

func (s *instances) securityGroupIdentifiers(p *store.Partition, ids []string) []types.GroupIdentifier {
	out := make([]types.GroupIdentifier, 0, len(ids))
	for _, id := range ids {
		item := types.GroupIdentifier{GroupId: aws.String(id)}
		if g := p.SecurityGroups[id]; g != nil {
			item.GroupName = aws.String(g.Name)
		}
		out = append(out, item)
	}
	return store.Shuffle(s.store, out)
}
