package controller

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Verifier reads again what AWS has of the cluster.
type Verifier interface {
	Checks() []drift.Check
	ReadRate() float64
	// OnForeign has fn called with each stack of which others have changed something.
	OnForeign(fn func(model.StackID))
}

// DriftWatch reads again what load balancers and target groups are like in AWS, out of a small share of
// the calls. Its sources compare what they read with what they know.
func DriftWatch(aws Verifier, r *bindings.Reconciler, log logr.Logger) *drift.Watch {
	return &drift.Watch{
		Sources: []func() []drift.Check{aws.Checks, func() []drift.Check { return bindingChecks(r) }},
		Rate:    aws.ReadRate,
		Failed: func(key string, err error) {
			log.V(1).Info("failed to look for drift", "check", key, "err", err.Error())
		},
	}
}

// bindingChecks are those of the targets of bindings, and of the rules in front of them.
func bindingChecks(r *bindings.Reconciler) []drift.Check {
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

// watchForeign queues stacks of which others have changed something. What this process has not compared
// yet cannot have been changed since.
func watchForeign(cloud engine.Cloud, e *engine.Engine, q *queue.Enqueuer[model.StackID]) {
	if v, ok := cloud.(Verifier); ok && e.Drift != engine.IgnoreDrift {
		v.OnForeign(func(id model.StackID) {
			if e.Compared(id) {
				q.Enqueue(id)
			}
		})
	}
}
