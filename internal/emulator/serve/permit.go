package serve

import (
	"net/netip"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// isPermitted reports whether security groups allow a connection or a flow of datagrams. An address without an ENI is
// outside the network and has no security groups. For packets that an NLB forwards with the client's address, the security
// groups of the target may allow either the client's address or a security group of the NLB.
func (s *Server) isPermitted(pk dataplane.Packet) bool {
	s.store.Lock()
	defer s.store.Unlock()
	for _, p := range s.store.Partitions() {
		target := eniWithAddress(p, pk.Destination.Addr())
		if target == nil {
			continue
		}
		from := pk.Source
		source := eniWithAddress(p, from)
		if source == nil {
			// A client on this machine may have an address of the emulated network.
			if source = eniForLoopbackAddress(p, from); source != nil {
				from = source.Private[0].Addr
			}
		}
		sender := source
		if pk.ForwardingNode.IsValid() {
			sender = eniWithAddress(p, pk.ForwardingNode)
		}
		outbound := flow{port: pk.Destination.Port(), udp: pk.UDP, peer: pk.Destination.Addr(), peerENIs: []*store.NetworkInterface{target}}
		if sender != nil && !outbound.isAllowed(p, sender, egressRules) {
			return false
		}
		inbound := flow{port: pk.Destination.Port(), udp: pk.UDP, peer: from}
		for _, eni := range []*store.NetworkInterface{source, sender} {
			if eni != nil {
				inbound.peerENIs = append(inbound.peerENIs, eni)
			}
		}
		return inbound.isAllowed(p, target, ingressRules)
	}
	return true
}

func eniWithAddress(p *store.Partition, a netip.Addr) *store.NetworkInterface {
	for _, id := range store.SortedKeys(p.NetworkInterfaces) {
		eni := p.NetworkInterfaces[id]
		if slices.ContainsFunc(eni.Private, func(x store.PrivateAddress) bool { return x.Addr == a }) || slices.Contains(eni.IPv6, a) {
			return eni
		}
	}
	return nil
}

// eniForLoopbackAddress returns the ENI with the primary address that a loopback address represents, or nil if there is none.
func eniForLoopbackAddress(p *store.Partition, loopback netip.Addr) *store.NetworkInterface {
	for _, id := range store.SortedKeys(p.NetworkInterfaces) {
		if eni := p.NetworkInterfaces[id]; len(eni.Private) > 0 && dataplane.Loopback(eni.Private[0].Addr) == loopback {
			return eni
		}
	}
	return nil
}

// ruleDirection is a function that returns either the inbound or the outbound rules of a security group.
type ruleDirection func(*store.SecurityGroup) []store.SecurityGroupRule

func ingressRules(g *store.SecurityGroup) []store.SecurityGroupRule { return g.Ingress }
func egressRules(g *store.SecurityGroup) []store.SecurityGroupRule  { return g.Egress }

// flow has the values that are compared with security group rules: the port and protocol of the receiver, and the address
// and the ENIs of the peer.
type flow struct {
	port     uint16
	udp      bool
	peer     netip.Addr
	peerENIs []*store.NetworkInterface
}

// isAllowed reports whether the security groups of an ENI allow a flow. An ENI without security groups allows every flow,
// because some load balancers have no security groups.
func (f flow) isAllowed(p *store.Partition, eni *store.NetworkInterface, rules ruleDirection) bool {
	if len(eni.Groups) == 0 {
		return true
	}
	for _, id := range eni.Groups {
		sg := p.SecurityGroups[id]
		if sg == nil {
			continue
		}
		for _, r := range rules(sg) {
			if f.matchesPort(r) && f.matchesPeer(p, r.Peer) {
				return true
			}
		}
	}
	return false
}

// matchesPort reports whether a rule matches the protocol and the port of a flow.
func (f flow) matchesPort(r store.SecurityGroupRule) bool {
	protocol := "tcp"
	if f.udp {
		protocol = "udp"
	}
	switch r.Protocol {
	case "-1":
		return true
	case protocol:
		return r.From == nil || r.To == nil || int32(f.port) >= *r.From && int32(f.port) <= *r.To
	}
	return false
}

// matchesPeer reports whether the peer of a rule matches the peer of a flow.
func (f flow) matchesPeer(p *store.Partition, peer store.Peer) bool {
	switch {
	case peer.CIDR.IsValid():
		return peer.CIDR.Contains(f.peer)
	case peer.Group != "":
		return slices.ContainsFunc(f.peerENIs, func(eni *store.NetworkInterface) bool { return slices.Contains(eni.Groups, peer.Group) })
	case peer.PrefixList != "":
		list := p.PrefixLists[peer.PrefixList]
		return list != nil && slices.ContainsFunc(list.Entries, func(e store.PrefixListEntry) bool { return e.Block.Contains(f.peer) })
	}
	return false
}
