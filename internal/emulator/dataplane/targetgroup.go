package dataplane

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// targetGroup is the running state of a target group. It persists when the configuration of the target group changes; each
// configuration has its own view.
type targetGroup struct {
	arn  string
	view atomic.Pointer[targetGroupView]

	mu             sync.Mutex
	roundRobin     map[netip.Addr]*atomic.Uint64 // counters, by node
	nodeTransports map[netip.Addr]*nodeTransport // by node
}

// targetGroupView is one configuration of a target group. It is immutable.
type targetGroupView struct {
	cfg     TargetGroup
	attr    tgAttributes
	matcher codeMatcher
	members []member
}

// member is a target with its configuration.
type member struct {
	*target
	zone string
	// configuredState is the state of the target in the configuration.
	configuredState TargetState
}

type targetKey struct {
	id   string
	port uint16
}

// target is the running state of one registered target.
type target struct {
	key              targetKey
	epoch            string
	addr             netip.AddrPort // only the port is set if the target is an Application Load Balancer
	nodes            []Node         // only set if the target is an Application Load Balancer
	quicServerID     string         // the bytes in packets; "" if the target has none
	inflightRequests atomic.Int64

	mu         sync.Mutex
	state      TargetState // StateInitial, StateHealthy or StateUnhealthy
	stateSince time.Time
	stop       func() // stops the health checker; nil if none is running
	wake       chan struct{}
}

// health returns the state according to the latest health checks of the target.
func (t *target) health() TargetState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// healthyDuration returns how long the target has been healthy, or 0 if it is not healthy.
func (t *target) healthyDuration(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != StateHealthy {
		return 0
	}
	return now.Sub(t.stateSince)
}

func (t *target) setState(s TargetState, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state != s {
		t.state, t.stateSince = s, now
	}
}

// isInService reports whether the member may get new requests and flows.
func (m member) isInService() bool {
	return m.configuredState != StateDraining && m.configuredState != StateUnused
}

// applyTargetGroups creates, changes and deletes target groups according to the configuration. It returns the errors of
// invalid settings.
func (p *Plane) applyTargetGroups(cfg Config) []error {
	var errs []error
	wanted := map[string]bool{}
	for _, tg := range cfg.TargetGroups {
		if wanted[tg.ARN] {
			errs = append(errs, fmt.Errorf("target group %s is defined twice", tg.ARN))
			continue
		}
		wanted[tg.ARN] = true
		g := p.targetGroups[tg.ARN]
		if g == nil {
			g = &targetGroup{arn: tg.ARN, roundRobin: map[netip.Addr]*atomic.Uint64{}, nodeTransports: map[netip.Addr]*nodeTransport{}}
		}
		old := g.view.Load()
		view, viewErrs := p.newTargetGroupView(tg, old)
		errs = append(errs, viewErrs...)
		g.view.Store(view)
		p.targetGroups[tg.ARN] = g
		if old == nil {
			continue
		}
		if old.cfg.Protocol != tg.Protocol || old.cfg.ProtocolVersion != tg.ProtocolVersion {
			g.closeNodeTransports()
		}
		for _, m := range old.members {
			if !view.hasTarget(m.target) {
				m.target.stopChecker()
				if !tg.Protocol.isNetworkProtocol() || view.attr.resetDeregistered && !view.hasKey(m.key) {
					p.calls.cancel(errTargetRemoved, m.target)
				}
			} else if old.cfg.HealthCheck != view.cfg.HealthCheck {
				m.target.wakeChecker()
			}
		}
	}
	for arn, g := range p.targetGroups {
		if !wanted[arn] {
			g.close()
			p.closeUDPFlows(g)
			delete(p.targetGroups, arn)
		}
	}
	return errs
}

// closeUDPFlows removes the UDP flows to a target group that is not in the configuration any more, if the target group
// ends the flows of deregistered targets. The next datagram of a client then starts a new flow. AWS does not document
// whether it does this. Without closeUDPFlows, a client that sends without pauses would continue to send to a target that
// has no health checks. TCP connections continue.
func (p *Plane) closeUDPFlows(g *targetGroup) {
	v := g.view.Load()
	if !v.cfg.Protocol.hasDatagrams() || !v.attr.resetDeregistered {
		return
	}
	for _, s := range p.networkListeners {
		s.mu.Lock()
		if s.udp != nil {
			s.udp.removeFlows(g)
		}
		s.mu.Unlock()
	}
}

// newTargetGroupView returns the view for a configuration. It reuses the targets in the view old whose registration has not
// changed.
func (p *Plane) newTargetGroupView(tg TargetGroup, old *targetGroupView) (*targetGroupView, []error) {
	attr, errs := parseTGAttributes("target group "+tg.ARN, tg)
	if tg.IsLambda {
		tg.HealthCheck.Disabled = true
	} else if tg.Protocol != HTTP && tg.Protocol != HTTPS && !tg.Protocol.isNetworkProtocol() {
		errs = append(errs, fmt.Errorf("target group %s: protocol %q is not supported by the data plane", tg.ARN, tg.Protocol))
	}
	check := tg.HealthCheck.withDefaults(tg)
	tg.HealthCheck = check
	matcher, err := parseCodeMatcher(check.Matcher)
	if err != nil {
		errs = append(errs, fmt.Errorf("target group %s: %w", tg.ARN, err))
	}
	view := &targetGroupView{cfg: tg, attr: attr, matcher: matcher}
	known := map[targetKey]*target{}
	if old != nil {
		for _, m := range old.members {
			known[m.key] = m.target
		}
	}
	seen := map[targetKey]bool{}
	for _, t := range tg.Targets {
		key := targetKey{id: t.ID, port: t.Port}
		if seen[key] {
			errs = append(errs, fmt.Errorf("target group %s: target %s:%d is registered twice", tg.ARN, t.ID, t.Port))
			continue
		}
		seen[key] = true
		addr := netip.AddrPortFrom(t.Address, t.Port)
		registration := known[key]
		if r := registration; r == nil || r.epoch != t.Epoch || r.addr != addr || !slices.Equal(r.nodes, t.Nodes) || r.quicServerID != parseQUICServerID(t.QUICServerID) {
			state := t.State
			if state != StateHealthy && state != StateUnhealthy {
				state = StateInitial
			}
			registration = &target{
				key: key, epoch: t.Epoch, addr: addr, nodes: slices.Clone(t.Nodes), quicServerID: parseQUICServerID(t.QUICServerID),
				state: state, stateSince: time.Now(), wake: make(chan struct{}, 1),
			}
		}
		view.members = append(view.members, member{target: registration, zone: t.Zone, configuredState: t.State})
	}
	return view, errs
}

func (v *targetGroupView) hasKey(key targetKey) bool {
	return slices.ContainsFunc(v.members, func(m member) bool { return m.key == key })
}

func (v *targetGroupView) hasTarget(t *target) bool {
	return slices.ContainsFunc(v.members, func(m member) bool { return m.target == t })
}

// roundRobinCounter returns the round-robin counter of a node.
func (g *targetGroup) roundRobinCounter(node netip.Addr) *atomic.Uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.roundRobin[node] == nil {
		g.roundRobin[node] = &atomic.Uint64{}
	}
	return g.roundRobin[node]
}

// close stops health checks and closes idle connections. Requests that are being handled continue.
func (g *targetGroup) close() {
	for _, m := range g.view.Load().members {
		m.target.stopChecker()
	}
	g.closeNodeTransports()
}
