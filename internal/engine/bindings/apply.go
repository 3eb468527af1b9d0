package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// apply brings the target group to the endpoints that were found: rules first, then new targets,
// then the old ones out. With anew, AWS is asked instead of what is remembered of it.
func (p *pass) apply(ctx context.Context, want string, anew bool) error {
	arn, gate := p.w.Spec.TargetGroupARN, targets.GateType(p.b)
	gated := !targets.IsInstance(p.w)
	age := healthAge
	switch {
	case anew:
		age = 0
	case gated && targets.Waiting(p.found.Endpoints, gate):
		age = time.Second
	}
	if err := p.loadOwned(ctx); err != nil {
		return err
	}
	start := p.r.Now()
	health, err := p.groups().TargetHealth(ctx, arn, age)
	p.r.phase("health", start)
	if err != nil {
		return p.stopped(ctx, fmt.Errorf("list targets of %s: %w", arn, err))
	}
	d, err := p.compare(ctx, health, age)
	if err != nil {
		return p.stopped(ctx, err)
	}
	p.r.noteServing(p.key, len(p.retained) > 0)
	pending := gated && slices.ContainsFunc(d.Matched, func(m targets.Pair) bool {
		return targets.Gated(m.Endpoint.Pod, gate) && targets.ConditionOf(m.Target).Status != "True"
	})

	open := p.openRules(ctx, anew)
	if !d.Empty() || len(p.retained) > 0 || pending || !open.done {
		if err := p.setCheckpoint(ctx, ""); err != nil {
			return err
		}
	}
	if len(d.Register) > 0 {
		if err := p.claim(ctx); err != nil {
			return err
		}
	}
	start = p.r.Now()
	failed := p.move(ctx, arn, d)
	p.r.phase("apply", start)
	p.tellUnidentified()
	if d.Over > 0 {
		p.out.Findings.Add(finding.Finding{
			Object: targets.Ref(p.b), Reason: finding.TargetsCapped, Severity: finding.Warning,
			Message: fmt.Sprintf("%d endpoints are not registered, as %d targets are the limit of a target group", d.Over, p.r.MaxTargets),
			Fix:     "raise --max-targets-per-target-group",
		})
	}
	waiting := noGate
	if gated {
		registered := d.Register
		if failed != nil {
			registered = nil
		}
		if waiting, err = p.showHealth(ctx, gate, d.Matched, registered); err != nil {
			return err
		}
	}
	if failed != nil {
		return p.stopped(ctx, failed)
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	reason := ""
	if !open.done {
		reason = reasonFailedNetwork
	}
	if err := p.report(ctx, reason, true); err != nil {
		return err
	}
	if err := p.events(ctx, reason); err != nil {
		return err
	}
	p.retry(!open.done && !open.faulty || open.again || d.Over > 0, p.r.Requeue)
	p.retry(open.faulty, patience)
	p.retry(waiting > noGate, p.r.poll(waiting))
	p.retry(len(p.retained) > 0, handover)
	if p.later || !open.done || d.Over > 0 || waiting > noGate || len(p.retained) > 0 || p.found.Unsure {
		return nil
	}
	p.r.compared(p.key)
	p.retry(true, p.r.dueIn(p.key))
	return p.setCheckpoint(ctx, want)
}

// compare says what has to happen to the target group. Whether new targets can take over from old
// ones is judged by their present health: what is remembered of a target that became healthy since
// it was registered is that it is in its first checks.
func (p *pass) compare(ctx context.Context, health observed.Health, age time.Duration) (targets.Diff, error) {
	d := p.diff(health)
	if age > time.Second {
		serving, err := p.handingOver(d)
		if err != nil {
			return d, err
		}
		if len(serving) > 0 {
			arn := p.w.Spec.TargetGroupARN
			if health, err = p.groups().TargetHealth(ctx, arn, time.Second); err != nil {
				return d, fmt.Errorf("list targets of %s: %w", arn, err)
			}
			d = p.diff(health)
		}
	}
	return p.retain(d)
}

func (p *pass) diff(health observed.Health) targets.Diff {
	d := targets.Compare(p.registrable(), health.Targets, p.r.MaxTargets)
	d.Deregister = p.owned.mine(d.Deregister)
	return d
}

// registrable are the endpoints that AWS takes: in QUIC groups those that have a server id.
func (p *pass) registrable() []targets.Endpoint {
	if !targets.IsQUIC(p.w) {
		return p.found.Endpoints
	}
	return slices.DeleteFunc(slices.Clone(p.found.Endpoints), func(e targets.Endpoint) bool { return e.ServerID == "" })
}

// tellUnidentified tells of endpoints that were left out for want of a server id.
func (p *pass) tellUnidentified() {
	n := len(p.found.Endpoints) - len(p.registrable())
	if n == 0 {
		return
	}
	p.out.Findings.Add(finding.Finding{
		Object: targets.Ref(p.b), Reason: finding.EndpointIgnored, Severity: finding.Warning,
		Message: fmt.Sprintf("%d endpoints have no QUIC server id and are left out", n),
		Fix:     "name their containers in the annotation " + targets.QUICAnnotation + " and let the ids be injected",
	})
	if p.r.NoServerID != nil {
		p.r.NoServerID(p.key, n)
	}
}

// retry asks for another run after a time, if none is asked for sooner.
func (p *pass) retry(needed bool, after time.Duration) {
	if needed && (p.out.RetryAfter == 0 || after < p.out.RetryAfter) {
		p.out.RetryAfter = after
	}
}

// setCheckpoint writes the checkpoint unless it is so already.
func (p *pass) setCheckpoint(ctx context.Context, value string) error {
	if p.checkpoint == value {
		return nil
	}
	if err := p.r.change(ctx, SetCheckpoint{p.key, value, p.r.Now().Unix()}); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	p.checkpoint = value
	return nil
}

// opening is what became of the rules.
type opening struct {
	done   bool // those of this binding are there
	faulty bool // some cannot be told until the binding is mended
	again  bool // those of others are not there
}

// openRules brings about the rules of the endpoints before targets are registered.
func (p *pass) openRules(ctx context.Context, anew bool) opening {
	start := p.r.Now()
	defer func() { p.r.phase("rules", start) }()
	var want string
	var err error
	if !anew && p.r.hasRules(p.key) {
		want, err = p.r.rulesText(ctx, p.demand)
		if err == nil && want != "" && p.r.ruled(p.key, want) {
			return opening{done: true} // other endpoints behind the same groups
		}
	}
	var report ruleReport
	if err == nil {
		report, err = p.r.syncRules(ctx, p.key, false)
	}
	if err != nil {
		// Rules are in the way of health checks at worst. Registering goes on, so that the new
		// targets are there when the rules are.
		p.out.Findings.Add(finding.Finding{
			Object: targets.Ref(p.b), Field: "spec.networking", Reason: finding.EndpointGroupUnclear, Severity: finding.Error,
			Message: err.Error(), Fix: "this is tried again",
		})
		return opening{}
	}
	p.out.Findings.Add(report.findings...)
	p.out.Changed = p.out.Changed || report.changed
	if report.mine && len(p.retained) == 0 {
		if want == "" { // only now, as it is then told from what was read for all bindings together
			want, _ = p.r.rulesText(ctx, p.demand) // without it the rules are computed once more
		}
		p.r.noteRuled(p.key, want)
	}
	return opening{done: report.mine, faulty: report.faulty, again: report.others}
}

// move registers and deregisters. The old targets go after the new ones have come; if those cannot
// come, old ones go only while others remain. An old target with the address and port of a new one
// has to go first, as AWS would take the new one for the old.
func (p *pass) move(ctx context.Context, arn string, d targets.Diff) error {
	replaced := func(t observed.Target) bool {
		return slices.ContainsFunc(d.Register, func(e targets.Endpoint) bool { return e.ID == t.ID && e.Port == t.Port })
	}
	before := slices.DeleteFunc(slices.Clone(d.Deregister), func(t observed.Target) bool { return !replaced(t) })
	drop := slices.DeleteFunc(slices.Clone(d.Deregister), replaced)
	if err := p.deregister(ctx, arn, before); err != nil {
		return err
	}
	left, failed := p.register(ctx, arn, d.Register)
	if len(left) > 0 && len(d.Matched)+len(d.Register)-len(left) == 0 && p.r.Cloud.Class(failed) != engine.Quota {
		return failed
	}
	quota := len(left) > 0 && p.r.Cloud.Class(failed) == engine.Quota
	if quota {
		drop = append(drop, p.retained...) // there is no room for both
		p.retained = nil
	}
	if err := p.deregister(ctx, arn, drop); err != nil {
		if p.putOff(err) {
			return failed // the new targets are there, the old ones go later
		}
		return errors.Join(failed, err)
	}
	if quota && len(drop) > 0 {
		_, failed = p.register(ctx, arn, left) // there is room now
	}
	return failed
}

func (p *pass) deregister(ctx context.Context, arn string, drop []observed.Target) error {
	for chunk := range slices.Chunk(drop, MaxTargets) {
		if err := p.r.fence(); err != nil {
			return err
		}
		if err := p.groups().Deregister(ctx, arn, chunk); err != nil {
			return fmt.Errorf("deregister %d targets of %s: %w", len(chunk), arn, err)
		}
		p.out.Changed = true
	}
	return nil
}

// register adds endpoints and returns those that could not be added, with the last error. One that
// AWS refuses does not keep the others out.
func (p *pass) register(ctx context.Context, arn string, add []targets.Endpoint) (left []targets.Endpoint, failed error) {
	queue := slices.Collect(slices.Chunk(add, MaxTargets))
	for len(queue) > 0 {
		chunk := queue[0]
		list, err := p.targetsOf(ctx, chunk)
		if err == nil {
			err = p.r.fence()
		}
		if err != nil {
			return append(left, slices.Concat(queue...)...), err
		}
		if err = p.groups().Register(ctx, arn, list); errors.Is(err, ErrZoneNeeded) && accountOf(p.b) == (Account{}) && !p.r.wantsZones(p.key) {
			p.r.noteZones(p.key)
			continue
		}
		queue = queue[1:]
		if err == nil {
			p.out.Changed = true
			continue
		}
		if p.r.Cloud.Class(err) == engine.Invalid && len(chunk) > 1 {
			queue = append(queue, chunk[:len(chunk)/2], chunk[len(chunk)/2:])
			continue
		}
		left = append(left, chunk...)
		failed = fmt.Errorf("register %s and %d more targets in %s: %w", chunk[0].ID, len(chunk)-1, arn, err)
	}
	return left, failed
}

// isActive leaves out targets that were taken out already.
func isActive(t observed.Target) bool { return !targets.Draining(t) }
