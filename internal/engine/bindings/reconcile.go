package bindings

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/failure"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// How soon a run is repeated.
const (
	patience = 5 * time.Minute // for what AWS refused and only a change of input mends
	lacking  = time.Minute     // for a target group that does not exist
	grace    = 5 * time.Second // before the absence of a backend is believed
)

// healthAge is how old a list of targets may be that changes are made from. Our own writes are
// always in it.
const healthAge = 5 * time.Minute

// describedAge is how old the description of a target group may be. What is read of it does not
// change while it is there, but another may be made with its name.
const describedAge = 20 * time.Minute

// pass is one run over a binding.
type pass struct {
	r   *Reconciler
	key Key
	v   *cluster.View
	b   *elbv2.TargetGroupBinding // as stored
	// w is the binding with what only AWS knows filled in.
	w          *elbv2.TargetGroupBinding
	found      targets.Resolution
	demand     targets.Demand
	out        *Outcome
	told       bool              // a fault of this run stands in the status
	checkpoint string            // as last written
	retained   []observed.Target // old targets that serve on for now
	refused    []refusal         // endpoints that were not registered
	shown      bool              // pods were told of their targets
	later      bool              // a call waits for its turn
	owned      *owned            // what may be taken out; nil: all
	others     map[string]bool   // what other bindings want, by identity
	absent     bool              // the object is not there any more
	complete   bool              // the target group needs no look for targets whose pods are gone
	unread     bool              // the targets cannot be read
	untried    time.Duration     // until a target that was refused is tried again; zero: all were
}

// groups are the target groups that the binding's account reaches.
func (p *pass) groups() TargetGroups { return p.r.Cloud.As(accountOf(p.b)) }

// Reconcile brings the targets of one binding, and the rules in front of them, to what is wanted.
// What users did wrong is in the outcome; an error is to be tried again with back-off.
func (r *Reconciler) Reconcile(ctx context.Context, key Key) (out Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reconcile binding %s: panic: %v\n%s", key, p, debug.Stack())
		}
	}()
	start := r.Now()
	p := &pass{r: r, key: key, v: r.Cluster.View(), out: &out}
	b, ok := cluster.Get[*elbv2.TargetGroupBinding](p.v, cluster.KindBinding, key.Namespace, key.Name)
	if err := p.v.Err(); err != nil {
		return out, err
	}
	r.phase("view", start)
	start = r.Now()
	defer func() { r.phase("run", start) }()
	if !ok {
		p.absent = true
		return out, p.gone(ctx)
	}
	p.b, p.w, p.checkpoint = b, b, b.Annotations[targets.CheckpointAnnotation]
	if b.DeletionTimestamp != nil {
		r.viewed(key, p.v)
		return out, p.removeGone(ctx, p.delete(ctx))
	}
	return out, p.removeGone(ctx, p.converge(ctx))
}

// gone tidies up after a binding that disappeared with or without our doing, or that was never
// there although pods have its readiness gate. A binding that is only on its way to us must not
// have its gates opened, and one that will be made anew needs its rules.
func (p *pass) gone(ctx context.Context) error {
	p.r.viewed(p.key, nil)
	p.b = p.r.lastKnown(p.key)
	p.w = p.b
	known := p.r.knows(p.key)
	waiting, err := p.waitingPods()
	if err != nil {
		return err
	}
	absent := p.r.absent(p.key)
	if len(waiting) > 0 && absent < grace {
		p.retry(true, grace)
	} else if err := p.open(ctx, waiting); err != nil {
		return err
	}
	if known && !p.r.hasLetGo(p.key) && absent < comeback {
		p.r.noteServing(p.key, true)
		p.retry(true, comeback-absent)
		return p.removeGone(ctx, nil)
	}
	if awaited, err := p.awaited(ctx); err != nil {
		return p.removeGone(ctx, err)
	} else if awaited {
		p.retry(true, comeback)
		return p.removeGone(ctx, nil)
	}
	if known { // otherwise there were neither targets nor rules
		if err := p.emptyAbandoned(ctx); err != nil {
			return err
		}
		p.r.noteServing(p.key, false)
		if _, err := p.r.syncRules(ctx, p.key, true, 0); err != nil {
			return err
		}
	}
	if p.out.RetryAfter == 0 {
		p.r.viewed(p.key, nil)
		p.r.forget(p.key)
		return p.r.Cluster.Write(ctx, []cluster.Patch{lasting(p.key)})
	}
	return nil
}

// converge is a run over a binding that is to stay.
func (p *pass) converge(ctx context.Context) error {
	describeErr := p.describe(ctx)
	if describeErr == nil {
		p.found = targets.Resolve(p.v, p.w, p.r.Targets)
		p.demand = targets.Ask(p.v, p.w, p.found.Endpoints)
	}
	p.r.viewed(p.key, p.v)
	if err := p.v.Err(); err != nil {
		return err
	}
	if err := p.leaveOldGroup(ctx); err != nil {
		return err
	}
	if describeErr != nil {
		p.unread = p.past(describeErr)
		return p.stopped(ctx, describeErr)
	}
	if f := impossible(p.w); f != nil {
		return p.stop(ctx, reasonFailedReconcile, *f)
	}
	p.out.Findings.Add(p.found.Findings...)
	want, err := targets.Checkpoint(p.found.Endpoints, p.b.Spec)
	if err != nil {
		return err
	}
	due := p.r.dueIn(p.key)
	if p.unchanged(want) && due > 0 {
		p.complete = true
		p.out.Deferred = true
		p.retry(true, due)
		return p.tellStrays(ctx)
	}
	if !p.claimed() {
		start := p.r.Now()
		err := p.r.change(ctx, ClaimFinalizer{p.key})
		p.r.phase("claim", start)
		if err != nil {
			return p.note(ctx, err, "FailedAddFinalizer", "Failed add finalizer due to ")
		}
	}
	rival, err := p.rival(ctx)
	if err != nil {
		return err
	}
	p.r.noteServing(p.key, false)
	switch {
	case rival.lost():
		if o := rival.first; o != nil {
			cluster.Get[*elbv2.TargetGroupBinding](p.v, cluster.KindBinding, o.Namespace, o.Name)
		}
		p.r.viewed(p.key, p.v) // its going is noticed at once
		p.out.RetryAfter = patience
		return p.stop(ctx, reasonFailedReconcile, rival.shared(p.w))
	case p.found.NotFound:
		return p.withdraw(ctx)
	case p.found.Blind:
		return p.stay(ctx)
	case p.found.Faulty:
		p.r.seen(p.key)
		return p.stop(ctx, reasonFailedReconcile)
	}
	p.r.seen(p.key)
	maxAge := time.Duration(0)
	switch {
	case p.cleared(want):
		maxAge = time.Second
	case due <= 0:
		maxAge = engine.ResyncAge(p.r.Resync)
	}
	return p.apply(ctx, want, maxAge)
}

// cleared reports whether somebody has taken away the checkpoint of a binding that has not changed, which
// asks for a comparison with AWS.
func (p *pass) cleared(want string) bool {
	done, ok := p.r.lastDone(p.key)
	return ok && done == want && p.checkpoint == ""
}

// unchanged says that nothing has changed since the last complete run.
func (p *pass) unchanged(want string) bool {
	if done, ok := p.r.lastDone(p.key); ok && done != want {
		return false // anybody who may edit the binding may write a checkpoint
	}
	if p.found.NotFound || p.found.Blind || p.found.Faulty || p.found.Unsure || p.checkpoint != want || !p.claimed() {
		return false
	}
	if seen := p.b.Status.ObservedGeneration; seen == nil || *seen < p.b.Generation {
		return false
	}
	return !p.gatesClosed()
}

// claimed says that the binding does not go before its targets.
func (p *pass) claimed() bool { return slices.Contains(p.b.Finalizers, naming.BindingFinalizer) }

// describe asks AWS for what the binding leaves open.
func (p *pass) describe(ctx context.Context) error {
	w, err := p.r.described(ctx, p.b)
	if err != nil {
		return err
	}
	p.w = w
	return nil
}

// described is the binding with its ARN and target type.
func (r *Reconciler) described(ctx context.Context, b *elbv2.TargetGroupBinding) (*elbv2.TargetGroupBinding, error) {
	if b.Spec.TargetGroupARN != "" && b.Spec.TargetType != nil {
		return b, nil
	}
	g, err := r.Cloud.As(accountOf(b)).TargetGroup(ctx, b.Spec.TargetGroupARN, b.Spec.TargetGroupName, describedAge)
	if err != nil {
		return nil, fmt.Errorf("look up target group %s%s: %w", b.Spec.TargetGroupARN, b.Spec.TargetGroupName, err)
	}
	w := b.DeepCopy()
	w.Spec.TargetGroupARN = g.ARN
	if w.Spec.TargetType == nil {
		t := elbv2.TargetType(g.Type)
		w.Spec.TargetType = &t
	}
	if w.Spec.TargetGroupProtocol == nil && g.Protocol != "" {
		t := elbv2.Protocol(g.Protocol)
		w.Spec.TargetGroupProtocol = &t
	}
	if w.Spec.IPAddressType == nil && g.AddressType != "" {
		t := elbv2.TargetGroupIPAddressType(g.AddressType)
		w.Spec.IPAddressType = &t
	}
	if w.Spec.VpcID == "" {
		w.Spec.VpcID = g.VPC
	}
	return w, nil
}

// failed sorts an error: what only a change of input mends becomes a finding and waits.
func (p *pass) failed(ctx context.Context, err error) error {
	f, ok := p.faultOf(err)
	if !ok {
		return p.note(ctx, err, reasonFailedReconcile, "Failed reconcile due to ")
	}
	p.out.RetryAfter = patience
	p.retry(p.untried > 0, p.untried)
	if f.Reason == finding.TargetGroupNotFound {
		p.out.RetryAfter = lacking
		if p.r.Now().Sub(p.b.CreationTimestamp.Time) < patience {
			p.out.RetryAfter = p.r.Requeue // it may have been made a moment ago
		}
	}
	return p.stop(ctx, reasonFailedReconcile, f)
}

// faultOf is an error as a finding; false if it may pass by itself.
func (p *pass) faultOf(err error) (finding.Finding, bool) {
	var known mistake
	if errors.As(err, &known) {
		return known.f, true
	}
	m, ok := failure.MeaningOf(failure.Targets, p.r.Cloud.Class(err), err)
	if p.b.Spec.IamRoleArnToAssume != "" {
		m = m.OfRole()
	}
	return finding.Finding{Object: targets.Ref(p.b), Severity: finding.Error, Reason: m.Reason, Message: failure.Plainly(err), Fix: m.Fix}, ok
}

// mistake is an error that is known to be one of a person.
type mistake struct{ f finding.Finding }

// Error implements error.
func (m mistake) Error() string { return m.f.Message }

// stop ends a run whose faults are to be mended by a person.
func (p *pass) stop(ctx context.Context, reason string, fs ...finding.Finding) error {
	p.out.Findings.Add(fs...)
	p.out.Findings = p.out.Findings.Sorted()
	if p.told {
		// A second text for the same run would be another write, which brings another run about, for ever.
		return nil
	}
	p.told = true
	if err := p.tellWaiting(ctx); err != nil {
		return err
	}
	if err := p.report(ctx, reason, false); err != nil {
		return err
	}
	return p.events(ctx, reason)
}

// note writes an event about an error and returns the error.
func (p *pass) note(ctx context.Context, err error, reason, prefix string) error {
	e := cluster.Event{Ref: cluster.RefOf(p.b), Warning: true, Reason: reason, Message: prefix + err.Error()}
	if werr := p.r.write(ctx, []cluster.Patch{e}); werr != nil {
		return fmt.Errorf("%w (and the event could not be written: %v)", err, werr)
	}
	return err
}
