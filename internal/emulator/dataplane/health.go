package dataplane

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// withDefaults returns the health check with AWS's defaults for settings that the configuration omits.
func (h HealthCheck) withDefaults(tg TargetGroup) HealthCheck {
	path, matcher := "/", "200"
	if tg.Protocol.network() {
		matcher = "200-399"
		if h.Protocol == "" && !tg.ALB {
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

// superviseChecks starts and stops health checkers: one for each target in service, for the target groups to which
// an action refers.
func (p *Plane) superviseChecks(cfg Config) {
	from := checkSources(cfg)
	for arn, g := range p.groups {
		source, referenced := from[arn]
		v := g.view.Load()
		for _, m := range v.members {
			if referenced && m.inService() && !v.cfg.HealthCheck.Disabled {
				p.startChecker(g, m.target, source)
			} else {
				m.target.stopChecker()
			}
			if v.cfg.HealthCheck.Disabled {
				m.target.set(StateHealthy, time.Now())
			}
		}
	}
}

// checkSource is the node that probes the targets of a target group.
type checkSource struct {
	node netip.AddrPort // a node with the port of a listener
	// network is set for a Network Load Balancer.
	network bool
}

// checkSources maps each target group that is in use to the node that probes its
// targets.
func checkSources(cfg Config) map[string]checkSource {
	from := map[string]checkSource{}
	for _, a := range cfg.Accelerators {
		for _, l := range a.Listeners {
			for _, g := range l.Groups {
				// This is the health check of the endpoint group, for endpoints other than load balancers.
				from[g.ARN] = checkSource{a.source(), true}
			}
		}
	}
	for _, lb := range cfg.LoadBalancers {
		if len(lb.Nodes) == 0 {
			continue
		}
		for _, l := range lb.Listeners {
			for _, r := range append([]Rule{l.Default}, l.Rules...) {
				f, ok := r.Then.(Forward)
				if !ok {
					continue
				}
				for _, g := range f.Groups {
					if _, known := from[g.ARN]; !known {
						from[g.ARN] = checkSource{netip.AddrPortFrom(lb.Nodes[0].Address, l.Port), lb.Network}
					}
				}
			}
		}
	}
	return from
}

// startChecker starts the health checker of a target unless it runs.
func (p *Plane) startChecker(g *targetGroup, t *target, source checkSource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		return
	}
	life := newLifetime()
	t.stop = life.end
	c := &checker{plane: p, group: g, target: t, source: source, life: life, state: t.state}
	p.work.Go(c.run)
}

// stopChecker ends the health checker. A later checker of the target starts without a result.
func (t *target) stopChecker() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop()
		t.stop = nil
		t.state, t.since = StateInitial, time.Now()
	}
}

// wakeChecker makes the health checker read its settings again.
func (t *target) wakeChecker() {
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// checker probes one target. Only the goroutine of run uses its fields.
type checker struct {
	plane  *Plane
	group  *targetGroup
	target *target
	source checkSource
	life   lifetime

	state               State
	successes, failures int
	probes              int
	reported            probeResult
}

// probeResult is the result of a probe; the zero value is a success.
type probeResult struct{ reason, description string }

func (c *checker) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-c.life.done:
			return
		case <-c.target.kick:
		case <-timer.C:
			v := c.group.view.Load()
			out := c.probe(v)
			if c.life.Err() != nil {
				return
			}
			c.recordResult(v.cfg.HealthCheck, out)
		}
		interval := c.group.view.Load().cfg.HealthCheck.Interval
		if c.source.network && c.state == StateInitial {
			interval /= newTargetProbes
		}
		timer.Reset(jitter(interval))
	}
}

// newTargetProbes is the factor by which a Network Load Balancer probes a target without a result more often,
// because many of its components probe independently.
const newTargetProbes = 10

// jitter returns a random duration of up to a tenth of the interval, which spreads probes over time.
func jitter(d time.Duration) time.Duration {
	return d - time.Duration(rand.Int64N(int64(d)/10+1))
}

// recordResult counts a result and reports the health when it changes. One success is enough for a target without an
// earlier result, except on a Network Load Balancer.
func (c *checker) recordResult(h HealthCheck, out probeResult) {
	state := c.state
	if out == (probeResult{}) {
		c.successes++
		c.failures = 0
		if c.state == StateInitial && !c.source.network || c.successes >= h.HealthyThreshold {
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
		return // too early for a change
	}
	if state == c.state && out == c.reported {
		return
	}
	c.state, c.reported = state, out
	c.publish(state, out)
}

// publish sets and reports the health unless the checker was stopped meanwhile.
func (c *checker) publish(state State, out probeResult) {
	t := c.target
	t.mu.Lock()
	if c.life.Err() != nil {
		t.mu.Unlock()
		return
	}
	changed := t.state != state
	if changed {
		t.state, t.since = state, time.Now()
	}
	t.mu.Unlock()
	if changed && state == StateUnhealthy && c.source.network && c.group.view.Load().attr.resetUnhealthy {
		c.plane.calls.cancel(errUnhealthy, t)
	}
	c.plane.opt.Health(HealthResult{
		TargetGroup: c.group.arn, ID: t.key.id, Port: t.key.port, Epoch: t.epoch,
		State: state, Reason: out.reason, Description: out.description,
	})
}
