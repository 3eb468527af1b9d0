package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

func TestRulesAreSyncedAfterTheCacheIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		complete := false
		synced := func(context.Context) error {
			time.Sleep(time.Minute)
			complete = true
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start := time.Now()
		var tries []time.Duration
		sync := func(context.Context) error {
			if !complete {
				t.Error("the cache is not complete")
			}
			tries = append(tries, time.Since(start))
			switch len(tries) {
			case 4: // the fourth call succeeds
				return nil
			case 7:
				cancel()
			}
			return errors.New("throttled")
		}
		if err := syncRulesPeriodically(ctx, synced, sync, logr.Discard()); err != nil {
			t.Fatal(err)
		}
		well := time.Minute + 35*time.Second
		want := []time.Duration{
			time.Minute, time.Minute + 5*time.Second, time.Minute + 15*time.Second, well,
			well + time.Hour, well + time.Hour + 5*time.Second, well + time.Hour + 15*time.Second,
		}
		if !slices.Equal(want, tries) {
			t.Errorf("tries at %s, want %s", tries, want)
		}
	})
}

func TestRuleSyncStopsWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		never := func(context.Context) error { return errors.New("denied") }
		at := func(context.Context) error { return nil }
		if err := syncRulesPeriodically(ctx, at, never, logr.Discard()); err != nil {
			t.Fatal(err)
		}
		if err := syncRulesPeriodically(ctx, never, func(context.Context) error { t.Error("synced"); return nil }, logr.Discard()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestEndpointKindFollowsTheFlag(t *testing.T) {
	c := config.Default()
	if got := withEndpointKind(c, watchedKinds); !slices.Equal(got, watchedKinds) {
		t.Errorf("by default %v", got)
	}
	c.Targets.EndpointSlices = false
	got := withEndpointKind(c, watchedKinds)
	if slices.Contains(got, cluster.KindEndpointSlice) || !slices.Contains(got, cluster.KindEndpoints) || len(got) != len(watchedKinds) {
		t.Errorf("without slices %v", got)
	}
	if b := BindingConfig(c, "vpc-1", engine.ReadOnlyFence{Err: errors.New("no")}); !b.Targets.UseEndpointsObjects || b.Fence.CheckFence() == nil || b.FirstComparisonDelay != 30*time.Minute {
		t.Errorf("binding config %+v", b)
	}
}

func TestRuleSyncStartsAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, end := context.WithCancel(t.Context())
		sync := func(context.Context) error {
			if took := time.Since(start); took != time.Minute {
				t.Errorf("after %v", took)
			}
			end()
			return nil
		}
		if err := syncRulesPeriodically(ctx, afterStartup(func(context.Context) error { return nil }), sync, logr.Discard()); err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		unexpected := func(context.Context) error { t.Error("rules are synced after the end"); return nil }
		if err := syncRulesPeriodically(ended, afterStartup(func(context.Context) error { return nil }), unexpected, logr.Discard()); err != nil {
			t.Fatal(err)
		}
	})
}
