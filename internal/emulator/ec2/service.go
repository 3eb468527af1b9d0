package ec2

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Service serves the operations of EC2. The embedded types serve all operations except those on tags.
type Service struct {
	*core
	networks
	instances
	securityGroups
}

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service {
	c := &core{w}
	return &Service{c, networks{c}, instances{c}, securityGroups{c}}
}

// core contains the emulator state, which the operations of all resource types use.
type core struct{ store *store.Store }

// These types group the operations by resource type. Operations on routes, addresses and prefix lists are methods of
// networks, those on ENIs are methods of instances.
type (
	networks       struct{ *core }
	instances      struct{ *core }
	securityGroups struct{ *core }
)

// Operations returns the operations of the service, with the request members that each operation supports.
func (s *Service) Operations() []wire.Operation {
	describe := []string{"Filters", "MaxResults", "NextToken"}
	with := func(ids string) []string { return append([]string{ids}, describe...) }
	permissions := []string{"GroupId", "GroupName", "IpPermissions", "IpProtocol", "FromPort", "ToPort", "CidrIp"}
	return []wire.Operation{
		newOperation("DescribeAvailabilityZones", s.DescribeAvailabilityZones, "ZoneNames", "ZoneIds", "AllAvailabilityZones", "Filters"),
		newOperation("DescribeRegions", s.DescribeRegions, "RegionNames", "AllRegions"),

		newOperation("CreateVpc", s.CreateVpc, "CidrBlock", "AmazonProvidedIpv6CidrBlock", "InstanceTenancy", "TagSpecifications"),
		newOperation("DescribeVpcs", s.DescribeVpcs, with("VpcIds")...),
		newOperation("DeleteVpc", s.DeleteVpc, "VpcId"),
		newOperation("AssociateVpcCidrBlock", s.AssociateVpcCidrBlock, "VpcId", "CidrBlock", "AmazonProvidedIpv6CidrBlock"),
		newOperation("ModifyVpcAttribute", s.ModifyVpcAttribute, "VpcId", "EnableDnsHostnames", "EnableDnsSupport"),

		newOperation("CreateSubnet", s.CreateSubnet, "VpcId", "CidrBlock", "Ipv6CidrBlock", "Ipv6Native", "AvailabilityZone", "AvailabilityZoneId", "OutpostArn", "TagSpecifications"),
		newOperation("DescribeSubnets", s.DescribeSubnets, with("SubnetIds")...),
		newOperation("DeleteSubnet", s.DeleteSubnet, "SubnetId"),
		newOperation("AssociateSubnetCidrBlock", s.AssociateSubnetCidrBlock, "SubnetId", "Ipv6CidrBlock"),
		newOperation("ModifySubnetAttribute", s.ModifySubnetAttribute, "SubnetId", "MapPublicIpOnLaunch", "AssignIpv6AddressOnCreation"),

		newOperation("CreateInternetGateway", s.CreateInternetGateway, "TagSpecifications"),
		newOperation("AttachInternetGateway", s.AttachInternetGateway, "InternetGatewayId", "VpcId"),
		newOperation("DetachInternetGateway", s.DetachInternetGateway, "InternetGatewayId", "VpcId"),
		newOperation("DeleteInternetGateway", s.DeleteInternetGateway, "InternetGatewayId"),
		newOperation("DescribeInternetGateways", s.DescribeInternetGateways, with("InternetGatewayIds")...),

		newOperation("CreateRouteTable", s.CreateRouteTable, "VpcId", "TagSpecifications", "ClientToken"),
		newOperation("CreateRoute", s.CreateRoute, "RouteTableId", "DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId",
			"GatewayId", "NatGatewayId", "NetworkInterfaceId", "VpcPeeringConnectionId", "TransitGatewayId", "EgressOnlyInternetGatewayId"),
		newOperation("AssociateRouteTable", s.AssociateRouteTable, "RouteTableId", "SubnetId"),
		newOperation("DisassociateRouteTable", s.DisassociateRouteTable, "AssociationId"),
		newOperation("DeleteRouteTable", s.DeleteRouteTable, "RouteTableId"),
		newOperation("DescribeRouteTables", s.DescribeRouteTables, with("RouteTableIds")...),

		newOperation("CreateSecurityGroup", s.CreateSecurityGroup, "GroupName", "Description", "VpcId", "TagSpecifications"),
		newOperation("DeleteSecurityGroup", s.DeleteSecurityGroup, "GroupId", "GroupName"),
		newOperation("DescribeSecurityGroups", s.DescribeSecurityGroups, append([]string{"GroupNames"}, with("GroupIds")...)...),
		newOperation("AuthorizeSecurityGroupIngress", s.AuthorizeSecurityGroupIngress, append([]string{"TagSpecifications"}, permissions...)...),
		newOperation("AuthorizeSecurityGroupEgress", s.AuthorizeSecurityGroupEgress, "GroupId", "IpPermissions", "TagSpecifications"),
		newOperation("RevokeSecurityGroupIngress", s.RevokeSecurityGroupIngress, append([]string{"SecurityGroupRuleIds"}, permissions...)...),
		newOperation("RevokeSecurityGroupEgress", s.RevokeSecurityGroupEgress, "GroupId", "IpPermissions", "SecurityGroupRuleIds"),
		newOperation("UpdateSecurityGroupRuleDescriptionsIngress", s.UpdateSecurityGroupRuleDescriptionsIngress, "GroupId", "IpPermissions", "SecurityGroupRuleDescriptions"),
		newOperation("DescribeSecurityGroupRules", s.DescribeSecurityGroupRules, with("SecurityGroupRuleIds")...),

		newOperation("CreateNetworkInterface", s.CreateNetworkInterface, "SubnetId", "Description", "Groups", "PrivateIpAddress", "PrivateIpAddresses",
			"SecondaryPrivateIpAddressCount", "Ipv6AddressCount", "Ipv6Addresses", "InterfaceType", "Ipv4Prefixes", "Ipv6Prefixes", "TagSpecifications", "ClientToken"),
		newOperation("DescribeNetworkInterfaces", s.DescribeNetworkInterfaces, with("NetworkInterfaceIds")...),
		newOperation("DeleteNetworkInterface", s.DeleteNetworkInterface, "NetworkInterfaceId"),
		newOperation("AttachNetworkInterface", s.AttachNetworkInterface, "NetworkInterfaceId", "InstanceId", "DeviceIndex", "NetworkCardIndex"),
		newOperation("DetachNetworkInterface", s.DetachNetworkInterface, "AttachmentId", "Force"),
		newOperation("ModifyNetworkInterfaceAttribute", s.ModifyNetworkInterfaceAttribute, "NetworkInterfaceId", "Groups", "Description", "SourceDestCheck"),
		newOperation("AssignPrivateIpAddresses", s.AssignPrivateIpAddresses, "NetworkInterfaceId", "PrivateIpAddresses", "SecondaryPrivateIpAddressCount", "AllowReassignment", "Ipv4Prefixes", "Ipv4PrefixCount"),
		newOperation("UnassignPrivateIpAddresses", s.UnassignPrivateIpAddresses, "NetworkInterfaceId", "PrivateIpAddresses", "Ipv4Prefixes"),
		newOperation("AssignIpv6Addresses", s.AssignIpv6Addresses, "NetworkInterfaceId", "Ipv6Addresses", "Ipv6AddressCount"),

		newOperation("AllocateAddress", s.AllocateAddress, "Domain", "TagSpecifications"),
		newOperation("ReleaseAddress", s.ReleaseAddress, "AllocationId"),
		newOperation("DescribeAddresses", s.DescribeAddresses, "AllocationIds", "PublicIps", "Filters"),

		newOperation("CreateManagedPrefixList", s.CreateManagedPrefixList, "PrefixListName", "AddressFamily", "MaxEntries", "Entries", "TagSpecifications", "ClientToken"),
		newOperation("DeleteManagedPrefixList", s.DeleteManagedPrefixList, "PrefixListId"),
		newOperation("DescribeManagedPrefixLists", s.DescribeManagedPrefixLists, with("PrefixListIds")...),
		newOperation("GetManagedPrefixListEntries", s.GetManagedPrefixListEntries, "PrefixListId", "TargetVersion", "MaxResults", "NextToken"),

		newOperation("CreateIpamPool", s.CreateIpamPool, "IpamScopeId", "AddressFamily", "Description", "Locale", "TagSpecifications", "ClientToken"),
		newOperation("DescribeIpamPools", s.DescribeIpamPools, with("IpamPoolIds")...),
		newOperation("DescribeCoipPools", s.DescribeCoipPools, with("PoolIds")...),

		newOperation("DescribeImages", s.DescribeImages, "ImageIds", "Owners", "Filters", "MaxResults", "NextToken"),
		newOperation("RunInstances", s.RunInstances, "ImageId", "MinCount", "MaxCount", "InstanceType", "SubnetId", "SecurityGroupIds", "SecurityGroups", "PrivateIpAddress",
			"Ipv6AddressCount", "KeyName", "TagSpecifications", "ClientToken", "MetadataOptions.HttpTokens", "MetadataOptions.HttpPutResponseHopLimit",
			"MetadataOptions.HttpEndpoint", "Placement.AvailabilityZone", "NetworkInterfaces.DeviceIndex", "NetworkInterfaces.SubnetId",
			"NetworkInterfaces.Groups", "NetworkInterfaces.PrivateIpAddress", "NetworkInterfaces.DeleteOnTermination", "NetworkInterfaces.Description",
			"NetworkInterfaces.SecondaryPrivateIpAddressCount"),
		newOperation("DescribeInstances", s.DescribeInstances, with("InstanceIds")...),
		newOperation("StartInstances", s.StartInstances, "InstanceIds"),
		newOperation("StopInstances", s.StopInstances, "InstanceIds", "Force"),
		newOperation("TerminateInstances", s.TerminateInstances, "InstanceIds"),

		newOperation("CreateTags", s.CreateTags, "Resources", "Tags"),
		newOperation("DeleteTags", s.DeleteTags, "Resources", "Tags"),
		newOperation("DescribeTags", s.DescribeTags, describe...),
	}
}

// newOperation returns an operation that calls fn. members are the request members that fn supports. If input type I has
// the member DryRun, the operation also supports DryRun. Before each call, ENIs and instances whose removal is due are
// removed from the state.
func newOperation[I, O any](name string, fn func(*store.Call, *I) (*O, error), members ...string) wire.Operation {
	field, ok := reflect.TypeFor[I]().FieldByName("DryRun")
	if ok {
		members = append([]string{field.Name}, members...)
	}
	return wire.NewOperation(name, func(c *store.Call, in *I) (*O, error) {
		if ok {
			asked, _ := reflect.ValueOf(in).Elem().FieldByIndex(field.Index).Interface().(*bool)
			if aws.ToBool(asked) {
				return nil, store.Errorf(store.UnprovenSource, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.").WithStatus(412)
			}
		}
		c.Partition.RemoveExpiredResources()
		return fn(c, in)
	}, wire.HandledMembers(members...))
}

// TaggedResources implements store.TagSource.
func (s *Service) TaggedResources(p *store.Partition) []store.TaggedResource {
	var out []store.TaggedResource
	for _, id := range store.SortedKeys(p.Tags) {
		kind := resourceTypeOf(id)
		out = append(out, store.TaggedResource{ARN: p.ARN("ec2", kind+"/"+id), Type: "ec2:" + kind, Tags: p.Tags[id]})
	}
	return out
}
