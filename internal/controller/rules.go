package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	plandurations "github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// syncRulesPeriodically brings the rules of nodes and pods up to date after the start, so that rules go whose
// last binding went while no process was there to see it, and then once an hour: a rule that is left
// over, because AWS showed less than there was or another added it again, keeps the shared security
// group from being deleted, and there may be no binding any more whose run would find it. Without a
// complete cache every rule would seem to be unwanted.
func syncRulesPeriodically(ctx context.Context, synced, sync func(context.Context) error, log logr.Logger) error {
	if err := synced(ctx); err != nil {
		return nil //nolint:nilerr // the process is stopping
	}
	for wait := durations.Answer; ; {
		err, pause := sync(ctx), durations.EventKept
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			wait = durations.Answer
		default:
			log.V(1).Info("failed to update rules of targets", "err", err.Error(), "retryAfter", wait.String())
			pause, wait = wait, min(2*wait, durations.Sweep)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// afterStartup waits for the cache and then until the first minute is over, which belongs to what
// has changed: rules too many do no harm for so long.
func afterStartup(synced func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := synced(ctx); err != nil {
			return err
		}
		timer := time.NewTimer(plandurations.Settle)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		}
	}
}

// withEndpointKind returns the kinds with the one that the operator wants pods to be found by.
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
