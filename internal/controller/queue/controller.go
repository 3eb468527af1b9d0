package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// Controller is one controller: a work queue of items with its Reconciler.
type Controller[K comparable] struct {
	// Name is the name of the controller in logs and metrics.
	Name    string
	Workers int // 1 if zero or less
	// BackOff is the back-off after failures; nil: exponential, up to durations.MaxDelay.
	BackOff    workqueue.TypedRateLimiter[K]
	Triggers   *Triggers[K]
	Reconciler Reconciler[K]
	// Preparer, if not nil, is called before the first item is reconciled.
	Preparer Preparer[K]

	// Enqueuer, if not nil, enqueues items without an event.
	Enqueuer *Enqueuer[K]

	// Metrics, if not nil, measures how long items wait for a worker.
	Metrics Metrics

	// ActiveRuns, if not nil, is updated to the number of current runs.
	ActiveRuns *atomic.Int32

	items *items[K]
}

// Reconciler reconciles the items of a controller. It also returns their names in logs, and their tenants.
type Reconciler[K comparable] interface {
	// Reconcile reconciles one item. After an error, the item is reconciled again with back-off, or after NextRun.After if
	// that is earlier.
	Reconcile(ctx context.Context, k K) (NextRun, error)
	// Label returns keys and values that identify an item in logs.
	Label(k K) []any
	// Controller returns the name of the controller in logs about an item.
	Controller(k K) string
	// Tenant returns the tenant of an item. The more open items a tenant has, the lower is the priority of its next item.
	Tenant(k K) string
}

// Preparer prepares a controller when its process becomes the leader.
type Preparer[K comparable] interface {
	// Prepare is called when the cache is complete. It returns items that are enqueued in addition to the items of existing
	// objects.
	Prepare(ctx context.Context) []K
}

// Metrics records how long items wait for a worker.
type Metrics interface {
	// RecordWait records that an item of a controller has waited for a worker for the time d. priority is the name of the
	// priority of the item.
	RecordWait(controller, priority string, d time.Duration)
}

// NextRun determines when an item is reconciled again, and with which priority.
type NextRun struct {
	// After is the time until the next run. If it is zero, the item runs only after a change.
	After time.Duration
	// Postponed reports whether the rate limiter has postponed a call of the run. The item then keeps a high priority.
	Postponed bool
	// ChangeCarriedOut reports whether the change that caused the run was carried out, although another call of the run is
	// postponed.
	ChangeCarriedOut bool
	// Idle reports whether nothing is left to do for the item. The next run then has the lowest priority.
	Idle bool
}

// Source provides events of the objects in the cluster.
type Source interface {
	// WaitForSync blocks until the cache is complete.
	WaitForSync(ctx context.Context) error
	// Watch calls notify for every event of objects of the kinds, beginning with one event for each existing object. It
	// returns immediately. notify is not called any more after ctx has ended.
	Watch(ctx context.Context, kinds []cluster.Kind, notify func(kube.Event)) error
}

// Add registers the controller with the manager. Its workers run while this process leads.
func (l Controller[K]) Add(mgr manager.Manager, src Source, kinds []cluster.Kind, log logr.Logger) error {
	l.items = newItems(l)
	opts := l.options(log)
	opts.DefaultFromConfig(mgr.GetControllerOptions())
	c, err := l.controller(src, kinds, opts, log)
	if err != nil {
		return err
	}
	return mgr.Add(c)
}

// Start runs the controller without a manager, until ctx ends and the workers have stopped. The process may have other
// controllers with the same name.
func (l Controller[K]) Start(ctx context.Context, src Source, kinds []cluster.Kind, log logr.Logger) error {
	l.items = newItems(l)
	opts, priorities := l.options(log), true
	opts.SkipNameValidation, opts.UsePriorityQueue = &priorities, &priorities
	c, err := l.controller(src, kinds, opts, log)
	if err != nil {
		return err
	}
	return c.Start(ctx)
}

// options returns the options for controller-runtime.
func (l Controller[K]) options(log logr.Logger) controller.TypedOptions[K] {
	if l.BackOff == nil {
		l.BackOff = ExponentialBackOff[K](durations.FirstDelay, durations.MaxDelay)
	}
	return controller.TypedOptions[K]{
		MaxConcurrentReconciles: max(l.Workers, 1),
		RateLimiter:             l.BackOff,
		Reconciler:              reconcile.TypedFunc[K](l.reconcile),
		LogConstructor:          func(k *K) logr.Logger { return l.Logger(log, k) },
	}
}

// Logger returns the logger of the runs of an item, or of the controller itself if k is nil.
func (l Controller[K]) Logger(log logr.Logger, k *K) logr.Logger {
	named := func(name string) logr.Logger { return log.WithName(name).WithValues("controller", name) }
	if k == nil {
		return named(l.Name)
	}
	log = named(l.Reconciler.Controller(*k))
	if sink := log.GetSink(); sink != nil && l.items != nil {
		log = log.WithSink(changedFailureSink[K]{LogSink: sink, items: l.items, item: *k})
	}
	return log.WithValues(l.Reconciler.Label(*k)...)
}

// controller returns a controller of controller-runtime with this queue.
func (l Controller[K]) controller(src Source, kinds []cluster.Kind, opts controller.TypedOptions[K], log logr.Logger) (controller.TypedController[K], error) {
	c, err := controller.NewTypedUnmanaged(l.Name, opts)
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", l.Name, err)
	}
	f := &eventSource[K]{controller: l, source: src, kinds: kinds, log: log.WithName(l.Name), ready: make(chan error, 1)}
	if err := c.Watch(f); err != nil {
		return nil, fmt.Errorf("controller %s: %w", l.Name, err)
	}
	return c, nil
}

// reconcile reconciles an item once, and returns when and with which priority it runs again.
func (l Controller[K]) reconcile(ctx context.Context, k K) (reconcile.Result, error) {
	if l.ActiveRuns != nil {
		l.ActiveRuns.Add(1)
		defer l.ActiveRuns.Add(-1)
	}
	// When ctx ends, a run gets some time to finish, so that it does not stop between two steps. If the lease is lost, the
	// fence prevents its writes.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(durations.StopGrace, cancel)
		context.AfterFunc(run, func() { t.Stop() })
	})()
	l.Triggers.Begin(k)
	since := l.items.beginRun(k)
	next, err := l.Reconciler.Reconcile(context.WithValue(run, changedAtKey{}, since), k)
	again := l.Triggers.End(k)
	if postponed := failure.PostponedFor(err); postponed > 0 {
		LogPostponed(logr.FromContextOrDiscard(ctx), postponed, err)
		if next.After > 0 {
			postponed = min(postponed, next.After)
		}
		next, err = NextRun{After: postponed, Postponed: true}, nil
	}
	if err != nil {
		l.items.repeatFailed(k, next.After)
		return reconcile.Result{}, err
	}
	l.items.recordFailure(k, nil)
	changePending := next.Postponed && !next.ChangeCarriedOut
	if again {
		next = NextRun{After: time.Nanosecond}
	}
	// An item that runs again soon has a higher priority than items that have not changed.
	priority := priorityResync
	switch {
	case next.Idle:
		l.items.removeOpenItem(k)
	case next.Postponed:
		priority = l.items.addOpenItem(k, priorityTargets)
	case next.After > 0 && next.After <= durations.MinuteInterval:
		priority = l.items.addOpenItem(k, priorityEdits)
	default:
		l.items.removeOpenItem(k)
		priority = priorityEdits
	}
	if next.After > 0 {
		l.items.recordQueued(k, priority, next.After, false)
	}
	if changePending {
		l.items.restoreChangedAt(k, since)
	}
	return reconcile.Result{RequeueAfter: next.After, Priority: &priority}, nil
}

// eventSource enqueues the items that events affect. It implements source.TypedSource of controller-runtime.
type eventSource[K comparable] struct {
	controller Controller[K]
	source     Source
	kinds      []cluster.Kind
	log        logr.Logger
	ready      chan error
}

// String implements fmt.Stringer. Logs use the result as the name of the source.
func (f *eventSource[K]) String() string { return "cluster events" }

// Start implements source.TypedSource. It receives events only after the cache is complete, so that no run reads an
// incomplete cache.
func (f *eventSource[K]) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[K]) error {
	queue, ok := q.(priorityqueue.PriorityQueue[K])
	if !ok {
		return fmt.Errorf("the work queue of %s is not a priority queue", f.controller.Name)
	}
	if f.controller.Enqueuer != nil {
		f.controller.Enqueuer.set(func(k K) {
			priority := priorityDrift
			f.controller.items.recordQueued(k, priority, 0, true)
			queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, k)
		})
	}
	f.controller.items.queue = queue // before the workers start
	go func() {
		err := f.source.WaitForSync(ctx)
		if err == nil && f.controller.Preparer != nil {
			queue.AddWithOpts(priorityqueue.AddOpts{}, f.controller.Preparer.Prepare(ctx)...)
		}
		if err == nil {
			err = f.source.Watch(ctx, f.kinds, func(e kube.Event) { f.enqueueAffected(queue, e) })
		}
		f.ready <- err
	}()
	return nil
}

// WaitForSync implements source.TypedSyncingSource. It blocks until events are received.
func (f *eventSource[K]) WaitForSync(ctx context.Context) error {
	select {
	case err := <-f.ready:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the cache of Kubernetes objects is not complete: %w", ctx.Err())
	}
}

// enqueueAffected enqueues the items that an event affects.
func (f *eventSource[K]) enqueueAffected(queue priorityqueue.PriorityQueue[K], e kube.Event) {
	keys, err := f.controller.Triggers.AffectedItems(e.Old, e.New)
	if err != nil {
		f.log.Error(err, "could not resolve all objects affected by an event")
	}
	if len(keys) == 0 {
		return
	}
	at := priorityOf(e)
	if at == priorityResync {
		for _, k := range keys {
			f.controller.items.recordQueued(k, at, 0, false)
		}
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &at}, keys...)
		return
	}
	for _, k := range keys {
		priority := f.controller.items.addOpenItem(k, at)
		f.controller.items.recordQueued(k, priority, 0, true)
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, k)
	}
}

// Enqueuer enqueues items without an event of the cluster. Before the controller has started, Enqueue does nothing, because
// the start enqueues all items. The zero value is ready for use.
type Enqueuer[K comparable] struct{ add atomic.Pointer[func(K)] }

func (e *Enqueuer[K]) set(add func(K)) { e.add.Store(&add) }

// Enqueue enqueues an item with the priority for drift, which is lower than the priority for edits.
func (e *Enqueuer[K]) Enqueue(k K) {
	if add := e.add.Load(); add != nil {
		(*add)(k)
	}
}

// changedAtKey is the key of the time that ChangedAt returns, in the context of a run.
type changedAtKey struct{}

// ChangedAt returns the time of the change that caused a run, or zero if nothing has changed. ctx is the context of the run.
func ChangedAt(ctx context.Context) time.Time {
	at, _ := ctx.Value(changedAtKey{}).(time.Time)
	return at
}
