package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// TextStore stores a text that the next process reads.
type TextStore interface {
	Read(ctx context.Context) (string, error)
	Write(ctx context.Context, text string) error
}

// Checkpoints stores the checkpoints of stacks (checkpoint.Registry) for the next process. Without checkpoints, the next
// process compares all stacks with AWS at the start. Runs may also wait for a failed write. Therefore Checkpoints logs the
// first of several failures in a row, and repeats a failed write with a back-off.
type Checkpoints struct {
	Registry *checkpoint.Registry
	Store    TextStore
	// Fence, if not nil, prevents a process that has lost its lease from overwriting the checkpoints of the next leader.
	Fence engine.Fence
	Log   logr.Logger
	// ActiveRuns is the number of current runs of stacks. If nil, Start does not wait for runs when ctx ends.
	ActiveRuns *atomic.Int32

	// lastWriteFailed reports whether the last write failed. The field needs no lock, because writes never overlap.
	lastWriteFailed bool
	limiter         writeLimiter
	// retryTimer requests another write when retryDelay is over after a failed write.
	retryTimer *time.Timer
	retryDelay time.Duration
}

// Load reads the stored checkpoints into Registry. It must be called after this process has become the leader, because the
// previous leader writes checkpoints until that time. It must also be called before the first stack is reconciled.
func (c *Checkpoints) Load(ctx context.Context) {
	text, err := c.Store.Read(ctx)
	if err != nil {
		c.Log.Info("failed to read checkpoints", "err", err.Error(), "effect", "all load balancers are compared with AWS immediately")
		c.Registry.MarkStoreUnavailable()
		return
	}
	stacks, leftOut := c.Registry.Load(text)
	c.Log.Info("read checkpoints", "loadBalancers", stacks)
	if leftOut > 0 {
		c.Log.Info("ignored checkpoints of another version", "lines", leftOut, "effect", "their load balancers are compared with AWS immediately")
	}
}

// Save writes the checkpoints if they have changed. If the write fails, or if the fence refuses it, Save requests another
// write after a back-off, because runs may wait for the write.
func (c *Checkpoints) Save(ctx context.Context) {
	if c.retryTimer != nil {
		c.retryTimer.Stop()
	}
	if c.save(ctx) == nil {
		c.retryDelay = 0
		return
	}
	c.retryDelay = min(max(2*c.retryDelay, durations.StoreWriteCost), durations.RequestTimeout)
	c.retryTimer = time.AfterFunc(c.retryDelay, c.Registry.RequestWrite)
}

// save writes the checkpoints if they have changed and the fence permits it.
func (c *Checkpoints) save(ctx context.Context) error {
	return c.Registry.Save(func(text string) error {
		if c.Fence != nil {
			if err := c.Fence.CheckFence(); err != nil {
				return fmt.Errorf("write checkpoints: %w", err)
			}
		}
		c.limiter.countWrite(len(text))
		err := c.Store.Write(ctx, text)
		if err != nil && !c.lastWriteFailed {
			c.Log.Info("failed to write checkpoints", "err", err.Error(), "effect", "if the controller stops before a write succeeds, the load balancers that changed since the last successful write are compared with AWS immediately after the next start; a change that was reverted before the start is detected within 45 minutes")
		}
		c.lastWriteFailed = err != nil
		return err
	})
}

// Start saves the checkpoints periodically, and as soon as possible when a run is about to change a stack in AWS. After ctx
// has ended, it continues until the last run is over. It implements manager.Runnable and runs while this process is the
// leader.
func (c *Checkpoints) Start(ctx context.Context) error {
	err := saveUntil(ctx, c.Save, c.Registry.WriteRequests(), &c.limiter)
	c.saveForLastRuns(context.WithoutCancel(ctx))
	return err
}

// saveForLastRuns saves the checkpoints whenever a run requests a write after the process has begun to stop. It returns when
// the last run has ended, or after durations.StopGrace, after which runs are cancelled. When it has returned, the manager
// releases the lease.
func (c *Checkpoints) saveForLastRuns(ctx context.Context) {
	if c.ActiveRuns == nil {
		return
	}
	limit, cancel := context.WithTimeout(ctx, durations.StopGrace)
	defer cancel()
	for c.ActiveRuns.Load() > 0 && limit.Err() == nil {
		select {
		case <-c.Registry.WriteRequests():
			saveSoon(limit, c.Save, &c.limiter, durations.BriefWait)
		case <-time.After(durations.StoreWriteCost):
		}
	}
	saveSoon(ctx, c.Save, &writeLimiter{}, durations.BriefWait)
}

// saveUntil calls save periodically, and a last time when ctx ends. When it receives a value from urgent, it calls save as
// soon as limiter admits a write.
func saveUntil(ctx context.Context, save func(context.Context), urgent <-chan struct{}, limiter *writeLimiter) error {
	tick := time.NewTicker(durations.RequestTimeout)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			save(ctx)
		case <-urgent:
			saveSoon(ctx, save, limiter, durations.AnswerTimeout)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), durations.BriefWait)
			defer cancel()
			save(last)
			return nil
		}
	}
}

// saveSoon calls save as soon as limiter admits a write. The context of save ends after limit.
func saveSoon(ctx context.Context, save func(context.Context), limiter *writeLimiter, limit time.Duration) {
	if pause(ctx, limiter.delay()) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		save(ctx)
	}
}
