package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// delete takes everything out that a binding put in and lets the object go.
func (p *pass) delete(ctx context.Context) error {
	if !p.claimed() {
		p.complete = p.r.hasLetGo(p.key)
		return nil
	}
	p.r.dueIn(p.key) // so that it is known, should somebody else remove the finalizer
	kept, err := p.inUse(ctx)
	switch {
	case err != nil:
	case kept:
		return p.leave(ctx)
	default:
		err = p.cleanUp(ctx)
	}
	if p.putOff(err) {
		return nil
	}
	if err != nil {
		p.out.Findings.Add(finding.Finding{
			Object: targets.Ref(p.b), Reason: finding.RejectedByAWS, Severity: finding.Error, Message: err.Error(), Fix: "this is tried again",
		})
		return errors.Join(err, p.tellWaiting(ctx), p.report(ctx, reasonFailedCleanup, false),
			p.events(ctx, reasonFailedCleanup))
	}
	if err := p.r.change(ctx, ReleaseFinalizer{p.key}); err != nil {
		return p.note(ctx, err, "FailedRemoveFinalizer", "Failed remove finalizer due to ")
	}
	p.r.noteLetGo(p.key)
	return nil
}

// withdraw takes everything out for a Service that is not there, and keeps the binding.
func (p *pass) withdraw(ctx context.Context) error {
	if p.r.absent(p.key) < grace {
		// The Service may have been made a moment ago and not have arrived here.
		p.complete = true
		p.out.RetryAfter = grace
		return nil
	}
	if err := p.setCheckpoint(ctx, ""); err != nil {
		return err
	}
	if err := p.cleanUp(ctx); err != nil {
		return p.stopped(ctx, err)
	}
	if err := p.report(ctx, reasonBackendNotFound, true); err != nil {
		return err
	}
	return p.events(ctx, reasonBackendNotFound)
}

// stay leaves everything as it is while that which endpoints are read from is missing as a whole.
func (p *pass) stay(ctx context.Context) error {
	if p.r.absent(p.key) < grace {
		// It may be on its way here, as for a new Service.
		p.out.RetryAfter = grace
		return nil
	}
	return p.stop(ctx, reasonFailedReconcile)
}

// cleanUp deregisters all targets, drops the rules and lets waiting pods go. A target group that
// is gone is no obstacle.
func (p *pass) cleanUp(ctx context.Context) error {
	if err := p.describe(ctx); err != nil {
		if p.unread = p.past(err); !p.unread {
			return err
		}
	} else if err := p.emptyGroup(ctx, p.w.Spec.TargetGroupARN); err != nil {
		return err
	}
	if p.b.Spec.MultiClusterTargetGroup {
		if err := p.r.change(ctx, DropOwnedTargets{p.key}); err != nil {
			return fmt.Errorf("drop the record of own targets: %w", err)
		}
	}
	p.r.forgetRules(p.key)
	p.r.noteServing(p.key, false)
	report, err := p.r.syncRules(ctx, p.key, true, 0)
	if err != nil {
		return err
	}
	p.out.Changed = p.out.Changed || report.changed
	return p.releasePods(ctx)
}

// emptyGroup deregisters whatever is registered, unless another binding was there first. In a group
// that several clusters fill, it is what this one has registered. A binding that goes leaves what
// its successor wants.
func (p *pass) emptyGroup(ctx context.Context, arn string) error {
	if rival, err := p.rival(ctx); err != nil || rival.lost() {
		return err
	}
	if err := p.loadOwned(ctx, p.leaving()); err != nil {
		return err
	}
	health, err := p.groups().TargetHealth(ctx, arn, healthAge)
	if err != nil {
		p.unread = true
		if p.past(err) {
			return nil
		}
		return fmt.Errorf("list targets of %s: %w", arn, err)
	}
	out := slices.DeleteFunc(p.mine(health.Targets), func(t observed.Target) bool { return !isActive(t) })
	p.complete = true
	if err := p.deregister(ctx, arn, out); err != nil && !p.past(err) {
		return err
	}
	return nil
}

// emptyAbandoned takes out what is registered for a binding that went without letting go, as when
// somebody removes its finalizer.
func (p *pass) emptyAbandoned(ctx context.Context) error {
	if p.b == nil || p.r.hasLetGo(p.key) || p.b.Spec.TargetGroupARN == "" {
		return nil
	}
	if err := p.emptyGroup(ctx, p.b.Spec.TargetGroupARN); err != nil && !p.putOff(err) {
		return err
	}
	return nil
}

// past says that an error is about something that is not there any more.
func (p *pass) past(err error) bool {
	switch p.r.Cloud.Class(err) {
	case engine.Gone, engine.Invalid:
		return true
	}
	return false
}

// releasePods lets pods go that wait for a target group that nobody fills any more.
func (p *pass) releasePods(ctx context.Context) error {
	waiting, err := p.waitingPods()
	if err != nil {
		return err
	}
	return p.open(ctx, waiting)
}

// waitingPods are those with the binding's gate that were not let go yet.
func (p *pass) waitingPods() ([]*corev1.Pod, error) {
	gate := p.gate()
	v := p.r.Cluster.View() // not of the run: nothing has to happen when these pods change
	pods := cluster.List[*corev1.Pod](v, cluster.Query{
		Kind: cluster.KindPod, Namespace: p.key.Namespace, Index: cluster.PodByGate, Value: p.key.Namespace + "/" + p.key.Name,
	})
	out := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool {
		shown, _, ok := targets.Shown(pod, gate)
		return !targets.Gated(pod, gate) || ok && shown == targets.Released
	})
	return out, v.Err()
}

// open sets the gates of pods.
func (p *pass) open(ctx context.Context, pods []*corev1.Pod) error {
	var errs []error
	for _, pod := range pods {
		errs = append(errs, p.show(ctx, pod, targets.Released))
	}
	return errors.Join(errs...)
}

func (p *pass) gate() corev1.PodConditionType {
	return corev1.PodConditionType(targets.GatePrefix + p.key.Name)
}
