package dataplane

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// withDefaults returns the health check of target group tg, with AWS's defaults for settings that are not set.
func (h HealthCheck) withDefaults(tg TargetGroup) HealthCheck {
	path, matcher := "/", "200"
	if tg.Protocol.isNetworkProtocol() {
		matcher = "200-399"
		if h.Protocol == "" && !tg.IsALB {
			h.Protocol = TCP
		} else if h.Protocol == "" {
			h.Protocol = HTTP
		}
	}
	if tg.ProtocolVersion == GRPC {
		path, matcher = "/AWS.ALB/healthcheck", "12"
	}
	if h.Protocol == "" {
		h.Protocol = tg.Protocol
	}
	if h.Path == "" {
		h.Path = path
	}
	if h.Matcher == "" {
		h.Matcher = matcher
	}
	if h.Interval <= 0 {
		h.Interval = 30 * time.Second
	}
	if h.Timeout <= 0 {
		h.Timeout = 5 * time.Second
	}
	if h.HealthyThreshold <= 0 {
		h.HealthyThreshold = 5
	}
	if h.UnhealthyThreshold <= 0 {
		h.UnhealthyThreshold = 2
	}
	return h
}

// superviseChecks starts a health checker for each target in service of the target groups in use, and stops all other health
// checkers. Targets of a target group without health checks become healthy.
func (p *Plane) superviseChecks(cfg Config) {
	from := checkSources(cfg)
	for arn, g := range p.targetGroups {
		source, referenced := from[arn]
		v := g.view.Load()
		for _, m := range v.members {
			if referenced && m.isInService() && !v.cfg.HealthCheck.Disabled {
				p.startChecker(g, m.target, source)
			} else {
				m.target.stopChecker()
			}
			if v.cfg.HealthCheck.Disabled {
				m.target.setState(StateHealthy, time.Now())
			}
		}
	}
}

// checkSource is the load balancer node or the accelerator that probes the targets of a target group.
type checkSource struct {
	node netip.AddrPort // address of the node with the port of a listener, or address of the accelerator
	// isNetwork is true for a Network Load Balancer or an accelerator.
	isNetwork bool
}

// checkSources returns the node or the accelerator that probes the targets of each target group in use, by ARN.
func checkSources(cfg Config) map[string]checkSource {
	from := map[string]checkSource{}
	for _, a := range cfg.Accelerators {
		for _, l := range a.Listeners {
			for _, g := range l.EndpointGroups {
				// Each endpoint group has a target group with the same ARN. It contains the endpoints that need health
				// checks, because they are not load balancers.
				from[g.ARN] = checkSource{a.sourceAddress(), true}
			}
		}
	}
	for _, lb := range cfg.LoadBalancers {
		if len(lb.Nodes) == 0 {
			continue
		}
		for _, l := range lb.Listeners {
			for _, r := range append([]Rule{l.DefaultRule}, l.Rules...) {
				f, ok := r.Action.(Forward)
				if !ok {
					continue
				}
				for _, g := range f.TargetGroups {
					if _, known := from[g.ARN]; !known {
						from[g.ARN] = checkSource{netip.AddrPortFrom(lb.Nodes[0].Address, l.Port), lb.IsNetwork}
					}
				}
			}
		}
	}
	return from
}

// startChecker starts the health checker of target t, unless it is running.
func (p *Plane) startChecker(g *targetGroup, t *target, source checkSource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		return
	}
	life := newLifetime()
	t.stop = life.end
	c := &checker{plane: p, targetGroup: g, target: t, source: source, lifetime: life, state: t.state}
	p.goroutines.Go(c.run)
}

// stopChecker stops the health checker and resets the health of the target to StateInitial.
func (t *target) stopChecker() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop()
		t.stop = nil
		t.state, t.stateSince = StateInitial, time.Now()
	}
}

// wakeChecker makes the health checker of the target read its settings again.
func (t *target) wakeChecker() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// checker probes one target. Only the goroutine of run uses its fields.
type checker struct {
	plane       *Plane
	targetGroup *targetGroup
	target      *target
	source      checkSource
	lifetime    lifetime

	state               TargetState
	successes, failures int
	probeCount          int
	lastReported        probeResult
}

// probeResult is the result of a probe. The zero value is a success.
type probeResult struct{ reason, description string }

func (c *checker) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.lifetime.done:
			return
		case <-c.target.wake:
		case <-timer.C:
			v := c.targetGroup.view.Load()
			out := c.probe(v)
			if c.lifetime.Err() != nil {
				return
			}
			c.recordResult(v.cfg.HealthCheck, out)
		}
		interval := c.targetGroup.view.Load().cfg.HealthCheck.Interval
		if c.source.isNetwork && c.state == StateInitial {
			interval /= initialProbeFactor
		}
		timer.Reset(withJitter(interval))
	}
}

// initialProbeFactor is how many times as often Network Load Balancers and accelerators probe a target that has no result
// yet. In AWS, many of their components probe such a target independently.
const initialProbeFactor = 10

// withJitter returns d shortened by a random duration of up to a tenth of d, which spreads probes over time.
func withJitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/10+1))
}

// recordResult counts the probe result "out", and publishes the health of the target if its state or its reason changes.
// One success makes a target without an earlier result healthy, but not on a Network Load Balancer or an accelerator.
func (c *checker) recordResult(h HealthCheck, out probeResult) {
	state := c.state
	if out == (probeResult{}) {
		c.successes++
		c.failures = 0
		if c.state == StateInitial && !c.source.isNetwork || c.successes >= h.HealthyThreshold {
			state = StateHealthy
		}
	} else {
		c.failures++
		c.successes = 0
		if c.failures >= h.UnhealthyThreshold {
			state = StateUnhealthy
		}
	}
	if state == StateInitial || state == StateHealthy && out != (probeResult{}) || state == StateUnhealthy && out == (probeResult{}) {
		return // too few results for a change
	}
	if state == c.state && out == c.lastReported {
		return
	}
	c.state, c.lastReported = state, out
	c.publishHealth(state, out)
}

// publishHealth sets the health of the target and reports it, unless the checker has been stopped. If the target of a
// Network Load Balancer or an accelerator becomes unhealthy and an attribute requires it, publishHealth also ends the
// connections to the target.
func (c *checker) publishHealth(state TargetState, out probeResult) {
	t := c.target
	t.mu.Lock()
	if c.lifetime.Err() != nil {
		t.mu.Unlock()
		return
	}
	changed := t.state != state
	if changed {
		t.state, t.stateSince = state, time.Now()
	}
	t.mu.Unlock()
	if changed && state == StateUnhealthy && c.source.isNetwork && c.targetGroup.view.Load().attr.resetUnhealthy {
		c.plane.calls.cancel(errTargetUnhealthy, t)
	}
	c.plane.opt.ReportHealth(HealthResult{
		TargetGroup: c.targetGroup.arn, ID: t.key.id, Port: t.key.port, Epoch: t.epoch,
		State: state, Reason: out.reason, Description: out.description,
	})
}
