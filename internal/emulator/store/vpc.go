package store

import "net/netip"

var (
	anyIPv4 = netip.MustParsePrefix("0.0.0.0/0")
	anyIPv6 = netip.MustParsePrefix("::/0")
)

// CreateVPC creates a VPC. As in AWS, the VPC has a main route table with the local route, and a security group named
// "default".
func (p *Partition) CreateVPC(block netip.Prefix) *VPC {
	v := &VPC{
		ID:         p.store.NewID("vpc-"),
		CIDRs:      []CIDRAssociation{{ID: p.store.NewID("vpc-cidr-assoc-"), Block: block}},
		Tenancy:    "default",
		DNSSupport: true,
	}
	p.VPCs[v.ID] = v
	t := &RouteTable{
		ID: p.store.NewID("rtb-"), VPCID: v.ID,
		Routes:       []Route{{Destination: block, Gateway: "local", Origin: "CreateRouteTable"}},
		Associations: []RouteTableAssociation{{ID: p.store.NewID("rtbassoc-"), Main: true}},
	}
	p.RouteTables[t.ID] = t
	g := p.CreateSecurityGroup(v.ID, "default", "default VPC security group")
	g.Ingress = []SecurityGroupRule{{
		ID: p.store.NewID("sgr-"), Protocol: "-1",
		Peer: Peer{Group: g.ID, GroupOwner: p.Account},
	}}
	return v
}

// CreateSecurityGroup creates a security group that allows all outbound and no inbound traffic.
func (p *Partition) CreateSecurityGroup(vpcID, name, description string) *SecurityGroup {
	g := &SecurityGroup{
		ID: p.store.NewID("sg-"), VPCID: vpcID, Name: name, Description: description,
		Egress:  []SecurityGroupRule{{ID: p.store.NewID("sgr-"), Protocol: "-1", Peer: Peer{CIDR: anyIPv4}}},
		Created: p.now(),
	}
	if v := p.VPCs[vpcID]; v != nil && len(v.IPv6) > 0 {
		g.Egress = append(g.Egress, SecurityGroupRule{ID: p.store.NewID("sgr-"), Protocol: "-1", Peer: Peer{CIDR: anyIPv6}})
	}
	p.SecurityGroups[g.ID] = g
	return g
}

// createDefaultVPC creates the default VPC of a new account: 172.31.0.0/16, with an internet gateway, a default route to it,
// and one public subnet in each Availability Zone.
func (p *Partition) createDefaultVPC() {
	v := p.CreateVPC(netip.MustParsePrefix("172.31.0.0/16"))
	v.IsDefault, v.DNSHostnames = true, true
	igw := &InternetGateway{ID: p.store.NewID("igw-"), VPCID: v.ID}
	p.InternetGateways[igw.ID] = igw
	t := p.MainRouteTable(v.ID)
	t.Routes = append(t.Routes, Route{Destination: anyIPv4, Gateway: igw.ID, Origin: "CreateRoute"})
	for i, z := range p.Zones {
		s := &Subnet{
			ID: p.store.NewID("subnet-"), VPCID: v.ID, Zone: z.Name, ZoneID: z.ID,
			CIDR:     netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 31, byte(i * 16), 0}), 20),
			PublicIP: true, IsDefault: true,
		}
		p.Subnets[s.ID] = s
	}
}
