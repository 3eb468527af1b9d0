package engine

import (
	"context"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/engine/resync"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// desiredDigest returns a hash of what users want, with what is wrong with it: of all that a translation makes, but
// for the marks that runs leave on the objects.
func desiredDigest(stack model.Stack, found finding.List) string {
	stack.Members = slices.Clone(stack.Members)
	for i := range stack.Members {
		stack.Members[i].Claimed, stack.Members[i].Recorded = false, ""
	}
	return checkpoint.Digest(stack, found.Sorted())
}

// digest returns a hash of all that a run is made from, except for AWS itself: the desired state, the
// settings, and what stands in Kubernetes already. It is empty if there are no checkpoints.
func (e *Engine) digest(v *cluster.View, stack model.Stack, desired string) string {
	if e.Checkpoints == nil {
		return ""
	}
	return checkpoint.Digest(desired, stack.Members, e.Options, e.Cluster.Bindings(v, stack.ID))
}

// deferral returns how long after a start a stack is compared that was carried out in full; zero for any other. One
// that is to be emptied never waits.
func (e *Engine) deferral(stack model.Stack, digest string) time.Duration {
	if e.Checkpoints == nil || stack.Empty() || !e.Checkpoints.Unchanged(stack.ID, digest) {
		return 0
	}
	return resync.First(e.Resync, stack.ID.String())
}

// noteConverged remembers a desired state that was carried out in full, and forgets every other. What the
// translation alone found wrong stays as it is until its input changes; what AWS refused may be
// taken the next time; and what is held may have lost its right meanwhile, which the translation does not show.
func (e *Engine) noteConverged(out Outcome, reported bool, found finding.List, digest string) {
	if e.Checkpoints == nil {
		return
	}
	if !reported || out.Err != nil || !out.Done || out.related || out.Plan.Retains || out.Stack.Empty() || faults(out.Findings) > faults(found.Sorted()) {
		digest = ""
	}
	e.Checkpoints.Note(out.ID, digest)
}

// changing is what a run does with what is stored of the stacks that it changes in AWS: its own, and one whose load
// balancer it takes over.
type changing struct {
	digest string // of the run's own stack
	// forgotten are the stacks whose checkpoints the run has forgotten.
	forgotten map[model.StackID]bool
	// writes are closed once that is stored. The first change of AWS waits for them.
	writes []<-chan struct{}
	// waited reports whether the run has waited as long as it may.
	waited bool
}

// after adds a write to those that the first change of AWS waits for; nil is none.
func (c *changing) after(written <-chan struct{}) {
	if written != nil {
		c.writes = append(c.writes, written)
	}
}

// wait waits for the writes. A store that is slow delays a run once, and not for long.
func (c *changing) wait(ctx context.Context) {
	if len(c.writes) == 0 || c.waited {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, durations.Soon)
	defer cancel()
	for _, written := range c.writes {
		select {
		case <-written:
		case <-ctx.Done():
			c.waited = true
		}
	}
	c.writes = nil
}

// forget forgets that the stacks of a run were carried out in full. If the process ends in the middle of a change, and the
// change is taken back, the next process would else take them for unchanged. What brings a stack back to the desired state
// of its checkpoint forgets nothing.
func (r *execution) forget() {
	if r.e.Checkpoints == nil {
		return
	}
	if r.changing.forgotten == nil {
		r.changing.forgotten = map[model.StackID]bool{}
	}
	for _, id := range *r.reserved {
		if r.changing.forgotten[id] || id == r.out.ID && r.e.Checkpoints.Unchanged(id, r.changing.digest) {
			continue
		}
		r.changing.forgotten[id] = true
		r.changing.after(r.e.Checkpoints.Forget(id))
	}
}

func faults(found finding.List) (n int) {
	for _, f := range found {
		if isError(f) {
			n++
		}
	}
	return n
}
