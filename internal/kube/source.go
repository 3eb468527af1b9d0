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

// CacheOptions returns what the informers hold. namespace, if not empty, is the only one whose
// objects are seen; cluster-scoped kinds are seen in any case. quicEnv is the environment variable
// of containers that pods keep.
func CacheOptions(scheme *runtime.Scheme, namespace string, resync time.Duration, quicEnv string) cache.Options {
	plain := true
	o := cache.Options{
		Scheme: scheme,
		// A watcher sees a pod that finishes as deleted: it does not serve any more and has released
		// its address.
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Field: unfinished}},
		// Views never change what they read, so nothing has to be copied for them.
		DefaultUnsafeDisableDeepCopy: &plain,
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

// unfinished selects the pods that have not ended for good.
var unfinished = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
)

// Event is a change of an object that a source holds.
type Event struct {
	Old, New cluster.Object // nil: it was not there, or is not there any more
	// Stale is set if nothing has changed: a resync, or an object of the first listing.
	Stale bool
}

// Source reads from informers. It implements cluster.Source. Before it is synced it returns
// errors, because an object that it does not hold yet may exist.
type Source struct {
	ctx     context.Context
	cache   cache.Cache
	only    string // the only namespace that is watched; empty: all
	synced  atomic.Bool
	secrets *Secrets
	// Lookups, if not nil, are asked about what the informers may not hold yet. They are set before the first read.
	Lookups *Lookups

	mu    sync.RWMutex
	kinds map[cluster.Kind]cluster.Type
	held  map[cluster.Kind]*held // nil for a kind that is read through the cache's client
	// optional are kinds that may be started later; until then they have no objects.
	optional map[cluster.Kind]bool
	watchers []watcher
}

var (
	_ cluster.Source           = (*Source)(nil)
	_ cluster.Installer        = (*Source)(nil)
	_ cluster.Confirmer        = (*Source)(nil)
	_ cluster.DefinitionSource = (*Source)(nil)
	_ cluster.ReferenceFinder  = (*Source)(nil)
)

// errNotSynced is returned by reads that come too early.
var errNotSynced = errors.New("the cache of the cluster is not complete yet")

// NewSource registers informers and indexes for the kinds. The cache must be made with CacheOptions
// of the same namespace and be started by the caller; ctx bounds reads. secrets may be nil if no
// Secret will be read.
func NewSource(ctx context.Context, c cache.Cache, namespace string, kinds []cluster.Kind, secrets *Secrets) (*Source, error) {
	s := &Source{ctx: ctx, cache: c, only: namespace, kinds: map[cluster.Kind]cluster.Type{}, held: map[cluster.Kind]*held{}, secrets: secrets}
	for _, k := range kinds {
		typ, err := s.inform(k)
		if err != nil {
			return nil, err
		}
		s.kinds[k] = typ
	}
	return s, nil
}

// inform makes the informer of a kind, with its indexes, without waiting for its first listing.
func (s *Source) inform(k cluster.Kind) (cluster.Type, error) {
	typ, ok := cluster.TypeOf(k)
	if !ok || k == cluster.KindSecret {
		return typ, fmt.Errorf("kind %s cannot be cached", k)
	}
	informer, err := s.cache.GetInformer(s.ctx, typ.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return typ, fmt.Errorf("watch %s: %w", k, err)
	}
	h, err := cachedObjects(k, typ, informer)
	if err != nil {
		return typ, errors.Join(fmt.Errorf("index %s: %w", k, err), s.end(s.ctx, k, typ))
	}
	if h != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held[k] = h
		return typ, nil
	}
	for _, ix := range typ.Indexes {
		values := func(o client.Object) []string { return cluster.IndexValues(k, ix, o) }
		if err := s.cache.IndexField(s.ctx, typ.New(), string(ix), values); err != nil {
			return typ, errors.Join(fmt.Errorf("index %s by %s: %w", k, ix, err), s.end(s.ctx, k, typ))
		}
	}
	return typ, nil
}

// WaitForSync blocks until every informer has its first listing, or the context ends.
func (s *Source) WaitForSync(ctx context.Context) error {
	if !s.cache.WaitForCacheSync(ctx) {
		return errNotSynced
	}
	s.synced.Store(true)
	return nil
}

// Synced reports whether every informer has its first listing.
func (s *Source) Synced() bool { return s.synced.Load() }

// Get implements cluster.Source.
func (s *Source) Get(ref cluster.Ref) (cluster.Object, error) {
	obj, err := informed{s}.Get(ref)
	if obj != nil || err != nil || ref.Kind != cluster.KindService || s.Lookups == nil || s.isUnwatched(ref.Namespace) {
		return obj, err
	}
	return s.Lookups.object(s.ctx, ref)
}

// Find implements cluster.ReferenceFinder.
func (s *Source) Find(ref cluster.Ref) (cluster.Object, error) {
	if _, _, read, err := s.typeOf(ref.Kind); err != nil || !read || ref.Kind == cluster.KindService || !mayLookUp(ref.Kind) || s.Lookups == nil || s.isUnwatched(ref.Namespace) {
		return nil, err
	}
	return s.Lookups.object(s.ctx, ref)
}

// Confirm implements cluster.Confirmer.
func (s *Source) Confirm(obj cluster.Object) error {
	if s.Lookups == nil {
		return nil
	}
	return s.Lookups.confirm(s.ctx, obj)
}

// Informed implements cluster.LookupSource. It returns the source of what the informers hold, for callers that must not wait for the API server.
func (s *Source) Informed() cluster.Source { return informed{s} }

var _ cluster.LookupSource = (*Source)(nil)

type informed struct{ *Source }

// Confirm implements cluster.Confirmer.
func (informed) Confirm(cluster.Object) error { return nil }

// Find implements cluster.ReferenceFinder.
func (informed) Find(cluster.Ref) (cluster.Object, error) { return nil, nil }

// Definition implements cluster.DefinitionSource.
func (informed) Definition(cluster.Kind) (cluster.Definition, error) {
	return cluster.Definition{}, nil
}

// Get implements cluster.Source.
func (s informed) Get(ref cluster.Ref) (cluster.Object, error) {
	if ref.Kind == cluster.KindSecret {
		if s.secrets == nil {
			return nil, fmt.Errorf("secrets are not read here")
		}
		return s.secrets.Get(s.ctx, ref)
	}
	typ, h, read, err := s.typeOf(ref.Kind)
	if err != nil || !read || s.isUnwatched(ref.Namespace) {
		return nil, err
	}
	return s.cached(typ, h, ref)
}

// cached reads an object from its informer, nil if there is none.
func (s *Source) cached(typ cluster.Type, h *held, ref cluster.Ref) (cluster.Object, error) {
	if h != nil {
		return h.get(client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name})
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

// isUnwatched reports whether a namespace is not watched, so that nothing in it exists for the
// controller.
func (s *Source) isUnwatched(namespace string) bool {
	return s.only != "" && namespace != "" && namespace != s.only
}

// List implements cluster.Source.
func (s *Source) List(q cluster.Query) ([]cluster.Object, error) {
	typ, h, read, err := s.typeOf(q.Kind)
	if err != nil || !read || s.isUnwatched(q.Namespace) {
		return nil, err
	}
	if h != nil {
		return h.list(q)
	}
	list := typ.NewList()
	opts := &client.ListOptions{Namespace: q.Namespace}
	if q.Index != "" {
		opts.FieldSelector = fields.OneTermEqualSelector(string(q.Index), q.Value)
	}
	if err := s.cache.List(s.ctx, list, opts); err != nil {
		return nil, err
	}
	return Items(list)
}

// Watch calls notify for every event of the kinds, from one goroutine per kind, beginning with the
// objects that exist. Events of a kind that is started later begin then. It returns at once; the calls end with the context.
func (s *Source) Watch(ctx context.Context, kinds []cluster.Kind, notify func(Event)) error {
	for _, k := range kinds {
		if k == cluster.KindSecret {
			if s.secrets != nil {
				s.secrets.watch(ctx, notify)
			}
			continue
		}
		if err := s.watch(watcher{ctx, k, notify}); err != nil {
			return err
		}
	}
	return nil
}

// handler turns an informer's callbacks into events.
type handler struct {
	watcher
	held    *held
	lookups *Lookups // of the kind; nil: there are none
}

var _ toolscache.ResourceEventHandler = handler{}

// OnAdd implements the informer's handler.
func (h handler) OnAdd(obj any, first bool) {
	if o, ok := obj.(cluster.Object); ok {
		h.note(o)
		h.notify(Event{New: o, Stale: first})
	}
}

// OnUpdate implements the informer's handler.
func (h handler) OnUpdate(old, obj any) {
	a, ok1 := old.(cluster.Object)
	b, ok2 := obj.(cluster.Object)
	if !ok1 || !ok2 {
		return
	}
	resync := a.GetResourceVersion() == b.GetResourceVersion()
	if !resync && cluster.SameContent(a, b) {
		return // only fields that are not read have changed
	}
	if !resync {
		h.note(b)
	}
	h.notify(Event{Old: a, New: b, Stale: resync})
}

// OnDelete implements the informer's handler.
func (h handler) OnDelete(obj any) {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if o, ok := obj.(cluster.Object); ok {
		h.note(o)
		if h.lookups != nil {
			h.lookups.noteGone(o)
		}
		h.notify(Event{Old: o})
	}
}

// note notes a change before the watcher is notified of it.
func (h handler) note(o cluster.Object) {
	if h.held != nil {
		h.held.note(o)
	}
}
