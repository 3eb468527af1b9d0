package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// CheckpointStore stores a text for the next process.
type CheckpointStore interface {
	Read(ctx context.Context) (string, error)
	Write(ctx context.Context, text string) error
}

// Checkpoints stores the book of stacks for the next process. A failed read costs calls to AWS, and a failed write may delay
// the comparison of a stack with AWS. Therefore Checkpoints logs the first of several failures and does not retry at once.
type Checkpoints struct {
	Book  *checkpoint.Book
	Store CheckpointStore
	// Fence, if not nil, keeps a process that has lost its lease from overwriting the state of the next leader.
	Fence engine.Fence
	Log   logr.Logger

	// failed reports whether the last write failed. The book does not let writes overlap.
	failed  bool
	limiter writeLimiter
}

// Load reads the book. It must be called after this process has become the leader, because the previous leader writes until
// then, and before the first stack is reconciled.
func (c *Checkpoints) Load(ctx context.Context) {
	text, err := c.Store.Read(ctx)
	if err != nil {
		c.Log.Info("failed to read checkpoints", "err", err.Error(), "effect", "everything is compared with AWS at once")
	}
	stacks, leftOut := c.Book.Begin(text)
	c.Log.Info("read checkpoints", "loadBalancers", stacks)
	if leftOut > 0 {
		c.Log.Info("left out checkpoints of another version", "lines", leftOut, "effect", "their load balancers are compared with AWS at once")
	}
}

// Save writes the book if it has changed.
func (c *Checkpoints) Save(ctx context.Context) {
	if c.Fence != nil && c.Fence.Fence() != nil {
		return
	}
	_ = c.Book.Save(func(text string) error { // the error has been logged
		c.limiter.countWrite(len(text))
		err := c.Store.Write(ctx, text)
		if err != nil && !c.failed {
			c.Log.Info("failed to write checkpoints", "err", err.Error(), "effect", "the next start compares everything with AWS at once, and a change that was taken back before it only within 45 minutes")
		}
		c.failed = err != nil
		return err
	})
}

// Start saves the book at an interval, earlier before a stack is changed in AWS, and for the last time when ctx ends. It
// implements manager.Runnable and runs while this process leads.
func (c *Checkpoints) Start(ctx context.Context) error {
	return saveUntil(ctx, c.Save, c.Book.Urgent(), &c.limiter)
}

// saveUntil calls save at an interval, after a value of urgent as soon as limiter admits a write, and for the last time when ctx
// ends.
func saveUntil(ctx context.Context, save func(context.Context), urgent <-chan struct{}, limiter *writeLimiter) error {
	tick := time.NewTicker(durations.Request)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			save(ctx)
		case <-urgent:
			if limiter.wait(ctx) {
				limited, cancel := context.WithTimeout(ctx, durations.Answer)
				save(limited)
				cancel()
			}
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), durations.BriefWait)
			defer cancel()
			save(last)
			return nil
		}
	}
}
