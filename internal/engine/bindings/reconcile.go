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

// run is the state of one reconciliation of a binding.
type run struct {
	r        *Reconciler
	key      Key
	view     *cluster.View
	out      *Outcome
	reported bindingplan.ReportedState
	demand   targets.RuleDemand
	// checkpoint is the value of the checkpoint annotation that was last read or written.
	checkpoint string

	skipsRemoval       bool // the run does not look for targets of deleted pods at its end
	targetsUnavailable bool // the targets of the target group cannot be read
	// recordErr is the error of removing deregistered targets from the record; nil if a later write succeeded.
	recordErr error
}

// Reconcile changes the targets of one binding, and the security group rules that admit traffic to them, to their desired
// state. It reads facts, makes the plan, carries out its steps, and reports. Configuration errors of users are in the
// outcome, not in err. If err is not nil, the caller repeats the run with back-off.
func (r *Reconciler) Reconcile(ctx context.Context, key Key) (out Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reconcile binding %s: panic: %v\n%s", key, p, debug.Stack())
		}
	}()
	r.memory.update(key, recordRunBegan)
	defer func() { r.memory.updateIfKnown(key, recordRunEnded(err == nil && (out.Idle || out.Deferred))) }() // updateIfKnown does not create an entry that the run has removed
	p := &run{r: r, key: key, out: &out}
	start := r.Clock.Now()
	f, err := reader{p}.initialFacts()
	if err != nil {
		return out, err
	}
	r.recordPhase("view", start)
	start = r.Clock.Now()
	defer func() { r.recordPhase("run", start) }()
	defer p.watchUnansweredCalls(ctx, f)()
	if err = p.reconcile(ctx, f); err == nil {
		err = p.recordErr
	}
	return out, err
}

// reconcile makes and carries out the plan of a binding whose facts have been read.
func (p *run) reconcile(ctx context.Context, f *bindingplan.Facts) error {
	switch {
	case f.Absent:
		p.r.Recorder.RecordDeleted(p.key)
	case f.StoredBinding.DeletionTimestamp != nil:
		p.r.Recorder.RecordView(p.key, p.view)
	default:
		if err := (reader{p}).resolveEndpoints(ctx, f); err != nil {
			return err
		}
		if waits, err := p.deregisterFromPreviousTargetGroup(ctx, f); waits || err != nil {
			return p.deregisterAbsentTargets(ctx, f, err)
		}
	}
	plan, err := reader{p}.makePlan(ctx, f, bindingplan.Make)
	if err == nil {
		err = p.carryOut(ctx, f, &plan)
	}
	if plan.NeedsRemoval || err != nil && len(plan.Steps) == 0 && !f.Absent {
		err = p.deregisterAbsentTargets(ctx, f, err)
	}
	return err
}

// carryOut carries out the steps of a plan, and then reports the result.
func (p *run) carryOut(ctx context.Context, f *bindingplan.Facts, plan *bindingplan.Plan) error {
	done := p.carryOutSteps(ctx, f, plan)
	p.targetsUnavailable, p.out.Deferred = plan.TargetsUnavailable, plan.Deferred
	f.Now = p.r.Clock.Now()
	f.AlreadyReported = p.reported
	return p.report(ctx, f, plan.Report(f, done))
}

// deregisterFromPreviousTargetGroup deregisters the targets of the binding from the target group that its spec contained
// before it was edited. waits reports whether the call was postponed. The method must be called before targets are
// registered in the new target group, because recordRegistered removes the previous target group from the memory.
func (p *run) deregisterFromPreviousTargetGroup(ctx context.Context, f *bindingplan.Facts) (waits bool, err error) {
	old := p.r.memory.get(p.key).registration.binding
	if old == nil || bindingplan.SameTargetGroup(old, f.StoredBinding) && accountOf(old) == accountOf(f.StoredBinding) {
		return false, nil
	}
	previous := p.removalFacts(old, old, true)
	failed := p.deregisterByPlan(ctx, previous, bindingplan.MakeForPreviousTargetGroup)
	switch {
	case failed == nil:
		p.r.memory.update(p.key, recordTargetGroupEmptied)
	case failed.RetryAfter > 0:
		p.postpone(failed.RetryAfter)
		return true, nil
	default:
		f.AlreadyReported = p.reported
		return false, p.report(ctx, f, bindingplan.FailureReport(f, *failed))
	}
	return false, nil
}

// deregisterAbsentTargets deregisters the targets whose pod or node does not exist any more. It is called after a run that
// did not complete the plan. It returns runErr, the error of that run, joined with the error of the deregistration.
func (p *run) deregisterAbsentTargets(ctx context.Context, f *bindingplan.Facts, runErr error) error {
	w := f.CompletedBinding
	if w == nil {
		w = f.StoredBinding
	}
	if old := p.r.memory.get(p.key).registration.binding; old != nil && w != nil && w.Spec.TargetGroupARN == "" {
		w = old // the spec has only the name of a target group, and its ARN cannot be read now
	}
	if p.skipsRemoval || p.targetsUnavailable || p.view.Err() != nil || w == nil || w.Spec.TargetGroupARN == "" || p.r.checkFence() != nil {
		return runErr
	}
	g := p.removalFacts(f.StoredBinding, w, f.Absent)
	failed := p.deregisterByPlan(ctx, g, bindingplan.MakeRemoval)
	switch {
	case failed == nil:
		return runErr
	case failed.RetryAfter > 0:
		p.postpone(failed.RetryAfter)
		return runErr
	case runErr == nil:
		g.GatedPods, g.AlreadyReported = f.GatedPods, p.reported
		return p.report(ctx, g, bindingplan.FailureReport(g, *failed))
	}
	return errors.Join(runErr, failed.Err)
}

// deregisterByPlan makes and carries out a plan that only deregisters targets. A target group or target that does not exist
// is not a failure.
func (p *run) deregisterByPlan(ctx context.Context, f *bindingplan.Facts, make func(*bindingplan.Facts) bindingplan.Plan) *bindingplan.Failure {
	plan, err := reader{p}.makePlan(ctx, f, make)
	if err != nil {
		return p.r.failureOf(err)
	}
	noRemoval := p.skipsRemoval
	failed := plan.Failure(p.carryOutSteps(ctx, f, &plan))
	p.skipsRemoval = noRemoval
	if failed != nil && isNotFound(failed) {
		return nil
	}
	return failed
}

// isNotFound reports whether a failure means that the target group or the target does not exist in AWS.
func isNotFound(f *bindingplan.Failure) bool {
	return f.Class == failure.Gone || f.Class == failure.Invalid
}

// removalFacts returns the facts for a plan that only deregisters targets. stored is the binding in Kubernetes, and
// described is the binding with the ARN of the target group. absent reports whether the binding does not exist any more.
func (p *run) removalFacts(stored, described *elbv2.TargetGroupBinding, absent bool) *bindingplan.Facts {
	return &bindingplan.Facts{
		Now: p.r.Clock.Now(), Key: p.key, Options: p.r.planOptions(), Memory: p.r.memory.planMemory(p.key),
		StoredBinding: stored, CompletedBinding: described, Absent: absent, AlreadyReported: p.reported,
	}
}

// postpone requests another run for the time at which a postponed call may be sent. The later run computes the changes of
// the target group again.
func (p *run) postpone(delay time.Duration) {
	p.out.CallPostponed = true
	p.requeueAfter(delay)
}

// requeueAfter requests another run after the given time, unless an earlier run is already requested.
func (p *run) requeueAfter(after time.Duration) {
	if p.out.RetryAfter == 0 || after < p.out.RetryAfter {
		p.out.RetryAfter = after
	}
	p.reported.RetryAfter = p.out.RetryAfter
}

// failureOf returns err with its class, and with the time until a postponed call may be sent; nil if err is nil.
func (r *Reconciler) failureOf(err error) *bindingplan.Failure {
	if err == nil {
		return nil
	}
	return &bindingplan.Failure{Err: err, Class: r.Cloud.Class(err), RetryAfter: failure.PostponedFor(err)}
}

// targetGroups returns access to target groups with the account of the binding in f.
func (p *run) targetGroups(f *bindingplan.Facts) TargetGroups {
	return p.r.Cloud.TargetGroupsOf(accountOf(f.StoredBinding))
}
