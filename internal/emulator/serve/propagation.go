package serve

import (
	"net/netip"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

// propagation delays what is new, because AWS's nodes apply what the API has accepted
// only after a propagation delay. Removals apply at once. That is the worst case of AWS
// for a client that changes routing: requests still go the old way when the old target
// is gone already, and they go the new way only long after it was reported.
type propagation struct {
	delay   time.Duration
	history []dated // oldest first; the first is in force
}

// dated is a configuration and when it was made.
type dated struct {
	config dataplane.Config
	made   time.Time
}

// at returns the configuration of nodes when b was made, and the time until they get a
// newer one, 0 if they have the newest. The first configuration applies at once: that
// of a server that is restarted.
func (p *propagation) at(b built) (dataplane.Config, time.Duration) {
	if p.delay <= 0 {
		return b.config, 0
	}
	p.history = append(p.history, dated{b.config, b.made})
	for len(p.history) > 1 && !b.made.Before(p.history[1].made.Add(p.delay)) {
		p.history = p.history[1:]
	}
	if len(p.history) == 1 {
		return b.config, 0
	}
	// A moment later than necessary, in case the timer is early.
	wait := p.history[1].made.Add(p.delay).Sub(b.made) + time.Millisecond
	return known(p.history[0].config, b), wait
}

// known returns an old configuration without what has been removed since. A target group
// that no listener uses any more stays as it was.
func known(old dataplane.Config, latest built) dataplane.Config {
	balancers := map[string]dataplane.LoadBalancer{}
	for _, lb := range latest.config.LoadBalancers {
		balancers[lb.ARN] = lb
	}
	groups := map[string]dataplane.TargetGroup{}
	for _, g := range slices.Concat(latest.config.TargetGroups, latest.idle) {
		groups[g.ARN] = g
	}
	out := dataplane.Config{Accelerators: knownAccelerators(old.Accelerators, latest.config.Accelerators), Distances: latest.config.Distances}
	for _, lb := range old.LoadBalancers {
		if now, ok := balancers[lb.ARN]; ok {
			lb.Nodes = common(lb.Nodes, now.Nodes)
			out.LoadBalancers = append(out.LoadBalancers, lb)
		}
	}
	for _, g := range old.TargetGroups {
		if now, ok := groups[g.ARN]; ok {
			g.Targets = remaining(g.Targets, now.Targets)
			out.TargetGroups = append(out.TargetGroups, g)
		}
	}
	return out
}

// common returns the nodes that still have their addresses; those of the others may be in
// use elsewhere by now.
func common(old, latest []dataplane.Node) []dataplane.Node {
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

// remaining returns the old targets that are still registered, those draining that
// drain by now.
func remaining(old, latest []dataplane.Target) []dataplane.Target {
	type identity struct {
		id   string
		port uint16
	}
	states := map[identity]dataplane.State{}
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
