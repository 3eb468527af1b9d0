package controller

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Verifier reads again what AWS has of the cluster.
type Verifier interface {
	drift.AWS
	// NotifyOutside subscribes changes to what others change.
	NotifyOutside(changes drift.Notifier)
}

// DriftWatch reads again what load balancers and target groups are like in AWS, out of a small share of
// the calls. Its sources compare what they read with what they know.
func DriftWatch(aws Verifier, r *bindings.Reconciler, log logr.Logger) *drift.Watch {
	return &drift.Watch{AWS: aws, Others: []drift.Source{bindingChecks{r}}, Log: log}
}

// bindingChecks are the checks of the targets of bindings, and of the rules in front of them.
type bindingChecks struct{ reconciler *bindings.Reconciler }

// Checks implements drift.Source.
func (c bindingChecks) Checks() []drift.Check {
	r := c.reconciler
	keys := r.Verifiable()
	out := make([]drift.Check, 0, len(keys)+1)
	for _, k := range keys {
		out = append(out, drift.Check{Key: "targets of " + k.String(), Every: durations.DriftOften, Read: func(ctx context.Context) error { return r.Verify(ctx, k) }})
	}
	if len(keys) > 0 {
		out = append(out, drift.Check{Key: "rules of targets", Every: durations.DriftOften, Read: r.VerifyRules})
	}
	return out
}

// ChangedOutside implements drift.Notifier: it queues stacks of which others have changed something. What this process has
// not compared yet cannot have been changed since.
func (s *stacks) ChangedOutside(id model.StackID) {
	if s.engine.Compared(id) {
		s.enqueuer.Enqueue(id)
	}
}
