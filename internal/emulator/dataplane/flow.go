package dataplane

import (
	"hash/maphash"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"
)

// flow is a TCP connection or an exchange of datagrams through a Network Load Balancer. It keeps its target until it ends.
type flow struct {
	plane  *Plane
	route  *route
	client netip.AddrPort // in the emulated network
	peer   netip.AddrPort // on this machine
	// salt replaces the TCP sequence number in the hash of connections. It is 0 for datagrams.
	salt uint64

	targetGroup   *targetGroup
	view          *targetGroupView
	target        *target
	targetAddress netip.AddrPort // in the emulated network
	startTime     time.Time
}

// flowHashInput is the input of the hash that selects a target. With stickiness by source address, only source, targetGroup
// and target are set.
type flowHashInput struct {
	source      netip.Addr
	port        uint16
	node        netip.AddrPort
	salt        uint64
	targetGroup string
	target      targetKey
}

// newFlow returns a flow of the client at address peer, without a target.
func (s *networkListener) newFlow(peer netip.AddrPort, salt uint64) *flow {
	from := s.plane.clientOf(peer)
	return &flow{plane: s.plane, route: s.route.Load(), peer: from.peer, client: from.client, salt: salt, startTime: time.Now()}
}

// chooseTarget selects the target of the flow. It returns false if no target can be selected. If server is not empty,
// only targets with this QUIC server ID are candidates.
func (f *flow) chooseTarget(server string) bool {
	f.targetGroup = f.route.targetGroups[f.chooseTargetGroup()]
	if f.targetGroup == nil {
		return false
	}
	f.view = f.targetGroup.view.Load()
	from := f.view.flowCandidates(f.receivingNode())
	if server != "" {
		from = slices.DeleteFunc(from, func(m member) bool { return m.target.quicServerID != server })
	}
	if len(from) == 0 {
		return false
	}
	h := flowHashInput{
		source: f.client.Addr(), port: f.client.Port(), node: f.route.address, salt: f.salt, targetGroup: f.targetGroup.arn,
	}
	if f.view.attr.isSticky {
		h = flowHashInput{source: h.source, targetGroup: h.targetGroup}
	}
	// Choose the target with the highest hash, so that few flows change when targets are added or removed.
	var best uint64
	for _, m := range from {
		h.target = m.key
		if n := maphash.Comparable(f.plane.hashSeed, h); f.target == nil || n > best {
			f.target, best = m.target, n
		}
	}
	f.targetAddress = f.target.addr
	if len(f.target.nodes) > 0 {
		nodes := f.target.nodesFor(f.receivingNode(), f.view)
		h.target = targetKey{}
		at := nodes[maphash.Comparable(f.plane.hashSeed, h)%uint64(len(nodes))]
		f.targetAddress = netip.AddrPortFrom(at.Address, f.target.addr.Port())
	}
	return true
}

func (f *flow) receivingNode() receivingNode {
	return receivingNode{address: f.route.node, zone: f.route.zone, crossZone: f.route.lb.attr.crossZone}
}

// chooseTargetGroup selects a target group at random by weight. With stickiness, all flows of a source address get the same
// target group.
func (f *flow) chooseTargetGroup() string {
	forward := f.route.listener.forward
	if forward.StickinessDuration == 0 {
		return chooseTargetGroup(forward.TargetGroups)
	}
	n := maphash.Comparable(f.plane.hashSeed, flowHashInput{source: f.client.Addr(), targetGroup: f.route.listener.arn})
	return targetGroupAt(forward.TargetGroups, func(sum int) int { return int(n % uint64(sum)) })
}

// packetSource returns the source address of the packets that the target receives.
func (f *flow) packetSource() packetSource {
	o := packetSource{node: f.route.node}
	if f.view.attr.preserveClientIP && f.client.Addr().Is4() == f.targetAddress.Addr().Unmap().Is4() {
		o.client = f.client.Addr()
		if f.peer.Addr().IsLoopback() {
			o.localClient = f.peer.Addr()
		}
	}
	return o
}

// logAccess passes an entry about the finished flow to Options.LogAccess.
func (f *flow) logAccess() {
	if f.plane.opt.LogAccess == nil {
		return
	}
	entry := AccessEntry{
		LoadBalancer: f.route.lb.arn, Listener: f.route.listener.arn, Client: f.client, Took: time.Since(f.startTime),
	}
	if f.target != nil {
		entry.TargetGroup, entry.Target = f.targetGroup.arn, f.targetAddress
	}
	f.plane.opt.LogAccess(entry)
}

// newSalt returns a random salt that is not 0. It distinguishes connections of the same client in the hash.
func newSalt() uint64 { return rand.Uint64() | 1 }

// mayCrossZones reports whether node "at" may use targets in other zones. The setting of the target group overrides that of
// the load balancer.
func (v *targetGroupView) mayCrossZones(at receivingNode) bool {
	switch v.attr.crossZone {
	case "true":
		return true
	case "false":
		return false
	}
	return at.crossZone
}

// isReachable reports whether load balancer nodes in a zone may send traffic to the member. With crossZone, nodes in all
// zones may.
func (m member) isReachable(zone string, crossZone bool) bool {
	if crossZone {
		return true
	}
	if len(m.target.nodes) > 0 {
		return slices.ContainsFunc(m.target.nodes, func(n Node) bool { return n.Zone == zone })
	}
	return m.zone == "all" || m.zone == "" || m.zone == zone
}

// nodesFor returns the nodes of target t, an Application Load Balancer, that node "at" may use: all nodes with cross-zone
// load balancing, otherwise the nodes in the zone of "at".
func (t *target) nodesFor(at receivingNode, v *targetGroupView) []Node {
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

// flowCandidates returns the members that may get a flow at a node of a Network Load Balancer: the healthy members, or all
// members if too few are healthy. If the node has no healthy member but another zone has one, the node has no candidates.
func (v *targetGroupView) flowCandidates(at receivingNode) []member {
	cross := v.mayCrossZones(at)
	var healthy, all []member
	elsewhere := false
	for _, m := range v.members {
		if !m.isInService() {
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
	case len(healthy) < max(v.attr.minHealthy, 1) || len(healthy)*100 < v.attr.minHealthyPercent*len(all):
		return all
	}
	return healthy
}
