package globalaccelerator

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Properties of the ENIs for endpoints with client IP preservation.
const (
	eniType                  = "global_accelerator_managed"
	eniDescription           = "GlobalAccelerator configured ENI"
	eniOwner                 = "amazon-aws"
	securityGroupName        = "GlobalAccelerator"
	securityGroupDescription = "GlobalAccelerator configured SecurityGroup"
)

// updateENIs creates and deletes ENIs of the account's accelerators. Afterwards, each subnet of each endpoint with client IP
// preservation has one ENI. A subnet without a free address gets no ENI; the emulated data plane does not need it.
// updateENIs never deletes the security group that it creates in a VPC.
func (s *Service) updateENIs(c *store.Call) {
	st := s.acceleratorState(c)
	wanted := map[store.AcceleratorENI]bool{}
	st.EachEndpointGroup(func(_ *store.Accelerator, _ *store.AcceleratorListener, g *store.EndpointGroup) {
		for _, e := range g.Endpoints {
			t, err := endpoints{s}.findResource(c, g.Region, e.ID)
			if err != nil || !e.PreserveClient {
				continue
			}
			for _, subnet := range t.subnetIDs() {
				wanted[store.AcceleratorENI{Region: g.Region, Subnet: subnet}] = true
			}
		}
	})
	for _, id := range store.SortedKeys(st.Interfaces) {
		at := st.Interfaces[id]
		p := s.store.Partition(c.Account, at.Region)
		if !wanted[at] || p.NetworkInterfaces[id] == nil {
			p.DeleteServiceENI(id, 0)
			delete(st.Interfaces, id)
			continue
		}
		delete(wanted, at)
	}
	for _, region := range eniRegions(wanted) {
		p := s.store.Partition(c.Account, region)
		for _, subnet := range store.SortedKeys(p.Subnets) {
			at := store.AcceleratorENI{Region: region, Subnet: subnet}
			if !wanted[at] {
				continue
			}
			eni, err := p.CreateServiceENIWithOptions(store.ServiceENIOptions{
				Description: eniDescription, Requester: eniOwner, Type: eniType, SubnetID: subnet,
				Groups: []string{ensureSecurityGroup(p, p.Subnets[subnet].VPCID)},
			})
			if err == nil {
				st.Interfaces[eni.ID] = at
			}
		}
	}
}

func eniRegions(list map[store.AcceleratorENI]bool) []string {
	out := map[string]bool{}
	for at := range list {
		out[at.Region] = true
	}
	return store.SortedKeys(out)
}

// ensureSecurityGroup returns the ID of Global Accelerator's security group in a VPC. It creates the group if there is none.
func ensureSecurityGroup(p *store.Partition, vpc string) string {
	for _, id := range store.SortedKeys(p.SecurityGroups) {
		if g := p.SecurityGroups[id]; g.VPCID == vpc && g.Name == securityGroupName {
			return id
		}
	}
	return p.CreateSecurityGroup(vpc, securityGroupName, securityGroupDescription).ID
}
