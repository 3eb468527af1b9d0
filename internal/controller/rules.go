package controller

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	plandurations "github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// syncRulesPeriodically calls sync, which compares the security group rules of nodes and pods with AWS, after the start and
// then once an hour. After a failure it calls sync again with back-off. The first comparison removes rules whose last
// binding was deleted while no process ran. Later comparisons remove rules that AWS did not list before, or that an external
// actor has added again. Such a rule prevents the deletion of the shared security group. After the deletion of its bindings,
// no run of a binding would remove the rule. syncRulesPeriodically waits until the cache is complete, because bindings that
// need rules are missing in an incomplete cache.
func syncRulesPeriodically(ctx context.Context, synced, sync func(context.Context) error, log logr.Logger) error {
	if err := synced(ctx); err != nil {
		return nil //nolint:nilerr // the process is stopping
	}
	for wait := durations.AnswerTimeout; ; {
		err, next := sync(ctx), durations.EventRetention
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			wait = durations.AnswerTimeout
		default:
			log.V(1).Info("failed to update security group rules", "err", err.Error(), "retryAfter", wait.String())
			next, wait = wait, min(2*wait, durations.SweepInterval)
		}
		if !pause(ctx, next) {
			return nil
		}
	}
}

// afterStartup returns a function that waits for the cache and then for the settle window. The delay lets changed items run
// first after a start. Rules that are no longer needed cause no problem in this time.
func afterStartup(synced func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := synced(ctx); err != nil {
			return err
		}
		if !pause(ctx, plandurations.SettleWindow) {
			return ctx.Err()
		}
		return nil
	}
}

// withEndpointKind returns kinds. If the configuration disables EndpointSlices, the kind Endpoints replaces EndpointSlice.
func withEndpointKind(c config.Config, kinds []cluster.Kind) []cluster.Kind {
	out := make([]cluster.Kind, 0, len(kinds))
	for _, k := range kinds {
		if k == cluster.KindEndpointSlice && !c.Targets.EndpointSlices {
			k = cluster.KindEndpoints
		}
		out = append(out, k)
	}
	return out
}
