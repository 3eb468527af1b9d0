package elbv2

import (
	"fmt"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const eniRequester = "amazon-elb"

// createNodes creates the ENI of a node in each zone, and stores its ID and addresses in zones. It creates no ENI if it
// returns an error.
func (s *loadBalancers) createNodes(p *store.Partition, lb *store.LoadBalancer, zones []store.LoadBalancerZone) error {
	for i := range zones {
		if err := s.createNode(p, lb, &zones[i]); err != nil {
			for j := range i {
				p.DeleteServiceENI(zones[j].ENI, 0)
			}
			return err
		}
	}
	return nil
}

// createNode creates the ENI of a node in zone z. If a requested address is in use, the state of the load balancer becomes
// "failed".
func (s *loadBalancers) createNode(p *store.Partition, lb *store.LoadBalancer, z *store.LoadBalancerZone) error {
	want := store.ServiceENIOptions{
		Description: fmt.Sprintf("ELB %s/%s/%s", shortType(lb), lb.Name, lb.ID),
		Requester:   eniRequester, SubnetID: z.Subnet, Groups: lb.SecurityGroups,
		IPv6: lb.Addressing != types.IpAddressTypeIpv4,
	}
	if !lb.IsALB() {
		want.Type, want.InstanceOwner = "network_load_balancer", "amazon-aws"
	}
	if z.PrivateIPv4 != "" {
		want.Address, _ = netip.ParseAddr(z.PrivateIPv4) // checkAddresses has checked the address
		if p.CheckFreeIPv4(p.Subnets[z.Subnet], want.Address) != nil {
			// AWS checks only during provisioning whether the address is free.
			lb.ForcedState = types.LoadBalancerStateEnumFailed
			lb.ForcedReason = fmt.Sprintf("The IP address %s is already in use", z.PrivateIPv4)
			want.Address = netip.Addr{}
		}
	}
	eni, refusal := p.CreateServiceENIWithOptions(want)
	if refusal != nil {
		return store.Errorf(refusal.Source, "InvalidSubnet", "%s", refusal.Message)
	}
	z.ENI = eni.ID
	if len(eni.Private) > 0 {
		z.Address = eni.Private[0].Addr.String()
	}
	if a, err := netip.ParseAddr(z.IPv6); err == nil { // checkAddresses has checked an address that is not empty
		if holder := p.ENIWithIPv6(z.Subnet, a); holder != "" && holder != eni.ID {
			// AWS checks only during provisioning whether the address is free, as for private IPv4 addresses.
			lb.ForcedState = types.LoadBalancerStateEnumFailed
			lb.ForcedReason = fmt.Sprintf("The IP address %s is already in use", z.IPv6)
		} else {
			eni.IPv6 = []netip.Addr{a}
		}
	}
	if z.Allocation != "" {
		a, refusal := p.AssociateAddress(z.Allocation, eni.ID)
		if refusal != nil {
			p.DeleteServiceENI(eni.ID, 0)
			return store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#15031"), codeInUse, "The allocation IDs are not available for use")
		}
		z.PublicIP = a.PublicIP.String()
	}
	return nil
}

// replaceNodes changes the zones of a load balancer. It keeps the nodes whose subnet does not change.
func (s *loadBalancers) replaceNodes(p *store.Partition, lb *store.LoadBalancer, zones []store.LoadBalancerZone) error {
	kept := map[string]store.LoadBalancerZone{}
	for _, z := range lb.Zones {
		kept[z.Subnet] = z
	}
	var fresh []store.LoadBalancerZone
	for _, z := range zones {
		if _, ok := kept[z.Subnet]; !ok {
			fresh = append(fresh, z)
		}
	}
	if err := s.createNodes(p, lb, fresh); err != nil {
		return err
	}
	made := map[string]store.LoadBalancerZone{}
	for _, z := range fresh {
		made[z.Subnet] = z
	}
	next := make([]store.LoadBalancerZone, 0, len(zones))
	for _, z := range zones {
		if have, ok := kept[z.Subnet]; ok {
			if z.SourceNATIPv6Prefix != "" {
				have.SourceNATIPv6Prefix = z.SourceNATIPv6Prefix
			}
			if z.IPv6 != "" {
				have.IPv6 = z.IPv6
			}
			next = append(next, have)
			delete(kept, z.Subnet)
			continue
		}
		next = append(next, made[z.Subnet])
	}
	for _, z := range lb.Zones {
		if _, gone := kept[z.Subnet]; gone {
			p.DeleteServiceENI(z.ENI, s.store.Config.Delays.InterfaceLinger)
		}
	}
	lb.Zones = next
	return nil
}

// assignAddresses gives the nodes the addresses that the settings of the load balancer require: IPv6 addresses for a
// dual-stack load balancer, and secondary private addresses for an NLB with automatic assignment. It changes nothing if it
// returns an error.
func (s *loadBalancers) assignAddresses(p *store.Partition, lb *store.LoadBalancer) error {
	var changes []func()
	for i := range lb.Zones {
		z := &lb.Zones[i]
		eni, sub := p.NetworkInterfaces[z.ENI], p.Subnets[z.Subnet]
		if eni == nil || sub == nil {
			continue
		}
		switch {
		case lb.Addressing == types.IpAddressTypeIpv4:
			changes = append(changes, func() { eni.IPv6, z.IPv6 = nil, "" })
		case z.IPv6 != "":
			if a, err := netip.ParseAddr(z.IPv6); err == nil {
				changes = append(changes, func() { eni.IPv6 = []netip.Addr{a} })
			}
		case len(eni.IPv6) == 0:
			free, refusal := p.FindFreeIPv6Addresses(sub, 1)
			if refusal != nil {
				return store.Errorf(refusal.Source, "InvalidSubnet", "%s", refusal.Message)
			}
			changes = append(changes, func() { eni.IPv6 = free })
		}
		if missing := 1 + atoi(lb.Attributes[attrSecondaryIPs]) - len(eni.Private); !lb.IsALB() && missing > 0 {
			free, refusal := p.FindFreeIPv4Addresses(sub, missing)
			if refusal != nil {
				return configurationError(refusal.Source, "%s", refusal.Message)
			}
			changes = append(changes, func() {
				for _, a := range free {
					eni.Private = append(eni.Private, store.PrivateAddress{Addr: a})
				}
			})
		}
	}
	for _, change := range changes {
		change()
	}
	return nil
}
