package controller

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// DriftReader reads the AWS resources of the cluster again to find drift.
type DriftReader interface {
	drift.AWSSource
	// SetDriftNotifier sets the notifier that is called for each stack that has drifted.
	SetDriftNotifier(changes drift.Notifier)
}

// DriftWatch returns the watch that reads load balancers, targets and rules in AWS again one resource after another. The
// watch uses only a small part of the calls that AWS admits.
func DriftWatch(aws DriftReader, r *bindings.Reconciler, log logr.Logger) *drift.Watch {
	return &drift.Watch{AWS: aws, OtherSources: []drift.Source{bindingChecks{r}}, Log: log}
}

// bindingChecks is the source of drift checks of targets, and of the security group rules for targets.
type bindingChecks struct{ reconciler *bindings.Reconciler }

// Checks implements drift.Source.
func (c bindingChecks) Checks() []drift.Check {
	r := c.reconciler
	keys := r.VerifiableBindings()
	out := make([]drift.Check, 0, len(keys)+1)
	for _, k := range keys {
		out = append(out, drift.Check{Key: "targets of " + k.String(), Period: durations.FrequentDriftPeriod, Read: func(ctx context.Context) error { return r.VerifyTargets(ctx, k) }})
	}
	if len(keys) > 0 {
		out = append(out, drift.Check{Key: "rules of targets", Period: durations.FrequentDriftPeriod, Read: r.VerifyRules})
	}
	return out
}

// ChangedOutside implements drift.Notifier. It enqueues a stack that has drifted. It ignores a stack that this process has
// not brought to its desired state yet, because the difference may be a change that is not carried out yet.
func (s *stackReconciler) ChangedOutside(id model.StackID) {
	if s.engine.IsConverged(id) {
		s.enqueuer.Enqueue(id)
	}
}
