package store

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"time"
)

// ServiceENIOptions describes an ENI that an AWS service such as Elastic Load Balancing creates.
type ServiceENIOptions struct {
	Description string
	// Requester is the requester ID of the service, such as "amazon-elb".
	Requester string
	// InstanceOwner is the instance owner in the attachment. If it is empty, Requester is used.
	InstanceOwner string
	// Type is the type of the ENI. If it is empty, the type is "interface".
	Type     string
	SubnetID string
	Groups   []string
	// Address is the primary private address. If it is the zero Addr, the lowest free address of the subnet is used.
	Address netip.Addr
	// IPv6 adds an IPv6 address to the ENI.
	IPv6 bool
	// Secondary is the number of secondary private addresses.
	Secondary int
}

// CreateServiceENI creates an ENI of an AWS service, with a free private address of the subnet. Its error codes are
// InvalidSubnetID.NotFound and InsufficientFreeAddressesInSubnet, and InvalidParameterValue for a subnet without IPv4.
func (p *Partition) CreateServiceENI(desc, requester, subnetID string, groups []string) (*NetworkInterface, *Error) {
	return p.CreateServiceENIWithOptions(ServiceENIOptions{
		Description: desc, Requester: requester, SubnetID: subnetID, Groups: groups,
	})
}

// CreateServiceENIWithOptions creates an ENI of an AWS service. If it returns an error, no ENI is created.
func (p *Partition) CreateServiceENIWithOptions(o ServiceENIOptions) (*NetworkInterface, *Error) {
	p.RemoveExpiredResources()
	s := p.Subnets[o.SubnetID]
	if s == nil {
		return nil, Errorf(ReportSource("terraform-aws-modules/terraform-aws-ec2-instance#20"), "InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", o.SubnetID)
	}
	eni := p.newENI(s)
	eni.Description = o.Description
	if o.Type != "" {
		eni.Type = o.Type
	}
	eni.Groups = append([]string{}, o.Groups...)
	eni.RequesterID, eni.RequesterManaged = o.Requester, true
	owner := cmp.Or(o.InstanceOwner, o.Requester)
	eni.Attachment = &Attachment{ID: p.store.NewID("ela-attach-"), InstanceOwner: owner, DeviceIndex: 1, AttachTime: p.now()}
	if o.Address.IsValid() {
		if err := p.CheckFreeIPv4(s, o.Address); err != nil {
			return nil, err
		}
		eni.Private = []PrivateAddress{{Addr: o.Address, Primary: true}}
		p.NetworkInterfaces[eni.ID] = eni // FindFreeIPv4Addresses must not return the address again
	}
	if n := 1 + o.Secondary - len(eni.Private); n > 0 {
		addrs, err := p.FindFreeIPv4Addresses(s, n)
		if err != nil {
			delete(p.NetworkInterfaces, eni.ID)
			return nil, err
		}
		for _, a := range addrs {
			eni.Private = append(eni.Private, PrivateAddress{Addr: a, Primary: len(eni.Private) == 0})
		}
	}
	if o.IPv6 {
		addrs, err := p.FindFreeIPv6Addresses(s, 1)
		if err != nil {
			delete(p.NetworkInterfaces, eni.ID)
			return nil, err
		}
		eni.IPv6 = addrs
	}
	p.NetworkInterfaces[eni.ID] = eni
	return eni, nil
}

// CreateENI creates an ENI in a subnet. It has no addresses and no security groups; the caller must add them.
func (p *Partition) CreateENI(s *Subnet) *NetworkInterface {
	eni := p.newENI(s)
	p.NetworkInterfaces[eni.ID] = eni
	return eni
}

func (p *Partition) newENI(s *Subnet) *NetworkInterface {
	n := p.store.ids.Uint64()
	return &NetworkInterface{
		ID: p.store.NewID("eni-"), SubnetID: s.ID, VPCID: s.VPCID, Zone: s.Zone,
		Type: "interface", Owner: p.Account, SourceDestCheck: true, Created: p.now(),
		// The first byte 06 has the bit of locally administered MAC addresses.
		MAC: fmt.Sprintf("06:%02x:%02x:%02x:%02x:%02x", byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32)),
	}
}

// DeleteServiceENI deletes an ENI of an AWS service. The ENI is removed after the duration linger, which may be 0. Until
// then, its security groups cannot be deleted. An ID that does not exist is ignored.
func (p *Partition) DeleteServiceENI(id string, linger time.Duration) {
	eni := p.NetworkInterfaces[id]
	if eni == nil {
		return
	}
	for _, a := range p.Addresses {
		if a.InterfaceID == id {
			a.Disassociate()
		}
	}
	if linger <= 0 {
		p.RemoveENI(id)
		return
	}
	eni.RemoveAt = p.now().Add(linger)
}

// RemoveENI removes an ENI and its tags.
func (p *Partition) RemoveENI(id string) {
	delete(p.NetworkInterfaces, id)
	delete(p.Tags, id)
}

// SetENISecurityGroups replaces the security groups of an ENI. An ID that does not exist is ignored.
func (p *Partition) SetENISecurityGroups(id string, groups []string) {
	if eni := p.NetworkInterfaces[id]; eni != nil {
		eni.Groups = append([]string{}, groups...)
	}
}

// RemoveExpiredResources removes deleted ENIs whose removal time has passed, and terminated instances after
// TerminatedVisible. Operations call it before they read resources.
func (p *Partition) RemoveExpiredResources() {
	now := p.now()
	for id, eni := range p.NetworkInterfaces {
		if !eni.RemoveAt.IsZero() && !now.Before(eni.RemoveAt) {
			p.RemoveENI(id)
		}
	}
	for id, i := range p.Instances {
		if !i.TerminatedAt.IsZero() && now.Sub(i.TerminatedAt) >= p.store.Config.Delays.TerminatedVisible {
			delete(p.Instances, id)
			delete(p.Tags, id)
		}
	}
}

// Disassociate disassociates the Elastic IP address from its ENI.
func (a *Address) Disassociate() {
	a.AssociationID, a.InterfaceID, a.PrivateIP, a.ServiceOwned = "", "", netip.Addr{}, false
}

// AssociateAddress associates an Elastic IP address with the primary address of an ENI. It returns an error if one of them
// does not exist, or if the address is already associated.
func (p *Partition) AssociateAddress(allocationID, eniID string) (*Address, *Error) {
	a := p.Addresses[allocationID]
	if a == nil {
		return nil, Errorf(UnprovenSource, "InvalidAllocationID.NotFound", "The allocation ID '%s' does not exist", allocationID)
	}
	if a.AssociationID != "" {
		return nil, Errorf(UnprovenSource, "Resource.AlreadyAssociated", "resource %s is already associated with associate-id %s", allocationID, a.AssociationID)
	}
	eni := p.NetworkInterfaces[eniID]
	if eni == nil {
		return nil, Errorf(UnprovenSource, "InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '%s' does not exist", eniID)
	}
	a.AssociationID = p.store.NewID("eipassoc-")
	a.InterfaceID, a.ServiceOwned = eniID, eni.RequesterManaged
	if len(eni.Private) > 0 {
		a.PrivateIP = eni.Private[0].Addr
	}
	return a, nil
}

// ResourcesUsingSecurityGroup returns the sorted IDs of the resources that prevent the deletion of a security group. These
// are its ENIs, and other security groups with rules that refer to it.
func (p *Partition) ResourcesUsingSecurityGroup(groupID string) []string {
	p.RemoveExpiredResources()
	var users []string
	for _, eni := range p.NetworkInterfaces {
		if slices.Contains(eni.Groups, groupID) {
			users = append(users, eni.ID)
		}
	}
	for _, g := range p.SecurityGroups {
		if g.ID != groupID && (referencesSecurityGroup(g.Ingress, groupID) || referencesSecurityGroup(g.Egress, groupID)) {
			users = append(users, g.ID)
		}
	}
	sort.Strings(users)
	return users
}

func referencesSecurityGroup(rules []SecurityGroupRule, id string) bool {
	return slices.ContainsFunc(rules, func(r SecurityGroupRule) bool { return r.Peer.Group == id })
}
