package bindings

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// run is one run over a binding.
type run struct {
	r        *Reconciler
	key      Key
	v        *cluster.View
	out      *Outcome
	reported bindingplan.Reported
	demand   targets.Demand
	// checkpoint is as last written.
	checkpoint string

	noRemoval   bool // the target group needs no look for targets whose pods are gone
	unavailable bool // the targets cannot be read
}

// Reconcile brings the targets of one binding, and the rules in front of them, to what is asked for: it reads facts,
// makes the plan, carries its steps out and reports. What users did wrong is in the outcome; an error is to be tried
// again with back-off.
func (r *Reconciler) Reconcile(ctx context.Context, key Key) (out Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reconcile binding %s: panic: %v\n%s", key, p, debug.Stack())
		}
	}()
	r.memory.note(key, noteBegan)
	defer func() { r.memory.noteKnown(key, noteEnded(err == nil && (out.Idle || out.Deferred))) }() // it may be forgotten
	p := &run{r: r, key: key, out: &out}
	start := r.Clock.Now()
	f, err := reader{p}.facts()
	if err != nil {
		return out, err
	}
	r.phase("view", start)
	start = r.Clock.Now()
	defer func() { r.phase("run", start) }()
	defer p.watchSilence(ctx, f)()
	return out, p.reconcile(ctx, f)
}

func (p *run) reconcile(ctx context.Context, f *bindingplan.Facts) error {
	switch {
	case f.Absent:
		p.r.Recorder.Gone(p.key)
	case f.Stored.DeletionTimestamp != nil:
		p.r.Recorder.Viewed(p.key, p.v)
	default:
		if err := (reader{p}).resolve(ctx, f); err != nil {
			return err
		}
		if waits, err := p.emptyPreviousGroup(ctx, f); waits || err != nil {
			return p.removeGone(ctx, f, err)
		}
	}
	plan, err := reader{p}.plan(ctx, f, bindingplan.Make)
	if err == nil {
		err = p.carryOut(ctx, f, &plan)
	}
	if plan.Remove || err != nil && len(plan.Steps) == 0 && !f.Absent {
		err = p.removeGone(ctx, f, err)
	}
	return err
}

// carryOut carries a plan out and reports.
func (p *run) carryOut(ctx context.Context, f *bindingplan.Facts, plan *bindingplan.Plan) error {
	done := p.steps(ctx, f, plan)
	p.unavailable, p.out.Deferred = plan.Unavailable, plan.Deferred
	f.Now = p.r.Clock.Now()
	f.Reported = p.reported
	return p.report(ctx, f, plan.Report(f, done))
}

// emptyPreviousGroup empties the target group that the binding has filled before its spec named another, and reports
// whether that waits for its turn. It would be forgotten once the other has targets.
func (p *run) emptyPreviousGroup(ctx context.Context, f *bindingplan.Facts) (waits bool, err error) {
	old := p.r.memory.get(p.key).registration.binding
	if old == nil || bindingplan.SameTargetGroup(old, f.Stored) && accountOf(old) == accountOf(f.Stored) {
		return false, nil
	}
	was := p.factsOfOther(old, old, true)
	failed := p.deregisterByPlan(ctx, was, bindingplan.MakeEmptying)
	switch {
	case failed == nil:
		p.r.memory.note(p.key, noteEmptied)
	case failed.RetryAfter > 0:
		p.postpone(failed.RetryAfter)
		return true, nil
	default:
		f.Reported = p.reported
		return false, p.report(ctx, f, bindingplan.Failed(f, *failed))
	}
	return false, nil
}

// removeGone takes out the targets whose pod or node is gone, after a run that has not brought the
// target group to its endpoints. An error of that run is returned with its own.
func (p *run) removeGone(ctx context.Context, f *bindingplan.Facts, run error) error {
	w := f.Described
	if w == nil {
		w = f.Stored
	}
	if old := p.r.memory.get(p.key).registration.binding; old != nil && w != nil && w.Spec.TargetGroupARN == "" {
		w = old // a group given by name that cannot be looked up now
	}
	if p.noRemoval || p.unavailable || p.v.Err() != nil || w == nil || w.Spec.TargetGroupARN == "" || p.r.fence() != nil {
		return run
	}
	g := p.factsOfOther(f.Stored, w, f.Absent)
	failed := p.deregisterByPlan(ctx, g, bindingplan.MakeRemoval)
	switch {
	case failed == nil:
		return run
	case failed.RetryAfter > 0:
		p.postpone(failed.RetryAfter)
		return run
	case run == nil:
		g.GatedPods, g.Reported = f.GatedPods, p.reported
		return p.report(ctx, g, bindingplan.Failed(g, *failed))
	}
	return errors.Join(run, failed.Err)
}

// deregisterByPlan carries a plan out that only takes targets out. The failure is nil if they are not there any more.
func (p *run) deregisterByPlan(ctx context.Context, f *bindingplan.Facts, make func(*bindingplan.Facts) bindingplan.Plan) *bindingplan.Failure {
	plan, err := reader{p}.plan(ctx, f, make)
	if err != nil {
		return p.r.failure(err)
	}
	noRemoval := p.noRemoval
	failed := plan.Failure(p.steps(ctx, f, &plan))
	p.noRemoval = noRemoval
	if failed != nil && isNotFound(failed) {
		return nil
	}
	return failed
}

// isNotFound reports whether a failure is about something that is not there any more.
func isNotFound(f *bindingplan.Failure) bool {
	return f.Class == failure.Gone || f.Class == failure.Invalid
}

// factsOfOther returns facts about a target group other than that of the run, or for another plan.
func (p *run) factsOfOther(stored, described *elbv2.TargetGroupBinding, absent bool) *bindingplan.Facts {
	return &bindingplan.Facts{
		Now: p.r.Clock.Now(), Key: p.key, Options: p.r.planOptions(), Memory: p.r.memory.planned(p.key),
		Stored: stored, Described: described, Absent: absent, Reported: p.reported,
	}
}

// postpone asks for another run when a call has its turn. Until then more may come to do for the same
// target group, which then goes in the same call.
func (p *run) postpone(turn time.Duration) {
	p.out.Waiting = true
	p.retry(turn)
}

// retry asks for another run after a time, if none is asked for sooner.
func (p *run) retry(after time.Duration) {
	if p.out.RetryAfter == 0 || after < p.out.RetryAfter {
		p.out.RetryAfter = after
	}
	p.reported.RetryAfter = p.out.RetryAfter
}

func (r *Reconciler) failure(err error) *bindingplan.Failure {
	if err == nil {
		return nil
	}
	return &bindingplan.Failure{Err: err, Class: r.Cloud.Class(err), RetryAfter: failure.PostponedFor(err)}
}

// targetGroups returns the target groups that a binding's account reaches.
func (p *run) targetGroups(f *bindingplan.Facts) TargetGroups {
	return p.r.Cloud.As(accountOf(f.Stored))
}
