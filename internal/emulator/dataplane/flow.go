package dataplane

import (
	"hash/maphash"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

// flow is a connection or an exchange of datagrams through a Network Load Balancer. Its target does not change until
// it ends.
type flow struct {
	plane  *Plane
	route  *route
	client netip.AddrPort // in the emulated network
	peer   netip.AddrPort // on this machine
	// salt replaces the TCP sequence number in the hash of connections; it is 0 for datagrams.
	salt uint64

	group   *targetGroup
	view    *groupView
	target  *target
	at      netip.AddrPort // address of the target, in the emulated network
	started time.Time
}

// flowHash has the input of the hash that selects a target. For stickiness by source address it has only the source
// address and the target group.
type flowHash struct {
	source netip.Addr
	port   uint16
	node   netip.AddrPort
	salt   uint64
	group  string
	target targetKey
}

// newFlow prepares a flow of an admitted client.
func (s *stream) newFlow(peer netip.AddrPort, salt uint64) *flow {
	from := s.plane.clientOf(peer)
	return &flow{plane: s.plane, route: s.route.Load(), peer: from.peer, client: from.client, salt: salt, started: time.Now()}
}

// choose selects the target. It returns false if there is no target. A QUIC server ID takes precedence over the
// hash.
func (f *flow) choose(server string) bool {
	f.group = f.route.groups[f.chooseGroup()]
	if f.group == nil {
		return false
	}
	f.view = f.group.view.Load()
	from := f.view.flowCandidates(f.receivingNode())
	if server != "" {
		from = slices.DeleteFunc(from, func(m member) bool { return m.target.server != server })
	}
	if len(from) == 0 {
		return false
	}
	h := flowHash{
		source: f.client.Addr(), port: f.client.Port(), node: f.route.at, salt: f.salt, group: f.group.arn,
	}
	if f.view.attr.sticky {
		h = flowHash{source: h.source, group: h.group}
	}
	// The target with the highest hash wins, so that few flows move when targets are
	// added or removed.
	var best uint64
	for _, m := range from {
		h.target = m.key
		if n := maphash.Comparable(f.plane.seed, h); f.target == nil || n > best {
			f.target, best = m.target, n
		}
	}
	f.at = f.target.addr
	if len(f.target.nodes) > 0 {
		nodes := f.target.nodesFor(f.receivingNode(), f.view)
		h.target = targetKey{}
		at := nodes[maphash.Comparable(f.plane.seed, h)%uint64(len(nodes))]
		f.at = netip.AddrPortFrom(at.Address, f.target.addr.Port())
	}
	return true
}

func (f *flow) receivingNode() receivingNode {
	return receivingNode{node: f.route.node, zone: f.route.zone, crossZone: f.route.lb.attr.crossZone}
}

// chooseGroup selects a target group at random by weight: for each flow, or with stickiness for each source address.
func (f *flow) chooseGroup() string {
	forward := f.route.listener.forward
	if forward.StickyFor == 0 {
		return chooseGroup(forward.Groups)
	}
	n := maphash.Comparable(f.plane.seed, flowHash{source: f.client.Addr(), group: f.route.listener.arn})
	return groupAt(forward.Groups, func(sum int) int { return int(n % uint64(sum)) })
}

// origin returns the source address that the target sees.
func (f *flow) origin() origin {
	o := origin{node: f.route.node}
	if f.view.attr.preserveClient && f.client.Addr().Is4() == f.at.Addr().Unmap().Is4() {
		o.client = f.client.Addr()
		if f.peer.Addr().IsLoopback() {
			o.local = f.peer.Addr()
		}
	}
	return o
}

// log passes the finished flow to Options.Access.
func (f *flow) log() {
	if f.plane.opt.Access == nil {
		return
	}
	entry := AccessEntry{
		LoadBalancer: f.route.lb.arn, Listener: f.route.listener.arn, Client: f.client, Took: time.Since(f.started),
	}
	if f.target != nil {
		entry.TargetGroup, entry.Target = f.group.arn, f.at
	}
	f.plane.opt.Access(entry)
}

// newSalt returns a random salt, which distinguishes the connections of one client in the hash.
func newSalt() uint64 { return rand.Uint64() | 1 }

// mayCrossZones reports whether targets of other zones may be used.
func (v *groupView) mayCrossZones(at receivingNode) bool {
	switch v.attr.crossZone {
	case "true":
		return true
	case "false":
		return false
	}
	return at.crossZone
}

// isReachable reports whether load balancer nodes of a zone may send traffic to the target. With crossZone, nodes of each zone
// may.
func (m member) isReachable(zone string, crossZone bool) bool {
	if crossZone {
		return true
	}
	if len(m.target.nodes) > 0 {
		return slices.ContainsFunc(m.target.nodes, func(n Node) bool { return n.Zone == zone })
	}
	return m.zone == "all" || m.zone == "" || m.zone == zone
}

// nodesFor returns the nodes of an Application Load Balancer that a node may use: all nodes with cross-zone load
// balancing, else the nodes of its zone.
func (t *target) nodesFor(at receivingNode, v *groupView) []Node {
	if v.mayCrossZones(at) {
		return t.nodes
	}
	var own []Node
	for _, n := range t.nodes {
		if n.Zone == at.zone {
			own = append(own, n)
		}
	}
	return own
}

// flowCandidates returns the members that may get a flow on a node of a Network Load Balancer: the healthy members,
// or all members if too few are healthy. A node in a zone without healthy targets has no candidates while another
// zone has healthy targets.
func (v *groupView) flowCandidates(at receivingNode) []member {
	cross := v.mayCrossZones(at)
	var healthy, all []member
	elsewhere := false
	for _, m := range v.members {
		if !m.inService() {
			continue
		}
		state, usable := m.health(), m.isReachable(at.zone, cross)
		switch {
		case state == StateHealthy && usable:
			healthy = append(healthy, m)
			all = append(all, m)
		case state == StateHealthy:
			elsewhere = true
		case state == StateUnhealthy && usable:
			all = append(all, m)
		}
	}
	switch {
	case len(healthy) == 0 && elsewhere:
		return nil
	case len(healthy) < max(v.attr.minHealthy, 1) || len(healthy)*100 < v.attr.minHealthyPart*len(all):
		return all
	}
	return healthy
}
