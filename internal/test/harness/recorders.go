package harness

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// stackRecorder passes the reads of the engine of a process to the triggers, and its plans to Options.OnPlan.
type stackRecorder struct {
	engine.NoRecorder
	process *process
}

// RecordView implements engine.Recorder.
func (r stackRecorder) RecordView(id model.StackID, v *cluster.View) {
	r.process.stackTriggers.RecordReads(id, v)
}

// RecordPlan implements engine.Recorder.
func (r stackRecorder) RecordPlan(d engine.Draft) {
	if planned := r.process.harness.opt.OnPlan; planned != nil {
		planned(d)
	}
}

// bindingRecorder passes the reads of the binding reconciler of a process to the triggers.
type bindingRecorder struct {
	bindings.NoRecorder
	process *process
}

// RecordView implements bindings.Recorder.
func (r bindingRecorder) RecordView(k bindings.Key, v *cluster.View) {
	r.process.bindingTriggers.RecordReads(k, v)
}

// RecordDeleted implements bindings.Recorder.
func (r bindingRecorder) RecordDeleted(k bindings.Key) { r.process.bindingTriggers.Forget(k) }

// bindingChanges reports changes of bindings, except changes of checkpoints that the process itself writes.
type bindingChanges struct {
	controller.BindingChanges
	process *process
}

// Ignores implements queue.Changes.
func (c bindingChanges) Ignores(old, new cluster.Object) bool {
	return c.process.bindings.IsOwnCheckpoint(old, new)
}

// outsideChanges queues converged stacks in which drift was found.
type outsideChanges struct{ process *process }

// ChangedOutside implements drift.Notifier.
func (c outsideChanges) ChangedOutside(id model.StackID) {
	if c.process.engine.IsConverged(id) {
		c.process.queue.add(itemKey{stack: id}, time.Now())
	}
}

// bindingQueue adds bindings to the queue of a process, due immediately.
type bindingQueue struct{ process *process }

// Enqueue implements bindings.Queue.
func (q bindingQueue) Enqueue(k bindings.Key) { q.process.queue.add(itemKey{binding: k}, time.Now()) }

// fenceFunc makes Options.Fence an engine.Fence.
type fenceFunc func() error

// CheckFence implements engine.Fence.
func (f fenceFunc) CheckFence() error { return f() }

func (o Options) fence() engine.Fence {
	if o.Fence == nil {
		return engine.NoFence{}
	}
	return fenceFunc(o.Fence)
}
