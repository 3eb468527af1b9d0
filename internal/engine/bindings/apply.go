package bindings

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/failure"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// apply brings the target group to the endpoints that were found: rules first, then new targets,
// then the old ones out. A maxAge above zero compares with what was read from AWS no longer ago, and
// zero with what is remembered.
func (p *pass) apply(ctx context.Context, want string, maxAge time.Duration) error {
	arn := p.w.Spec.TargetGroupARN
	gated := !targets.IsInstance(p.w)
	age := healthAge
	switch {
	case maxAge > 0:
		age = 0
	case p.gatesClosed():
		age = time.Second
	}
	if err := p.loadOwned(ctx, false); err != nil {
		return err
	}
	start := p.r.Now()
	health, err := p.groups().TargetHealth(ctx, arn, age)
	p.r.phase("health", start)
	if err != nil {
		p.unread = true
		return p.stopped(ctx, fmt.Errorf("list targets of %s: %w", arn, err))
	}
	d, err := p.compare(ctx, health, age)
	if err != nil {
		return p.stopped(ctx, err)
	}
	for _, m := range d.Matched {
		p.noteFilled(true, m.Endpoint.Identity())
	}
	p.r.noteServing(p.key, len(p.retained) > 0)
	pending := gated && slices.ContainsFunc(d.Matched, func(m targets.Pair) bool {
		return targets.Gated(m.Endpoint.Pod, p.gate()) && p.conditionOf(m).Status != corev1.ConditionTrue
	})

	open := p.openRules(ctx, maxAge)
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
	left := p.leftOut(d)
	waiting := noGate
	if gated {
		if waiting, err = p.showHealth(ctx, d.Matched, without(d.Register, p.refused), left); err != nil {
			return err
		}
	}
	if err := p.tellStrays(ctx); err != nil {
		return err
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
	p.retry(!open.done && !open.faulty || open.again || len(d.Over) > 0, p.r.Requeue)
	p.retry(open.faulty, patience)
	p.retry(waiting > noGate, p.r.poll(waiting))
	p.retry(len(p.retained) > 0, handover)
	if p.later || !open.done || len(d.Over) > 0 || waiting > noGate || len(p.retained) > 0 || p.found.Unsure {
		return nil
	}
	p.r.compared(p.key)
	p.out.Idle = p.out.RetryAfter == 0
	p.retry(true, p.r.dueIn(p.key))
	return p.setCheckpoint(ctx, want)
}

// compare says what has to happen to the target group. What is remembered of a target is not enough
// where something follows from its health: whether new targets can take over from old ones, and
// whether a pod that is not known to be healthy yet may have its gate opened. A target may have
// become healthy since, and the address may have been another pod's.
func (p *pass) compare(ctx context.Context, health observed.Health, age time.Duration) (targets.Diff, error) {
	d := p.diff(health)
	if age > time.Second {
		serving, err := p.handingOver(d)
		if err != nil {
			return d, err
		}
		if len(serving) > 0 || p.opensGate(d) {
			arn := p.w.Spec.TargetGroupARN
			if health, err = p.groups().TargetHealth(ctx, arn, time.Second); err != nil {
				return d, fmt.Errorf("list targets of %s: %w", arn, err)
			}
			d = p.diff(health)
		}
	}
	return p.retain(d)
}

// opensGate says that the gate of a pod is to be opened.
func (p *pass) opensGate(d targets.Diff) bool {
	return !targets.IsInstance(p.w) && slices.ContainsFunc(d.Matched, func(m targets.Pair) bool {
		shown, _, _ := targets.Shown(m.Endpoint.Pod, p.gate())
		return targets.Gated(m.Endpoint.Pod, p.gate()) && shown.Status != corev1.ConditionTrue &&
			p.conditionOf(m).Status == corev1.ConditionTrue
	})
}

func (p *pass) diff(health observed.Health) targets.Diff {
	d := targets.Compare(p.registrable(), health.Targets, p.r.MaxTargets)
	d.Deregister = p.mine(d.Deregister)
	return d
}

// retry asks for another run after a time, if none is asked for sooner.
func (p *pass) retry(needed bool, after time.Duration) {
	if needed && (p.out.RetryAfter == 0 || after < p.out.RetryAfter) {
		p.out.RetryAfter = after
	}
}

// setCheckpoint writes the checkpoint unless it is so already.
func (p *pass) setCheckpoint(ctx context.Context, value string) error {
	p.r.noteDone(p.key, value)
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
func (p *pass) openRules(ctx context.Context, maxAge time.Duration) opening {
	start := p.r.Now()
	defer func() { p.r.phase("rules", start) }()
	var err error
	if maxAge == 0 && p.r.hasRules(p.key) {
		var want askedRules
		if want, err = p.r.rulesAsked(ctx, targets.Ref(p.b), p.demand); err == nil && p.r.openedEnough(p.key, want) {
			if !want.complete {
				p.out.Findings.Add(want.findings...)
			}
			return opening{done: want.complete, faulty: p.demand.Faulty} // other endpoints behind the same groups
		}
	}
	var report ruleReport
	if err == nil {
		report, err = p.r.syncRules(ctx, p.key, false, maxAge)
	}
	if err != nil {
		// Rules are in the way of health checks at worst. Registering goes on, so that the new
		// targets are there when the rules are.
		m, _ := failure.MeaningOf(failure.RulesOfENIs, p.r.Cloud.Class(err), err)
		p.out.Findings.Add(finding.Finding{
			Object: targets.Ref(p.b), Field: "spec.networking", Reason: m.Reason, Severity: finding.Error,
			Message: err.Error(), Fix: m.Fix,
		})
		return opening{}
	}
	p.out.Findings.Add(report.findings...)
	p.out.Changed = p.out.Changed || report.changed
	if len(p.retained) == 0 {
		p.r.noteRuled(p.key, report.rules, report.mine)
	}
	return opening{done: report.mine, faulty: report.faulty, again: report.others}
}
