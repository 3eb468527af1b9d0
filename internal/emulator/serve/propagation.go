package serve

import (
	"net/netip"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

// propagation delays changes of the configuration, because load balancer nodes of AWS apply a change some time after the API
// has accepted it. Removals of load balancers, nodes, target groups, targets and parts of accelerators apply immediately.
// Removals of listeners and rules of load balancers are delayed. This is the worst case for a client that changes routing:
// the old target is already removed, but requests are still routed to it until the delay has passed.
type propagation struct {
	delay   time.Duration
	history []configVersion // oldest first; the nodes use the first item
}

// configVersion is a configuration with the time of its creation.
type configVersion struct {
	config    dataplane.Config
	createdAt time.Time
}

// apply adds the result b to the history. It returns the configuration that nodes have at b.builtAt, and the duration until
// they get a newer configuration, or 0 if they have the newest. The first configuration applies immediately, as after a
// restart of the server.
func (p *propagation) apply(b buildResult) (dataplane.Config, time.Duration) {
	if p.delay <= 0 {
		return b.config, 0
	}
	p.history = append(p.history, configVersion{b.config, b.builtAt})
	for len(p.history) > 1 && !b.builtAt.Before(p.history[1].createdAt.Add(p.delay)) {
		p.history = p.history[1:]
	}
	if len(p.history) == 1 {
		return b.config, 0
	}
	// A timer may fire early. The added millisecond prevents that apply is called too early.
	wait := p.history[1].createdAt.Add(p.delay).Sub(b.builtAt) + time.Millisecond
	return dropRemovedResources(p.history[0].config, b), wait
}

// dropRemovedResources returns the configuration old without load balancers, nodes, target groups, targets and parts of
// accelerators that are not in latest. Listeners and rules of the remaining load balancers are retained, and so are target
// groups that exist but that no listener uses any more.
func dropRemovedResources(old dataplane.Config, latest buildResult) dataplane.Config {
	balancers := map[string]dataplane.LoadBalancer{}
	for _, lb := range latest.config.LoadBalancers {
		balancers[lb.ARN] = lb
	}
	groups := map[string]dataplane.TargetGroup{}
	for _, g := range slices.Concat(latest.config.TargetGroups, latest.unusedTargetGroups) {
		groups[g.ARN] = g
	}
	out := dataplane.Config{Accelerators: dropRemovedAccelerators(old.Accelerators, latest.config.Accelerators), Distances: latest.config.Distances}
	for _, lb := range old.LoadBalancers {
		if now, ok := balancers[lb.ARN]; ok {
			lb.Nodes = nodesWithSameAddress(lb.Nodes, now.Nodes)
			out.LoadBalancers = append(out.LoadBalancers, lb)
		}
	}
	for _, g := range old.TargetGroups {
		if now, ok := groups[g.ARN]; ok {
			g.Targets = dropDeregisteredTargets(g.Targets, now.Targets)
			out.TargetGroups = append(out.TargetGroups, g)
		}
	}
	return out
}

// nodesWithSameAddress returns the nodes in old with an address that a node in latest has. Other addresses may belong to
// other resources now.
func nodesWithSameAddress(old, latest []dataplane.Node) []dataplane.Node {
	addresses := map[netip.Addr]bool{}
	for _, n := range latest {
		addresses[n.Address] = true
	}
	var out []dataplane.Node
	for _, n := range old {
		if addresses[n.Address] {
			out = append(out, n)
		}
	}
	return out
}

// dropDeregisteredTargets returns the targets in old that are also in latest. Targets that drain in latest get the state
// draining.
func dropDeregisteredTargets(old, latest []dataplane.Target) []dataplane.Target {
	type identity struct {
		id   string
		port uint16
	}
	states := map[identity]dataplane.TargetState{}
	for _, t := range latest {
		states[identity{t.ID, t.Port}] = t.State
	}
	var out []dataplane.Target
	for _, t := range old {
		state, ok := states[identity{t.ID, t.Port}]
		if !ok {
			continue
		}
		if state == dataplane.StateDraining {
			t.State = state
		}
		out = append(out, t)
	}
	return out
}
