package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// CacheOptions returns the options of the informers. If namespace is not empty, only this namespace and cluster-scoped kinds
// are watched. If resync is 0, the interval of resyncs is the default of controller-runtime. quicEnv is the name of the
// environment variable of containers that cached pods retain.
func CacheOptions(scheme *runtime.Scheme, namespace string, resync time.Duration, quicEnv string) cache.Options {
	withoutCopies := true
	o := cache.Options{
		Scheme: scheme,
		// A pod that has finished is reported as deleted, because the pod has released its address.
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Field: unfinishedPodSelector}},
		// Views never change the objects that they read, so no copies are needed.
		DefaultUnsafeDisableDeepCopy: &withoutCopies,
		ReaderFailOnMissingInformer:  true,
		DefaultTransform: func(in any) (any, error) {
			if obj, ok := in.(cluster.Object); ok {
				return cluster.Reduce(obj, quicEnv), nil
			}
			return in, nil
		},
	}
	if resync > 0 {
		o.SyncPeriod = &resync
	}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return o
}

// unfinishedPodSelector selects the pods that have neither succeeded nor failed.
var unfinishedPodSelector = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

// Event is a change of an object that a Source reads.
type Event struct {
	Old, New cluster.Object // Old is nil for a new object, New is nil for a deleted object
	// Unchanged is set if the object has not changed: the event is part of a resync or of the first listing.
	Unchanged bool
}

// Source reads from informers. It implements cluster.Source. Before it is synced, its reads return errors, because the
// informers may not have received all objects yet.
type Source struct {
	ctx           context.Context
	cache         cache.Cache
	onlyNamespace string // the only namespace that is watched; empty: all
	synced        atomic.Bool
	secrets       *Secrets
	// Lookups, if not nil, reads objects that the informers may not have received yet. It must be set before the first read.
	Lookups *Lookups

	mu      sync.RWMutex
	kinds   map[cluster.Kind]cluster.Type
	objects map[cluster.Kind]*cachedObjects // without the kinds that are read with the client of the cache
	// optionalKinds are the kinds that StartKinds may start. The source returns no objects of these kinds before they are
	// started.
	optionalKinds map[cluster.Kind]bool
	watchers      []watcher // the watchers of optional kinds
}

var (
	_ cluster.Source           = (*Source)(nil)
	_ cluster.InstalledChecker = (*Source)(nil)
	_ cluster.Confirmer        = (*Source)(nil)
	_ cluster.DefinitionSource = (*Source)(nil)
	_ cluster.ReferenceFinder  = (*Source)(nil)
)

// errNotSynced is the error of reads before the informers have synced.
var errNotSynced = errors.New("the cache of the cluster is not complete yet")

// NewSource creates informers with indexes for the kinds. The cache c must be created with CacheOptions for the same
// namespace, and the caller must start it. Reads end with ctx. secrets may be nil if no Secret is read.
func NewSource(ctx context.Context, c cache.Cache, namespace string, kinds []cluster.Kind, secrets *Secrets) (*Source, error) {
	s := &Source{ctx: ctx, cache: c, onlyNamespace: namespace, kinds: map[cluster.Kind]cluster.Type{}, objects: map[cluster.Kind]*cachedObjects{}, secrets: secrets}
	for _, k := range kinds {
		typ, err := s.createInformer(k)
		if err != nil {
			return nil, err
		}
		s.kinds[k] = typ
	}
	return s, nil
}

// createInformer creates the informer of a kind with its indexes. It does not wait for the first listing.
func (s *Source) createInformer(k cluster.Kind) (cluster.Type, error) {
	typ, ok := cluster.TypeOf(k)
	if !ok || k == cluster.KindSecret {
		return typ, fmt.Errorf("kind %s cannot be cached", k)
	}
	informer, err := s.cache.GetInformer(s.ctx, typ.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return typ, fmt.Errorf("watch %s: %w", k, err)
	}
	objects, err := newCachedObjects(k, typ, informer)
	if err != nil {
		return typ, errors.Join(fmt.Errorf("index %s: %w", k, err), s.stopReading(s.ctx, k, typ))
	}
	if objects != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.objects[k] = objects
		return typ, nil
	}
	for _, ix := range typ.Indexes {
		values := func(o client.Object) []string { return cluster.IndexValues(ix, o) }
		if err := s.cache.IndexField(s.ctx, typ.New(), string(ix), values); err != nil {
			return typ, errors.Join(fmt.Errorf("index %s by %s: %w", k, ix, err), s.stopReading(s.ctx, k, typ))
		}
	}
	return typ, nil
}

// WaitForSync waits until every informer has its first listing. It returns an error if ctx ends first.
func (s *Source) WaitForSync(ctx context.Context) error {
	if !s.cache.WaitForCacheSync(ctx) {
		return errNotSynced
	}
	s.synced.Store(true)
	return nil
}

// Synced reports whether WaitForSync has succeeded, so that reads are possible.
func (s *Source) Synced() bool { return s.synced.Load() }

// Get implements cluster.Source.
func (s *Source) Get(ref cluster.Ref) (cluster.Object, error) {
	obj, err := cacheOnlySource{s}.Get(ref)
	if obj != nil || err != nil || ref.Kind != cluster.KindService || s.Lookups == nil || s.isUnwatched(ref.Namespace) {
		return obj, err
	}
	return s.Lookups.lookUp(s.ctx, ref)
}

// Find implements cluster.ReferenceFinder.
func (s *Source) Find(ref cluster.Ref) (cluster.Object, error) {
	if _, _, read, err := s.typeOf(ref.Kind); err != nil || !read || ref.Kind == cluster.KindService || !mayLookUp(ref.Kind) || s.Lookups == nil || s.isUnwatched(ref.Namespace) {
		return nil, err
	}
	return s.Lookups.lookUp(s.ctx, ref)
}

// Confirm implements cluster.Confirmer.
func (s *Source) Confirm(obj cluster.Object) error {
	if s.Lookups == nil {
		return nil
	}
	return s.Lookups.confirmUnchanged(s.ctx, obj)
}

// CacheOnly implements cluster.LookupSource. It returns a source that reads only from informers, for callers that must not
// wait for the API server.
func (s *Source) CacheOnly() cluster.Source { return cacheOnlySource{s} }

var _ cluster.LookupSource = (*Source)(nil)

// cacheOnlySource is a Source without lookups in the API server.
type cacheOnlySource struct{ *Source }

// Confirm implements cluster.Confirmer.
func (cacheOnlySource) Confirm(cluster.Object) error { return nil }

// Find implements cluster.ReferenceFinder.
func (cacheOnlySource) Find(cluster.Ref) (cluster.Object, error) { return nil, nil }

// Definition implements cluster.DefinitionSource.
func (cacheOnlySource) Definition(cluster.Kind) (cluster.Definition, error) {
	return cluster.Definition{}, nil
}

// Get implements cluster.Source.
func (s cacheOnlySource) Get(ref cluster.Ref) (cluster.Object, error) {
	if ref.Kind == cluster.KindSecret {
		if s.secrets == nil {
			return nil, fmt.Errorf("reading Secrets is not enabled")
		}
		return s.secrets.Get(s.ctx, ref)
	}
	typ, objects, read, err := s.typeOf(ref.Kind)
	if err != nil || !read || s.isUnwatched(ref.Namespace) {
		return nil, err
	}
	return s.getCached(typ, objects, ref)
}

// getCached reads an object from its informer; nil if the informer does not have it.
func (s *Source) getCached(typ cluster.Type, objects *cachedObjects, ref cluster.Ref) (cluster.Object, error) {
	if objects != nil {
		return objects.get(client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
	}
	obj := typ.New()
	err := s.cache.Get(s.ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return obj, nil
}

// isUnwatched reports whether a namespace is not watched. Objects in such a namespace are treated as missing.
func (s *Source) isUnwatched(namespace string) bool {
	return s.onlyNamespace != "" && namespace != "" && namespace != s.onlyNamespace
}

// List implements cluster.Source.
func (s *Source) List(q cluster.Query) ([]cluster.Object, error) {
	typ, objects, read, err := s.typeOf(q.Kind)
	if err != nil || !read || s.isUnwatched(q.Namespace) {
		return nil, err
	}
	if objects != nil {
		return objects.list(q)
	}
	list := typ.NewList()
	opts := &client.ListOptions{Namespace: q.Namespace}
	if q.Index != "" {
		opts.FieldSelector = fields.OneTermEqualSelector(string(q.Index), q.Value)
	}
	if err := s.cache.List(s.ctx, list, opts); err != nil {
		return nil, err
	}
	return SortedItems(list)
}

// Watch calls notify for every event of the kinds, from one goroutine per kind, beginning with one event for each existing
// object. Events of an optional kind begin when the kind is started. Watch does not block. notify is not called any more
// after ctx has ended.
func (s *Source) Watch(ctx context.Context, kinds []cluster.Kind, notify func(Event)) error {
	for _, k := range kinds {
		if k == cluster.KindSecret {
			if s.secrets != nil {
				s.secrets.watch(ctx, notify)
			}
			continue
		}
		if err := s.startWatcher(watcher{ctx, k, notify}); err != nil {
			return err
		}
	}
	return nil
}

// informerHandler sends the changes that an informer reports to a watcher.
type informerHandler struct {
	watcher
	objects *cachedObjects // nil for a kind that is read with the client of the cache
	lookups *Lookups       // nil for a kind that is not looked up
}

var _ toolscache.ResourceEventHandler = informerHandler{}

// OnAdd implements toolscache.ResourceEventHandler.
func (h informerHandler) OnAdd(obj any, first bool) {
	if o, ok := obj.(cluster.Object); ok {
		h.recordChange(o)
		h.notify(Event{New: o, Unchanged: first})
	}
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (h informerHandler) OnUpdate(old, obj any) {
	a, ok1 := old.(cluster.Object)
	b, ok2 := obj.(cluster.Object)
	if !ok1 || !ok2 {
		return
	}
	resync := a.GetResourceVersion() == b.GetResourceVersion()
	if !resync && cluster.SameContent(a, b) {
		return // only fields that the controller does not read have changed
	}
	if !resync {
		h.recordChange(b)
	}
	h.notify(Event{Old: a, New: b, Unchanged: resync})
}

// OnDelete implements toolscache.ResourceEventHandler.
func (h informerHandler) OnDelete(obj any) {
	if deleted, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = deleted.Obj
	}
	if o, ok := obj.(cluster.Object); ok {
		h.recordChange(o)
		if h.lookups != nil {
			h.lookups.recordDeleted(o)
		}
		h.notify(Event{Old: o})
	}
}

// recordChange records a change in the cached objects. It is called before the watcher is notified.
func (h informerHandler) recordChange(o cluster.Object) {
	if h.objects != nil {
		h.objects.recordChange(o)
	}
}
