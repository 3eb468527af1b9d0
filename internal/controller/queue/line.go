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

// Line is one controller: a queue of items and what to do with each.
type Line[K comparable] struct {
	// Name stands in logs, metrics and the queue.
	Name     string
	Workers  int
	MaxDelay time.Duration // longest wait after failures
	// BackOff, if not nil, has the waits after failures, in place of those up to MaxDelay.
	BackOff    workqueue.TypedRateLimiter[K]
	Triggers   *Triggers[K]
	Reconciler Reconciler[K]
	// Preparer, if not nil, is called before the first item is worked on.
	Preparer Preparer[K]

	// Enqueuer queues items that no event names; nil: none do.
	Enqueuer *Enqueuer[K]

	// Metrics measures how long items wait for a worker; nil: nothing does.
	Metrics Metrics

	items *items[K]
}

// Reconciler works on the items of a line.
type Reconciler[K comparable] interface {
	// Reconcile works on one item. An error means to back off.
	Reconcile(ctx context.Context, k K) (Next, error)
	// Label names an item in logs.
	Label(k K) []any
	// Controller is the one that logs about an item name.
	Controller(k K) string
	// Tenant returns to whose share an item counts.
	Tenant(k K) string
}

// Preparer prepares a line whose process begins to lead.
type Preparer[K comparable] interface {
	// Prepare returns items to work on besides those that objects belong to.
	Prepare(ctx context.Context) []K
}

// Metrics measures lines.
type Metrics interface {
	// Waited gets how long an item of a line has waited for a worker at a priority.
	Waited(line, priority string, d time.Duration)
}

// Next holds when an item is worked on again.
type Next struct {
	// After is how long to wait; zero: until something changes.
	After time.Duration
	// Turn reports whether a call of the item waits for its turn, so that the item goes on like the change
	// that it stems from.
	Turn bool
	// Answered reports whether what has changed is answered as far as that is measured, although a call waits.
	Answered bool
	// Idle reports whether nothing is known to be left to do for the item, so that all others go before.
	Idle bool
}

// Source is where events come from.
type Source interface {
	// WaitForSync blocks until reading gives whole answers.
	WaitForSync(ctx context.Context) error
	// Watch calls notify for every event of the kinds, beginning with the objects that are there.
	// It returns at once; the calls end with the context.
	Watch(ctx context.Context, kinds []cluster.Kind, notify func(kube.Event)) error
}

// Add registers the line with the manager. Workers run while this process leads.
func (l Line[K]) Add(mgr manager.Manager, src Source, kinds []cluster.Kind, log logr.Logger) error {
	l.items = newItems(l)
	opts := l.options(log)
	opts.DefaultFromConfig(mgr.GetControllerOptions())
	c, err := l.controller(src, kinds, opts, log)
	if err != nil {
		return err
	}
	return mgr.Add(c)
}

// Start runs the line without a manager until ctx ends and its workers have stopped. Its name may
// be in use elsewhere.
func (l Line[K]) Start(ctx context.Context, src Source, kinds []cluster.Kind, log logr.Logger) error {
	l.items = newItems(l)
	opts, priorities := l.options(log), true
	opts.SkipNameValidation, opts.UsePriorityQueue = &priorities, &priorities
	c, err := l.controller(src, kinds, opts, log)
	if err != nil {
		return err
	}
	return c.Start(ctx)
}

func (l Line[K]) options(log logr.Logger) controller.TypedOptions[K] {
	return controller.TypedOptions[K]{
		MaxConcurrentReconciles: max(l.Workers, 1),
		RateLimiter:             l.backOff(),
		Reconciler:              reconcile.TypedFunc[K](l.reconcile),
		LogConstructor:          func(k *K) logr.Logger { return l.Logger(log, k) },
	}
}

// Logger returns the logger of a run over an item, nil for the line itself.
func (l Line[K]) Logger(log logr.Logger, k *K) logr.Logger {
	as := func(name string) logr.Logger { return log.WithName(name).WithValues("controller", name) }
	if k == nil {
		return as(l.Name)
	}
	log = as(l.Reconciler.Controller(*k))
	if sink := log.GetSink(); sink != nil && l.items != nil {
		log = log.WithSink(noting[K]{LogSink: sink, items: l.items, item: *k})
	}
	return log.WithValues(l.Reconciler.Label(*k)...)
}

func (l Line[K]) controller(src Source, kinds []cluster.Kind, opts controller.TypedOptions[K], log logr.Logger) (controller.TypedController[K], error) {
	c, err := controller.NewTypedUnmanaged(l.Name, opts)
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", l.Name, err)
	}
	f := &feed[K]{line: l, source: src, kinds: kinds, log: log.WithName(l.Name), ready: make(chan error, 1)}
	if err := c.Watch(f); err != nil {
		return nil, fmt.Errorf("controller %s: %w", l.Name, err)
	}
	return c, nil
}

func (l Line[K]) reconcile(ctx context.Context, k K) (reconcile.Result, error) {
	// A run that has begun is brought to its end if there is time, rather than cut between two
	// steps. The fence still keeps it from writing once the lease is lost.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(durations.StopGrace, cancel)
		context.AfterFunc(run, func() { t.Stop() })
	})()
	l.Triggers.Begin(k)
	since := l.items.begin(k)
	next, err := l.Reconciler.Reconcile(context.WithValue(run, sinceKey{}, since), k)
	again := l.Triggers.End(k)
	if turn := failure.PostponedFor(err); turn > 0 {
		LogTurn(logr.FromContextOrDiscard(ctx), turn, err)
		next, err = Next{After: turn, Turn: true}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	l.items.changedFailure(k, nil)
	unanswered := next.Turn && !next.Answered
	if again {
		next = Next{After: time.Nanosecond}
	}
	// What waits for something has been begun, and goes on before what has not changed at all.
	priority := priorityResync
	switch {
	case next.Idle:
		l.items.close(k)
	case next.Turn:
		priority = l.items.priority(k, priorityTargets)
	case next.After > 0 && next.After <= durations.Often:
		priority = l.items.priority(k, priorityEdits)
	default:
		l.items.close(k)
		priority = priorityEdits
	}
	if next.After > 0 {
		l.items.add(k, priority, next.After, false)
	}
	if unanswered {
		l.items.keepSince(k, since)
	}
	return reconcile.Result{RequeueAfter: next.After, Priority: &priority}, nil
}

// feed turns events into items of the queue. It implements the source of a controller.
type feed[K comparable] struct {
	line   Line[K]
	source Source
	kinds  []cluster.Kind
	log    logr.Logger
	ready  chan error
}

// String names the source in logs.
func (f *feed[K]) String() string { return "cluster events" }

// Start implements the source. Events are read once the cache is complete, so that no answer
// is found from half of it.
func (f *feed[K]) Start(ctx context.Context, q workqueue.TypedRateLimitingInterface[K]) error {
	queue, ok := q.(priorityqueue.PriorityQueue[K])
	if !ok {
		return fmt.Errorf("the queue of %s has no priorities", f.line.Name)
	}
	if f.line.Enqueuer != nil {
		f.line.Enqueuer.set(func(k K) {
			priority := priorityDrift
			f.line.items.add(k, priority, 0, true)
			queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, k)
		})
	}
	go func() {
		err := f.source.WaitForSync(ctx)
		if err == nil && f.line.Preparer != nil {
			queue.AddWithOpts(priorityqueue.AddOpts{}, f.line.Preparer.Prepare(ctx)...)
		}
		if err == nil {
			err = f.source.Watch(ctx, f.kinds, func(e kube.Event) { f.take(queue, e) })
		}
		f.ready <- err
	}()
	return nil
}

// WaitForSync blocks until events are read.
func (f *feed[K]) WaitForSync(ctx context.Context) error {
	select {
	case err := <-f.ready:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the cache of the cluster did not become complete: %w", ctx.Err())
	}
}

func (f *feed[K]) take(queue priorityqueue.PriorityQueue[K], e kube.Event) {
	keys, err := f.line.Triggers.Concerned(e.Old, e.New)
	if err != nil {
		f.log.Error(err, "could not resolve all objects affected by an event")
	}
	if len(keys) == 0 {
		return
	}
	at := priorityOf(e)
	if at == priorityResync {
		for _, k := range keys {
			f.line.items.add(k, at, 0, false)
		}
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &at}, keys...)
		return
	}
	for _, k := range keys {
		priority := f.line.items.priority(k, at)
		f.line.items.add(k, priority, 0, true)
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, k)
	}
}

// Enqueuer queues items that no event of the cluster names. Those that come before the queue is there are
// dropped: everything is looked at then. The zero value is ready for use.
type Enqueuer[K comparable] struct{ add atomic.Pointer[func(K)] }

func (e *Enqueuer[K]) set(add func(K)) { e.add.Store(&add) }

// Enqueue queues an item, behind what users have changed.
func (e *Enqueuer[K]) Enqueue(k K) {
	if add := e.add.Load(); add != nil {
		(*add)(k)
	}
}

type sinceKey struct{}

// Since returns when the change came that a run answers, from the run's context; zero if none did.
func Since(ctx context.Context) time.Time {
	at, _ := ctx.Value(sinceKey{}).(time.Time)
	return at
}
