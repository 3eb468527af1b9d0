package serve

import (
	"net/netip"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

// propagation delays changes of the configuration, because the load balancer nodes of AWS apply changes some time after the
// API has accepted them. Removals of load balancers, nodes, target groups and targets, and of parts of accelerators, apply
// immediately. Removals of listeners and rules of load balancers are delayed. This is the worst case for a client that
// changes routing: the old target is removed, but until the delay has passed, requests are still routed to it.
type propagation struct {
	delay   time.Duration
	history []configVersion // oldest first; the nodes use the first version
}

// configVersion is a configuration with the time of its creation.
type configVersion struct {
	config    dataplane.Config
	createdAt time.Time
}

// apply returns the configuration that nodes have at the time of b, and the duration until they get a newer
// configuration, or 0 if they have the newest. The first configuration applies immediately, as after a restart of
// the server.
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
	// The added millisecond is for a timer that fires early.
	wait := p.history[1].createdAt.Add(p.delay).Sub(b.builtAt) + time.Millisecond
	return configWithoutRemoved(p.history[0].config, b), wait
}

// configWithoutRemoved returns an old configuration without the load balancers, nodes, target groups, targets and parts of
// accelerators that have been removed since. It retains target groups that no listener uses any more, and the listeners and
// rules of the remaining load balancers.
func configWithoutRemoved(old dataplane.Config, latest buildResult) dataplane.Config {
	balancers := map[string]dataplane.LoadBalancer{}
	for _, lb := range latest.config.LoadBalancers {
		balancers[lb.ARN] = lb
	}
	groups := map[string]dataplane.TargetGroup{}
	for _, g := range slices.Concat(latest.config.TargetGroups, latest.unusedTargetGroups) {
		groups[g.ARN] = g
	}
	out := dataplane.Config{Accelerators: acceleratorsWithoutRemoved(old.Accelerators, latest.config.Accelerators), Distances: latest.config.Distances}
	for _, lb := range old.LoadBalancers {
		if now, ok := balancers[lb.ARN]; ok {
			lb.Nodes = nodesWithSameAddress(lb.Nodes, now.Nodes)
			out.LoadBalancers = append(out.LoadBalancers, lb)
		}
	}
	for _, g := range old.TargetGroups {
		if now, ok := groups[g.ARN]; ok {
			g.Targets = registeredTargets(g.Targets, now.Targets)
			out.TargetGroups = append(out.TargetGroups, g)
		}
	}
	return out
}

// nodesWithSameAddress returns the old nodes whose addresses are still addresses of nodes.
// Other addresses may belong to other resources now.
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

// registeredTargets returns the old targets that are registered or draining now. Targets that are draining now have
// the state draining.
func registeredTargets(old, latest []dataplane.Target) []dataplane.Target {
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
