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

// CheckpointStore keeps a text from one process to the next.
type CheckpointStore interface {
	Read(ctx context.Context) (string, error)
	Write(ctx context.Context, text string) error
}

// Checkpoints keep the book of stacks beyond the life of a process. Whatever goes wrong with the
// store costs calls to AWS, or delays the comparison of a change that was taken back between two
// processes, so it is said once and not tried harder.
type Checkpoints struct {
	Book  *checkpoint.Book
	Store CheckpointStore
	// Fence, if not nil, keeps a process that leads no more from writing over what its successor
	// has written.
	Fence engine.Fence
	Log   logr.Logger
	// Running is the number of current runs of stacks; nil: none goes on after the process was asked to stop.
	Running *atomic.Int32

	failed bool // the last write
	pace   writePace
	// again requests the write that failed once more, after backOff.
	again   *time.Timer
	backOff time.Duration
}

// Load reads the book. It is to be called once this process leads and before the first item is
// worked on: the one that led before has written until then.
func (c *Checkpoints) Load(ctx context.Context) {
	text, err := c.Store.Read(ctx)
	if err != nil {
		c.Log.Info("failed to read checkpoints", "err", err.Error(), "effect", "everything is compared with AWS at once")
		c.Book.BeginUnavailable()
		return
	}
	stacks, leftOut := c.Book.Begin(text)
	c.Log.Info("read checkpoints", "loadBalancers", stacks)
	if leftOut > 0 {
		c.Log.Info("left out checkpoints of another version", "lines", leftOut, "effect", "their load balancers are compared with AWS at once")
	}
}

// Save writes the book if it has news. Where that fails, or the fence refuses it, it is soon requested again, as runs do
// not wait for writes meanwhile, or wait in vain.
func (c *Checkpoints) Save(ctx context.Context) {
	if c.again != nil {
		c.again.Stop()
	}
	if c.save(ctx) == nil {
		c.backOff = 0
		return
	}
	c.backOff = min(max(2*c.backOff, durations.KeepEach), durations.Request)
	c.again = time.AfterFunc(c.backOff, c.Book.RequestSave)
}

func (c *Checkpoints) save(ctx context.Context) error {
	if c.Fence != nil {
		if err := c.Fence.Fence(); err != nil {
			return fmt.Errorf("write checkpoints: %w", err)
		}
	}
	return c.Book.Save(func(text string) error {
		c.pace.wrote(len(text))
		err := c.Store.Write(ctx, text)
		if err != nil && !c.failed {
			c.Log.Info("failed to write checkpoints", "err", err.Error(), "effect", "the next start compares everything with AWS at once, and a change that was taken back before it only within 45 minutes")
		}
		c.failed = err != nil
		return err
	})
}

// Start saves the book until ctx ends, and then for the last time: from time to time, and soon where a stack is about to
// be changed in AWS. It implements a runnable of the manager that runs while this process leads.
func (c *Checkpoints) Start(ctx context.Context) error {
	err := saveUntil(ctx, c.Save, c.Book.Urgent(), &c.pace)
	c.saveForLastRuns(context.WithoutCancel(ctx))
	return err
}

// saveForLastRuns makes the writes that runs request after the process was asked to stop, until they end. The manager
// releases the lease only then.
func (c *Checkpoints) saveForLastRuns(ctx context.Context) {
	if c.Running == nil || c.Running.Load() == 0 {
		return
	}
	for c.Running.Load() > 0 {
		select {
		case <-c.Book.Urgent():
			saveSoon(ctx, c.Save, &c.pace, durations.Glance)
		case <-time.After(durations.KeepEach):
		}
	}
	saveSoon(ctx, c.Save, &writePace{}, durations.Glance)
}

// saveUntil saves from time to time, and when it is urgent as soon as the pace of writes admits it, until ctx ends, and
// then for the last time.
func saveUntil(ctx context.Context, save func(context.Context), urgent <-chan struct{}, pace *writePace) error {
	tick := time.NewTicker(durations.Request)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			save(ctx)
		case <-urgent:
			saveSoon(ctx, save, pace, durations.Answer)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), durations.Glance)
			defer cancel()
			save(last)
			return nil
		}
	}
}

// saveSoon saves as soon as the pace of writes admits it. The write takes limit at most.
func saveSoon(ctx context.Context, save func(context.Context), pace *writePace, limit time.Duration) {
	if pace.wait(ctx) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		save(ctx)
	}
}
