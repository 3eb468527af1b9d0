package serve

import (
	"net/netip"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// permit reports whether the security groups let a connection or a flow of datagrams
// pass. An address without an ENI is outside of the network and has no security groups.
// Of packets that a Network Load Balancer forwards with the client's address, the
// target's security groups may name either the client's address or the security groups
// of the load balancer.
func (s *Server) permit(pk dataplane.Packet) bool {
	s.w.Lock()
	defer s.w.Unlock()
	for _, p := range s.w.Partitions() {
		target := eniAt(p, pk.To.Addr())
		if target == nil {
			continue
		}
		from := pk.From
		source := eniAt(p, from)
		if source == nil {
			// A client on this machine may have an address of the emulated network.
			if source = interfaceBehind(p, from); source != nil {
				from = source.Private[0].Addr
			}
		}
		sender := source
		if pk.Via.IsValid() {
			sender = eniAt(p, pk.Via)
		}
		there := passage{port: pk.To.Port(), udp: pk.UDP, address: pk.To.Addr(), others: []*store.NetworkInterface{target}}
		if sender != nil && !there.allowed(p, sender, egress) {
			return false
		}
		back := passage{port: pk.To.Port(), udp: pk.UDP, address: from}
		for _, eni := range []*store.NetworkInterface{source, sender} {
			if eni != nil {
				back.others = append(back.others, eni)
			}
		}
		return back.allowed(p, target, ingress)
	}
	return true
}

func eniAt(p *store.Partition, a netip.Addr) *store.NetworkInterface {
	for _, id := range store.SortedKeys(p.NetworkInterfaces) {
		eni := p.NetworkInterfaces[id]
		if slices.ContainsFunc(eni.Private, func(x store.PrivateAddress) bool { return x.Addr == a }) || slices.Contains(eni.IPv6, a) {
			return eni
		}
	}
	return nil
}

// interfaceBehind finds the ENI whose primary address a loopback address represents.
func interfaceBehind(p *store.Partition, loopback netip.Addr) *store.NetworkInterface {
	for _, id := range store.SortedKeys(p.NetworkInterfaces) {
		if eni := p.NetworkInterfaces[id]; len(eni.Private) > 0 && dataplane.Loopback(eni.Private[0].Addr) == loopback {
			return eni
		}
	}
	return nil
}

// direction picks the rules of a security group.
type direction func(*store.SecurityGroup) []store.SecurityGroupRule

func ingress(g *store.SecurityGroup) []store.SecurityGroupRule { return g.Ingress }
func egress(g *store.SecurityGroup) []store.SecurityGroupRule  { return g.Egress }

// passage is what rules are compared with: a port of the receiver, and the other side
// by its address and by its ENIs.
type passage struct {
	port    uint16
	udp     bool
	address netip.Addr
	others  []*store.NetworkInterface
}

// allowed reports whether the security groups of an ENI let something pass. ENIs
// without security groups, as those of some load balancers, let everything pass.
func (g passage) allowed(p *store.Partition, eni *store.NetworkInterface, rules direction) bool {
	if len(eni.Groups) == 0 {
		return true
	}
	for _, id := range eni.Groups {
		sg := p.SecurityGroups[id]
		if sg == nil {
			continue
		}
		for _, r := range rules(sg) {
			if g.covered(r) && g.reached(p, r.Peer) {
				return true
			}
		}
	}
	return false
}

// covered reports whether a rule is about the protocol and the port.
func (g passage) covered(r store.SecurityGroupRule) bool {
	protocol := "tcp"
	if g.udp {
		protocol = "udp"
	}
	switch r.Protocol {
	case "-1":
		return true
	case protocol:
		return r.From == nil || r.To == nil || int32(g.port) >= *r.From && int32(g.port) <= *r.To
	}
	return false
}

// reached reports whether the other side is the peer of a rule.
func (g passage) reached(p *store.Partition, peer store.Peer) bool {
	switch {
	case peer.CIDR.IsValid():
		return peer.CIDR.Contains(g.address)
	case peer.Group != "":
		return slices.ContainsFunc(g.others, func(eni *store.NetworkInterface) bool { return slices.Contains(eni.Groups, peer.Group) })
	case peer.PrefixList != "":
		list := p.PrefixLists[peer.PrefixList]
		return list != nil && slices.ContainsFunc(list.Entries, func(e store.PrefixListEntry) bool { return e.Block.Contains(g.address) })
	}
	return false
}
