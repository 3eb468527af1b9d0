package harness

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// stackRecorder is the recorder of the engine of a process.
type stackRecorder struct {
	engine.NoRecorder
	process *process
}

// Viewed implements engine.Recorder.
func (r stackRecorder) Viewed(id model.StackID, v *cluster.View) { r.process.stacks.RecordReads(id, v) }

// Planned implements engine.Recorder.
func (r stackRecorder) Planned(d engine.Draft) {
	if planned := r.process.harness.opt.Planned; planned != nil {
		planned(d)
	}
}

// bindingRecorder is the recorder of the bindings of a process.
type bindingRecorder struct {
	bindings.NoRecorder
	process *process
}

// Viewed implements bindings.Recorder.
func (r bindingRecorder) Viewed(k bindings.Key, v *cluster.View) { r.process.tracked.RecordReads(k, v) }

// Gone implements bindings.Recorder.
func (r bindingRecorder) Gone(k bindings.Key) { r.process.tracked.Forget(k) }

// bindingChanges ignores changes of checkpoints that the process itself writes.
type bindingChanges struct {
	controller.BindingChanges
	process *process
}

// Ignores implements queue.Changes.
func (c bindingChanges) Ignores(old, new cluster.Object) bool {
	return c.process.bindings.IsOwnCheckpoint(old, new)
}

// outsideChanges queues the stacks in which drift was found.
type outsideChanges struct{ process *process }

// ChangedOutside implements drift.Notifier.
func (c outsideChanges) ChangedOutside(id model.StackID) {
	if c.process.engine.Compared(id) {
		c.process.queue.add(key{stack: id}, time.Now())
	}
}

// bindingQueue queues bindings of a process.
type bindingQueue struct{ process *process }

// Enqueue implements bindings.Queue.
func (q bindingQueue) Enqueue(k bindings.Key) { q.process.queue.add(key{binding: k}, time.Now()) }

// fenceFunc is the fence of Options.
type fenceFunc func() error

// Fence implements engine.Fence.
func (f fenceFunc) Fence() error { return f() }

func (o Options) fence() engine.Fence {
	if o.Fence == nil {
		return engine.Unfenced{}
	}
	return fenceFunc(o.Fence)
}
