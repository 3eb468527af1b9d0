package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// CreateNetworkInterface creates an ENI with its addresses.
func (s *instances) CreateNetworkInterface(c *store.Call, in *ec2.CreateNetworkInterfaceInput) (*ec2.CreateNetworkInterfaceOutput, error) {
	p := c.Partition
	if eni := resourceByToken(c, p.NetworkInterfaces, in.ClientToken); eni != nil {
		return &ec2.CreateNetworkInterfaceOutput{NetworkInterface: new(s.describeENI(p, eni)), ClientToken: in.ClientToken}, nil
	}
	sub, err := findResource(kindSubnet, p.Subnets, in.SubnetId)
	if err != nil {
		return nil, err
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeNetworkInterface)
	if err != nil {
		return nil, err
	}
	want := eniRequest{
		securityGroups: in.Groups, description: aws.ToString(in.Description), eniType: string(in.InterfaceType),
		primaryAddress: in.PrivateIpAddress, secondaryCount: int(aws.ToInt32(in.SecondaryPrivateIpAddressCount)),
		ipv6Count: int(aws.ToInt32(in.Ipv6AddressCount)),
	}
	for _, a := range in.PrivateIpAddresses {
		if aws.ToBool(a.Primary) {
			want.primaryAddress = a.PrivateIpAddress
		} else {
			want.addresses = append(want.addresses, aws.ToString(a.PrivateIpAddress))
		}
	}
	for _, a := range in.Ipv6Addresses {
		want.ipv6Addresses = append(want.ipv6Addresses, aws.ToString(a.Ipv6Address))
	}
	for _, x := range in.Ipv4Prefixes {
		want.prefixes = append(want.prefixes, aws.ToString(x.Ipv4Prefix))
	}
	for _, x := range in.Ipv6Prefixes {
		want.prefixes = append(want.prefixes, aws.ToString(x.Ipv6Prefix))
	}
	eni, err := s.newENI(p, sub, want)
	if err != nil {
		return nil, err
	}
	p.AddTags(eni.ID, tags)
	recordToken(c, in.ClientToken, eni.ID)
	return &ec2.CreateNetworkInterfaceOutput{NetworkInterface: new(s.describeENI(p, eni)), ClientToken: in.ClientToken}, nil
}

// resolveSecurityGroups checks the security groups for an ENI in a VPC, and returns their IDs. If ids is empty, it returns
// the default security group of the VPC.
func (s *instances) resolveSecurityGroups(p *store.Partition, vpcID string, ids []string) ([]string, *store.Error) {
	if len(ids) == 0 {
		if g := p.DefaultSecurityGroup(vpcID); g != nil {
			return []string{g.ID}, nil
		}
		return nil, nil
	}
	if len(ids) > s.store.Quota("security-groups-per-interface", 5) {
		return nil, store.Errorf(store.UnprovenSource, "SecurityGroupsPerInterfaceLimitExceeded", "The maximum number of security groups per interface has been reached.")
	}
	var out []string
	for _, id := range ids {
		g, err := findResource(kindSecurityGroup, p.SecurityGroups, aws.String(id))
		if err != nil {
			return nil, err
		}
		if g.VPCID != vpcID {
			return nil, store.Errorf(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#1862"), "InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
		}
		if slices.Contains(out, id) {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The same security group must not appear multiple times: %s", id)
		}
		out = append(out, id)
	}
	return out, nil
}

// DeleteNetworkInterface deletes an ENI that is not attached. It disassociates the Elastic IP addresses of the ENI.
func (s *instances) DeleteNetworkInterface(c *store.Call, in *ec2.DeleteNetworkInterfaceInput) (*ec2.DeleteNetworkInterfaceOutput, error) {
	eni, err := findResource(kindENI, c.Partition.NetworkInterfaces, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	if eni.RequesterManaged {
		return nil, managedByServiceError(eni)
	}
	if eni.Attachment != nil {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Network interface '%s' is currently in use.", eni.ID)
	}
	for _, a := range c.Partition.Addresses {
		if a.InterfaceID == eni.ID {
			a.Disassociate()
		}
	}
	c.Partition.RemoveENI(eni.ID)
	return &ec2.DeleteNetworkInterfaceOutput{}, nil
}

func managedByServiceError(eni *store.NetworkInterface) *store.Error {
	return store.Errorf(store.UnprovenSource, "AuthFailure", "You do not have permission to access the specified resource: %s is managed by a service", eni.ID).WithStatus(403)
}

// AttachNetworkInterface attaches an ENI to an instance in the same Availability Zone.
func (s *instances) AttachNetworkInterface(c *store.Call, in *ec2.AttachNetworkInterfaceInput) (*ec2.AttachNetworkInterfaceOutput, error) {
	p := c.Partition
	eni, err := findResource(kindENI, p.NetworkInterfaces, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	i, err := findResource(kindInstance, p.Instances, in.InstanceId)
	if err != nil {
		return nil, err
	}
	if eni.Attachment != nil {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Interface: [%s] in use.", eni.ID)
	}
	if eni.Zone != i.Zone {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterCombination", "You may not attach a network interface to an instance if they are not in the same availability zone")
	}
	if in.DeviceIndex == nil {
		return nil, store.Errorf(store.UnprovenSource, "MissingParameter", "The request must contain the parameter deviceIndex")
	}
	for _, id := range i.Interfaces {
		if other := p.NetworkInterfaces[id]; other != nil && other.Attachment.DeviceIndex == *in.DeviceIndex {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Instance '%s' already has an interface attached at device index '%d'.", i.ID, *in.DeviceIndex)
		}
	}
	s.attachENI(c, eni, i, *in.DeviceIndex, false)
	return &ec2.AttachNetworkInterfaceOutput{AttachmentId: aws.String(eni.Attachment.ID), NetworkCardIndex: aws.Int32(0)}, nil
}

// attachENI attaches an ENI to instance i with a device index. If deleteOnEnd is true, the termination of the instance
// deletes the ENI.
func (s *instances) attachENI(c *store.Call, eni *store.NetworkInterface, i *store.Instance, index int32, deleteOnEnd bool) {
	eni.Attachment = &store.Attachment{
		ID: s.store.NewID("eni-attach-"), InstanceID: i.ID, InstanceOwner: c.Account,
		DeviceIndex: index, AttachTime: c.Now, DeleteOnEnd: deleteOnEnd,
	}
	i.Interfaces = append(i.Interfaces, eni.ID)
	slices.SortFunc(i.Interfaces, func(a, b string) int {
		return int(c.Partition.NetworkInterfaces[a].Attachment.DeviceIndex - c.Partition.NetworkInterfaces[b].Attachment.DeviceIndex)
	})
}

// DetachNetworkInterface detaches an ENI from its instance.
func (s *instances) DetachNetworkInterface(c *store.Call, in *ec2.DetachNetworkInterfaceInput) (*ec2.DetachNetworkInterfaceOutput, error) {
	id := aws.ToString(in.AttachmentId)
	for _, eni := range c.Partition.NetworkInterfaces {
		if eni.Attachment == nil || eni.Attachment.ID != id {
			continue
		}
		if eni.RequesterManaged {
			return nil, managedByServiceError(eni)
		}
		if eni.Attachment.DeviceIndex == 0 {
			return nil, store.Errorf(store.UnprovenSource, "OperationNotPermitted", "The network interface at device index 0 cannot be detached.")
		}
		detachENI(c.Partition, eni)
		return &ec2.DetachNetworkInterfaceOutput{}, nil
	}
	return nil, store.Errorf(store.UnprovenSource, "InvalidAttachmentID.NotFound", "The attachment '%s' does not exist", id)
}

func detachENI(p *store.Partition, eni *store.NetworkInterface) {
	if i := p.Instances[eni.Attachment.InstanceID]; i != nil {
		i.Interfaces = withoutMatching(i.Interfaces, func(id string) bool { return id == eni.ID })
	}
	eni.Attachment = nil
}

// ModifyNetworkInterfaceAttribute sets the security groups, the description or the source/destination check of an ENI. After
// an error the ENI is unchanged.
func (s *instances) ModifyNetworkInterfaceAttribute(c *store.Call, in *ec2.ModifyNetworkInterfaceAttributeInput) (*ec2.ModifyNetworkInterfaceAttributeOutput, error) {
	eni, err := findResource(kindENI, c.Partition.NetworkInterfaces, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	if eni.RequesterManaged {
		return nil, managedByServiceError(eni)
	}
	if len(in.Groups) > 0 {
		groups, err := s.resolveSecurityGroups(c.Partition, eni.VPCID, in.Groups)
		if err != nil {
			return nil, err
		}
		eni.Groups = groups
	}
	if in.Description != nil {
		eni.Description = aws.ToString(in.Description.Value)
	}
	if in.SourceDestCheck != nil {
		eni.SourceDestCheck = aws.ToBool(in.SourceDestCheck.Value)
	}
	return &ec2.ModifyNetworkInterfaceAttributeOutput{}, nil
}
