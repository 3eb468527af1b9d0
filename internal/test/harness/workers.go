package harness

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// startWorkers starts the queues of the controller, each with a number of workers. stop kills the process and waits
// until all workers have ended.
func (p *process) startWorkers(workers int) (stop func()) {
	metrics := cmp.Or(p.harness.opt.Metrics, controller.NewMetrics())
	src := storeEvents{p.harness.Store}
	stacks := controller.StackController(p.engineConfig, p.k8s, metrics, p.harness.opt.Log)
	stacks.Workers = workers
	fill, reconciler := controller.BindingController(p.bindingConfig, p.k8s, metrics, p.harness.opt.Log)
	fill.Workers = workers
	ctx, stopping := context.WithCancel(p.ctx)
	var running sync.WaitGroup
	p.stopWorkers = func() {
		stopping()
		running.Wait()
	}
	if v, ok := p.engineConfig.Cloud.(controller.DriftReader); ok && p.harness.opt.Drift {
		running.Go(func() { controller.DriftWatch(v, reconciler, p.harness.opt.Log).Run(ctx) })
	}
	if p.checkpoints != nil {
		stacks.Preparer = rootObjects{p, stacks.Enqueuer}
		stacks.ActiveRuns = &atomic.Int32{}
		p.checkpoints.ActiveRuns = stacks.ActiveRuns
		for _, start := range []func(context.Context) error{p.checkpoints.Start, p.memberships.Start} {
			running.Go(func() {
				if err := start(ctx); err != nil {
					p.harness.T.Error(err)
				}
			})
		}
	}
	running.Go(func() { _ = controller.RepeatEvents(ctx, p.k8s.RepeatEvents) }) // RepeatEvents returns no error
	running.Go(func() {                                                         // the controller also does this after its start
		timer := time.NewTimer(durations.SettleWindow)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			_ = bindings.New(p.bindingConfig).SyncRules(ctx) // errors are not relevant here
		}
	})
	running.Go(func() {
		if err := stacks.Start(ctx, src, controller.StackKinds(), p.harness.opt.Log); err != nil {
			p.harness.T.Error(err)
		}
	})
	running.Go(func() {
		if err := fill.Start(ctx, src, controller.BindingKinds(), p.harness.opt.Log); err != nil {
			p.harness.T.Error(err)
		}
	})
	p.classes.Workers = workers
	running.Go(func() {
		if err := p.classes.Start(ctx, src, controller.ClassKinds(), p.harness.opt.Log); err != nil {
			p.harness.T.Error(err)
		}
	})
	return func() {
		p.kill()
		p.stopWorkers()
	}
}

// storeEvents is the source of events for the queues. It reports the objects of a store in memory.
type storeEvents struct{ store *cluster.Memory }

// WaitForSync returns immediately, as a store in memory is always complete.
func (storeEvents) WaitForSync(context.Context) error { return nil }

// Watch calls notify for each existing object of the kinds, as informers do, and for each change until ctx ends.
func (s storeEvents) Watch(ctx context.Context, kinds []cluster.Kind, notify func(kube.Event)) error {
	read := map[cluster.Kind]bool{}
	for _, k := range kinds {
		read[k] = true
	}
	of := func(obj cluster.Object) bool {
		k, ok := cluster.KindOf(obj)
		return ok && read[k]
	}
	stop := s.store.Watch(func(old, new cluster.Object) {
		old, new = storedForm(old), storedForm(new)
		switch {
		case old != nil && !of(old), new != nil && !of(new):
		case cluster.SameContent(old, new):
		default:
			notify(kube.Event{Old: old, New: new})
		}
	})
	context.AfterFunc(ctx, stop)
	for _, k := range kinds {
		for _, obj := range s.store.All(k) {
			if obj := storedForm(obj); obj != nil {
				notify(kube.Event{New: obj, Unchanged: true})
			}
		}
	}
	return nil
}
