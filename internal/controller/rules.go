package controller

import (
	"context"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	plandurations "github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// syncRulesPeriodically compares the security group rules of nodes and pods with AWS after the start, and then once an hour.
// The first comparison removes the rules whose last binding was deleted while no process ran. A rule that remains, because
// AWS did not list it or an external actor added it again, prevents the deletion of the shared security group, and all
// bindings whose runs would remove the rule may have been deleted. syncRulesPeriodically waits until the cache is complete,
// because an incomplete cache lacks bindings that need rules.
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
			log.V(1).Info("failed to update rules of targets", "err", err.Error(), "retryAfter", wait.String())
			next, wait = wait, min(2*wait, durations.SweepInterval)
		}
		if !pause(ctx, next) {
			return nil
		}
	}
}

// afterStartup returns a function that waits for the cache and then for the settle window, because changed items are
// reconciled first after a start, and surplus rules are harmless until then.
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

// withEndpointKind returns the kinds with Endpoints in place of EndpointSlices if the configuration disables
// EndpointSlices.
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
