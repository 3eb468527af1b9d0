package serve

import (
	"net/netip"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
)

// permit tells whether the security groups let a TCP connection pass. An
// address without network interface is outside of the network and has no
// groups.
func (s *Server) permit(from netip.Addr, to netip.AddrPort) bool {
	s.w.Lock()
	defer s.w.Unlock()
	for _, p := range s.w.Partitions() {
		target := interfaceAt(p, to.Addr())
		if target == nil {
			continue
		}
		source := interfaceAt(p, from)
		if source == nil {
			// A client on this machine may stand for an address of the network.
			if source = interfaceBehind(p, from); source != nil {
				from = source.Private[0].Addr
			}
		}
		if source != nil && !allows(p, source, target, to.Addr(), to.Port(), egress) {
			return false
		}
		return allows(p, target, source, from, to.Port(), ingress)
	}
	return true
}

func interfaceAt(p *world.Partition, a netip.Addr) *world.NetworkInterface {
	for _, id := range world.SortedKeys(p.NetworkInterfaces) {
		eni := p.NetworkInterfaces[id]
		if slices.ContainsFunc(eni.Private, func(x world.PrivateAddress) bool { return x.Addr == a }) || slices.Contains(eni.IPv6, a) {
			return eni
		}
	}
	return nil
}

// interfaceBehind finds the interface whose primary address a loopback
// address stands for.
func interfaceBehind(p *world.Partition, loopback netip.Addr) *world.NetworkInterface {
	for _, id := range world.SortedKeys(p.NetworkInterfaces) {
		if eni := p.NetworkInterfaces[id]; len(eni.Private) > 0 && dataplane.Loopback(eni.Private[0].Addr) == loopback {
			return eni
		}
	}
	return nil
}

// direction picks the rules of a group.
type direction func(*world.SecurityGroup) []world.SecurityGroupRule

func ingress(g *world.SecurityGroup) []world.SecurityGroupRule { return g.Ingress }
func egress(g *world.SecurityGroup) []world.SecurityGroupRule  { return g.Egress }

// allows tells whether the groups of an interface let a connection with the
// other side pass. Interfaces without groups, as those of some load
// balancers, let everything pass.
func allows(p *world.Partition, eni, other *world.NetworkInterface, address netip.Addr, port uint16, rules direction) bool {
	if len(eni.Groups) == 0 {
		return true
	}
	for _, id := range eni.Groups {
		g := p.SecurityGroups[id]
		if g == nil {
			continue
		}
		for _, r := range rules(g) {
			if covers(r, port) && reaches(p, r.Peer, other, address) {
				return true
			}
		}
	}
	return false
}

// covers tells whether a rule is about TCP on the port.
func covers(r world.SecurityGroupRule, port uint16) bool {
	switch r.Protocol {
	case "-1":
		return true
	case "tcp":
		return r.From == nil || r.To == nil || int32(port) >= *r.From && int32(port) <= *r.To
	}
	return false
}

// reaches tells whether the other side is the peer of a rule.
func reaches(p *world.Partition, peer world.Peer, other *world.NetworkInterface, address netip.Addr) bool {
	switch {
	case peer.CIDR.IsValid():
		return peer.CIDR.Contains(address)
	case peer.Group != "":
		return other != nil && slices.Contains(other.Groups, peer.Group)
	case peer.PrefixList != "":
		list := p.PrefixLists[peer.PrefixList]
		return list != nil && slices.ContainsFunc(list.Entries, func(e world.PrefixListEntry) bool { return e.Block.Contains(address) })
	}
	return false
}
