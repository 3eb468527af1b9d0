package controller

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestShutdownWaitsForRunsForALimitedTime checks that Checkpoints.Start waits for a run after its context has ended, and
// stores the checkpoint that the run changes one second later. If the run does not end, Start returns after a limited time.
func TestShutdownWaitsForRunsForALimitedTime(t *testing.T) {
	for name, ends := range map[string]bool{"the run ends": true, "the run does not end": false} {
		synctest.Test(t, func(t *testing.T) {
			id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
			store, running := &memoryStore{}, &atomic.Int32{}
			c := &Checkpoints{Registry: checkpoint.New(), Store: store, Log: logr.Discard(), ActiveRuns: running}
			c.Load(t.Context())
			c.Registry.SetDigest(id, "digest")
			running.Store(1)
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, func() {
				c.Registry.Forget(id)
				if ends {
					running.Store(0)
				}
			})
			stopped := time.Now()
			stop()
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			least, most := time.Second, durations.StopGrace-1
			if !ends {
				least, most = durations.StopGrace, durations.StopGrace+durations.BriefWait
			}
			if took := time.Since(stopped); took < least || took > most {
				t.Errorf("%s: Start returns after %s, want from %s to %s", name, took, least, most)
			}
			if n := len(store.writtenTexts); n != 2 || !strings.Contains(store.writtenTexts[0], "shop/web") || strings.Contains(store.writtenTexts[n-1], "shop/web") {
				t.Errorf("%s: written are %q", name, store.writtenTexts)
			}
		})
	}
}

// TestRunsContinueIfFenceRefusesCheckpointWrite checks that a run does not wait any longer for a checkpoint to be written
// after the fence has refused the write, for example because the lease is lost. Nothing is written then.
func TestRunsContinueIfFenceRefusesCheckpointWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
		store := &memoryStore{}
		c := &Checkpoints{Registry: checkpoint.New(), Store: store, Log: logr.Discard()}
		c.Load(t.Context())
		c.Registry.SetDigest(id, "digest")
		c.Save(t.Context())
		c.Fence = engine.ReadOnlyFence{Err: errors.New("the lease is lost")}
		var pending checkpoint.PendingWrites
		pending.Add(c.Registry.Forget(id))
		c.Save(t.Context())
		began := time.Now()
		pending.Wait(t.Context(), time.Minute)
		if took := time.Since(began); took > 0 {
			t.Errorf("the run waits for %s", took)
		}
		if len(store.writtenTexts) != 1 {
			t.Errorf("written are %q", store.writtenTexts)
		}
		c.retryTimer.Stop()
	})
}
