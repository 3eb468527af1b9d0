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

// core has the state that all resource types share.
type core struct{ w *store.Store }

// These types have the operations by subject. Routes, addresses and prefix lists belong to networks, ENIs to
// instances.
type (
	networks       struct{ *core }
	instances      struct{ *core }
	securityGroups struct{ *core }
)

// Operations lists the operations of the service.
func (s *Service) Operations() []wire.Operation {
	describe := []string{"Filters", "MaxResults", "NextToken"}
	with := func(ids string) []string { return append([]string{ids}, describe...) }
	permissions := []string{"GroupId", "GroupName", "IpPermissions", "IpProtocol", "FromPort", "ToPort", "CidrIp"}
	return []wire.Operation{
		op("DescribeAvailabilityZones", s.DescribeAvailabilityZones, "ZoneNames", "ZoneIds", "AllAvailabilityZones", "Filters"),
		op("DescribeRegions", s.DescribeRegions, "RegionNames", "AllRegions"),

		op("CreateVpc", s.CreateVpc, "CidrBlock", "AmazonProvidedIpv6CidrBlock", "InstanceTenancy", "TagSpecifications"),
		op("DescribeVpcs", s.DescribeVpcs, with("VpcIds")...),
		op("DeleteVpc", s.DeleteVpc, "VpcId"),
		op("AssociateVpcCidrBlock", s.AssociateVpcCidrBlock, "VpcId", "CidrBlock", "AmazonProvidedIpv6CidrBlock"),
		op("ModifyVpcAttribute", s.ModifyVpcAttribute, "VpcId", "EnableDnsHostnames", "EnableDnsSupport"),

		op("CreateSubnet", s.CreateSubnet, "VpcId", "CidrBlock", "Ipv6CidrBlock", "Ipv6Native", "AvailabilityZone", "AvailabilityZoneId", "OutpostArn", "TagSpecifications"),
		op("DescribeSubnets", s.DescribeSubnets, with("SubnetIds")...),
		op("DeleteSubnet", s.DeleteSubnet, "SubnetId"),
		op("AssociateSubnetCidrBlock", s.AssociateSubnetCidrBlock, "SubnetId", "Ipv6CidrBlock"),
		op("ModifySubnetAttribute", s.ModifySubnetAttribute, "SubnetId", "MapPublicIpOnLaunch", "AssignIpv6AddressOnCreation"),

		op("CreateInternetGateway", s.CreateInternetGateway, "TagSpecifications"),
		op("AttachInternetGateway", s.AttachInternetGateway, "InternetGatewayId", "VpcId"),
		op("DetachInternetGateway", s.DetachInternetGateway, "InternetGatewayId", "VpcId"),
		op("DeleteInternetGateway", s.DeleteInternetGateway, "InternetGatewayId"),
		op("DescribeInternetGateways", s.DescribeInternetGateways, with("InternetGatewayIds")...),

		op("CreateRouteTable", s.CreateRouteTable, "VpcId", "TagSpecifications", "ClientToken"),
		op("CreateRoute", s.CreateRoute, "RouteTableId", "DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId",
			"GatewayId", "NatGatewayId", "NetworkInterfaceId", "VpcPeeringConnectionId", "TransitGatewayId", "EgressOnlyInternetGatewayId"),
		op("AssociateRouteTable", s.AssociateRouteTable, "RouteTableId", "SubnetId"),
		op("DisassociateRouteTable", s.DisassociateRouteTable, "AssociationId"),
		op("DeleteRouteTable", s.DeleteRouteTable, "RouteTableId"),
		op("DescribeRouteTables", s.DescribeRouteTables, with("RouteTableIds")...),

		op("CreateSecurityGroup", s.CreateSecurityGroup, "GroupName", "Description", "VpcId", "TagSpecifications"),
		op("DeleteSecurityGroup", s.DeleteSecurityGroup, "GroupId", "GroupName"),
		op("DescribeSecurityGroups", s.DescribeSecurityGroups, append([]string{"GroupNames"}, with("GroupIds")...)...),
		op("AuthorizeSecurityGroupIngress", s.AuthorizeSecurityGroupIngress, append([]string{"TagSpecifications"}, permissions...)...),
		op("AuthorizeSecurityGroupEgress", s.AuthorizeSecurityGroupEgress, "GroupId", "IpPermissions", "TagSpecifications"),
		op("RevokeSecurityGroupIngress", s.RevokeSecurityGroupIngress, append([]string{"SecurityGroupRuleIds"}, permissions...)...),
		op("RevokeSecurityGroupEgress", s.RevokeSecurityGroupEgress, "GroupId", "IpPermissions", "SecurityGroupRuleIds"),
		op("UpdateSecurityGroupRuleDescriptionsIngress", s.UpdateSecurityGroupRuleDescriptionsIngress, "GroupId", "IpPermissions", "SecurityGroupRuleDescriptions"),
		op("DescribeSecurityGroupRules", s.DescribeSecurityGroupRules, with("SecurityGroupRuleIds")...),

		op("CreateNetworkInterface", s.CreateNetworkInterface, "SubnetId", "Description", "Groups", "PrivateIpAddress", "PrivateIpAddresses",
			"SecondaryPrivateIpAddressCount", "Ipv6AddressCount", "Ipv6Addresses", "InterfaceType", "Ipv4Prefixes", "Ipv6Prefixes", "TagSpecifications", "ClientToken"),
		op("DescribeNetworkInterfaces", s.DescribeNetworkInterfaces, with("NetworkInterfaceIds")...),
		op("DeleteNetworkInterface", s.DeleteNetworkInterface, "NetworkInterfaceId"),
		op("AttachNetworkInterface", s.AttachNetworkInterface, "NetworkInterfaceId", "InstanceId", "DeviceIndex", "NetworkCardIndex"),
		op("DetachNetworkInterface", s.DetachNetworkInterface, "AttachmentId", "Force"),
		op("ModifyNetworkInterfaceAttribute", s.ModifyNetworkInterfaceAttribute, "NetworkInterfaceId", "Groups", "Description", "SourceDestCheck"),
		op("AssignPrivateIpAddresses", s.AssignPrivateIpAddresses, "NetworkInterfaceId", "PrivateIpAddresses", "SecondaryPrivateIpAddressCount", "AllowReassignment", "Ipv4Prefixes", "Ipv4PrefixCount"),
		op("UnassignPrivateIpAddresses", s.UnassignPrivateIpAddresses, "NetworkInterfaceId", "PrivateIpAddresses", "Ipv4Prefixes"),
		op("AssignIpv6Addresses", s.AssignIpv6Addresses, "NetworkInterfaceId", "Ipv6Addresses", "Ipv6AddressCount"),

		op("AllocateAddress", s.AllocateAddress, "Domain", "TagSpecifications"),
		op("ReleaseAddress", s.ReleaseAddress, "AllocationId"),
		op("DescribeAddresses", s.DescribeAddresses, "AllocationIds", "PublicIps", "Filters"),

		op("CreateManagedPrefixList", s.CreateManagedPrefixList, "PrefixListName", "AddressFamily", "MaxEntries", "Entries", "TagSpecifications", "ClientToken"),
		op("DeleteManagedPrefixList", s.DeleteManagedPrefixList, "PrefixListId"),
		op("DescribeManagedPrefixLists", s.DescribeManagedPrefixLists, with("PrefixListIds")...),
		op("GetManagedPrefixListEntries", s.GetManagedPrefixListEntries, "PrefixListId", "TargetVersion", "MaxResults", "NextToken"),

		op("CreateIpamPool", s.CreateIpamPool, "IpamScopeId", "AddressFamily", "Description", "Locale", "TagSpecifications", "ClientToken"),
		op("DescribeIpamPools", s.DescribeIpamPools, with("IpamPoolIds")...),
		op("DescribeCoipPools", s.DescribeCoipPools, with("PoolIds")...),

		op("DescribeImages", s.DescribeImages, "ImageIds", "Owners", "Filters", "MaxResults", "NextToken"),
		op("RunInstances", s.RunInstances, "ImageId", "MinCount", "MaxCount", "InstanceType", "SubnetId", "SecurityGroupIds", "SecurityGroups", "PrivateIpAddress",
			"Ipv6AddressCount", "KeyName", "TagSpecifications", "ClientToken", "MetadataOptions.HttpTokens", "MetadataOptions.HttpPutResponseHopLimit",
			"MetadataOptions.HttpEndpoint", "Placement.AvailabilityZone", "NetworkInterfaces.DeviceIndex", "NetworkInterfaces.SubnetId",
			"NetworkInterfaces.Groups", "NetworkInterfaces.PrivateIpAddress", "NetworkInterfaces.DeleteOnTermination", "NetworkInterfaces.Description",
			"NetworkInterfaces.SecondaryPrivateIpAddressCount"),
		op("DescribeInstances", s.DescribeInstances, with("InstanceIds")...),
		op("StartInstances", s.StartInstances, "InstanceIds"),
		op("StopInstances", s.StopInstances, "InstanceIds", "Force"),
		op("TerminateInstances", s.TerminateInstances, "InstanceIds"),

		op("CreateTags", s.CreateTags, "Resources", "Tags"),
		op("DeleteTags", s.DeleteTags, "Resources", "Tags"),
		op("DescribeTags", s.DescribeTags, describe...),
	}
}

// op returns an operation. It supports DryRun if the input has this member.
func op[I, O any](name string, fn func(*store.Call, *I) (*O, error), members ...string) wire.Operation {
	field, ok := reflect.TypeFor[I]().FieldByName("DryRun")
	if ok {
		members = append([]string{field.Name}, members...)
	}
	return wire.Op(name, func(c *store.Call, in *I) (*O, error) {
		if ok {
			asked, _ := reflect.ValueOf(in).Elem().FieldByIndex(field.Index).Interface().(*bool)
			if aws.ToBool(asked) {
				return nil, store.Errorf(store.Unproven, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.").WithStatus(412)
			}
		}
		c.Partition.RemoveExpired()
		return fn(c, in)
	}, wire.Handles(members...))
}

// TaggedResources implements store.TagSource.
func (s *Service) TaggedResources(p *store.Partition) []store.TaggedResource {
	var out []store.TaggedResource
	for _, id := range store.SortedKeys(p.Tags) {
		kind := resourceType(id)
		out = append(out, store.TaggedResource{ARN: p.ARN("ec2", kind+"/"+id), Type: "ec2:" + kind, Tags: p.Tags[id]})
	}
	return out
}
