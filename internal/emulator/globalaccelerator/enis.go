package globalaccelerator

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Properties of the ENIs for endpoints with client IP preservation.
const (
	interfaceType        = "global_accelerator_managed"
	interfaceDescription = "GlobalAccelerator configured ENI"
	interfaceOwner       = "amazon-aws"
	groupName            = "GlobalAccelerator"
	groupDescription     = "GlobalAccelerator configured SecurityGroup"
)

// updateENIs creates and deletes ENIs of the account's accelerators, so that each subnet of each endpoint with
// client IP preservation has one ENI. It never deletes the security group of a VPC. A subnet without a free address
// gets no ENI; the data plane does not need it.
func (s *Service) updateENIs(c *store.Call) {
	st := s.state(c)
	wanted := map[store.AcceleratorInterface]bool{}
	st.Each(func(_ *store.Accelerator, _ *store.AcceleratorListener, g *store.EndpointGroup) {
		for _, e := range g.Endpoints {
			t, err := endpoints{s}.target(c, g.Region, e.ID)
			if err != nil || !e.PreserveClient {
				continue
			}
			for _, subnet := range t.subnets() {
				wanted[store.AcceleratorInterface{Region: g.Region, Subnet: subnet}] = true
			}
		}
	})
	for _, id := range store.SortedKeys(st.Interfaces) {
		at := st.Interfaces[id]
		p := s.w.Partition(c.Account, at.Region)
		if !wanted[at] || p.NetworkInterfaces[id] == nil {
			p.DeleteServiceENI(id, 0)
			delete(st.Interfaces, id)
			continue
		}
		delete(wanted, at)
	}
	for _, region := range regionsOf(wanted) {
		p := s.w.Partition(c.Account, region)
		for _, subnet := range store.SortedKeys(p.Subnets) {
			at := store.AcceleratorInterface{Region: region, Subnet: subnet}
			if !wanted[at] {
				continue
			}
			eni, err := p.CreateServiceInterface(store.ServiceInterface{
				Description: interfaceDescription, Requester: interfaceOwner, Type: interfaceType, SubnetID: subnet,
				Groups: []string{securityGroup(p, p.Subnets[subnet].VPCID)},
			})
			if err == nil {
				st.Interfaces[eni.ID] = at
			}
		}
	}
}

func regionsOf(list map[store.AcceleratorInterface]bool) []string {
	out := map[string]bool{}
	for at := range list {
		out[at.Region] = true
	}
	return store.SortedKeys(out)
}

// securityGroup returns the service's security group of a VPC. It creates it if there is none.
func securityGroup(p *store.Partition, vpc string) string {
	for _, id := range store.SortedKeys(p.SecurityGroups) {
		if g := p.SecurityGroups[id]; g.VPCID == vpc && g.Name == groupName {
			return id
		}
	}
	return p.CreateSecurityGroup(vpc, groupName, groupDescription).ID
}
