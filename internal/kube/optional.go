package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// AddOptionalKinds adds kinds whose CRDs may not be installed. The source returns no objects of these kinds before
// StartKinds is called for them.
func (s *Source) AddOptionalKinds(kinds []cluster.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.optionalKinds == nil {
		s.optionalKinds = map[cluster.Kind]bool{}
	}
	for _, k := range kinds {
		s.optionalKinds[k] = true
	}
}

// Installed implements cluster.InstalledChecker.
func (s *Source) Installed(kind cluster.Kind) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, read := s.kinds[kind]
	return read || kind == cluster.KindSecret
}

// typeOf returns the type and the cached objects of a kind. objects is nil for a kind that is read with the client of the
// cache. read is false for an optional kind that is not started. It returns an error if the kind is unknown or the source is
// not synced.
func (s *Source) typeOf(kind cluster.Kind) (typ cluster.Type, objects *cachedObjects, read bool, err error) {
	s.mu.RLock()
	typ, read = s.kinds[kind]
	objects = s.objects[kind]
	optional := s.optionalKinds[kind]
	s.mu.RUnlock()
	switch {
	case !read && !optional:
		return typ, nil, false, fmt.Errorf("kind %s is not watched", kind)
	case !s.Synced():
		return typ, nil, false, errNotSynced
	}
	return typ, objects, read, nil
}

// watcher calls notify for the events of a kind until ctx ends.
type watcher struct {
	ctx    context.Context
	kind   cluster.Kind
	notify func(Event)
}

// startWatcher adds a watcher to the informer of its kind. For an optional kind that is not started yet, StartKinds adds the
// watcher later. Watchers of optional kinds are stored, because StartKinds and StopKinds notify them.
func (s *Source) startWatcher(w watcher) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.optionalKinds[w.kind] {
		s.watchers = append(s.watchers, w)
	}
	if _, read := s.kinds[w.kind]; !read && s.optionalKinds[w.kind] {
		return nil
	} else if !read {
		return fmt.Errorf("kind %s is not watched", w.kind)
	}
	return s.addInformerWatcher(w)
}

// addInformerWatcher adds a watcher to the informer of its kind. The caller must hold s.mu, so that no kind is started
// during the call.
func (s *Source) addInformerWatcher(w watcher) error {
	typ := s.kinds[w.kind]
	informer, err := s.cache.GetInformer(w.ctx, typ.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.kind, err)
	}
	objects := s.objects[w.kind]
	var lookups *Lookups
	if mayLookUp(w.kind) {
		lookups = s.Lookups
	}
	registration, err := informer.AddEventHandler(informerHandler{w, objects, lookups})
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.kind, err)
	}
	if objects != nil {
		objects.addWatcher()
	}
	context.AfterFunc(w.ctx, func() {
		if objects != nil {
			objects.removeWatcher()
		}
		_ = informer.RemoveEventHandler(registration)
	})
	return nil
}

// StartKinds starts reading optional kinds that the API server serves now. All of these kinds become readable at the same
// time. Before the source is synced, StartKinds only creates their informers. When the source is synced, StartKinds waits
// for the first listings, starts the events, and sends events for all objects of the kinds in renotify. Runs of these
// objects may depend on the new kinds. After an error none of the new kinds is read, and StartKinds can be called again.
func (s *Source) StartKinds(ctx context.Context, kinds, renotify []cluster.Kind) (err error) {
	types := map[cluster.Kind]cluster.Type{}
	defer func() {
		if err == nil {
			return
		}
		for k, typ := range types {
			err = errors.Join(err, s.stopReading(ctx, k, typ))
		}
	}()
	for _, k := range kinds {
		if s.Installed(k) {
			continue
		}
		typ, err := s.createInformer(k)
		if err != nil {
			return err
		}
		types[k] = typ
	}
	renotify = slices.DeleteFunc(slices.Clone(renotify), func(k cluster.Kind) bool { return !s.Installed(k) })
	if s.Synced() {
		if err := s.waitForListings(ctx, types); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, typ := range types {
		s.kinds[k] = typ
	}
	for _, w := range s.watchers {
		if _, started := types[w.kind]; started {
			if err := s.addInformerWatcher(w); err != nil {
				return err
			}
		}
	}
	if len(types)+len(renotify) > 0 && s.Synced() {
		go s.notifyAll(slices.Clone(s.watchers), renotify)
	}
	return nil
}

// StopKinds stops reading optional kinds that the API server does not serve any more, because their informers would send
// failing requests forever. It skips a kind whose informer still has objects, because the deletion of these objects has not
// been reported. If it stops a kind, it sends events for all objects of the kinds in renotify. It returns the stopped kinds,
// which StartKinds can start again.
func (s *Source) StopKinds(ctx context.Context, kinds, renotify []cluster.Kind) ([]cluster.Kind, error) {
	var stopped []cluster.Kind
	for _, k := range kinds {
		s.mu.RLock()
		typ, read := s.kinds[k]
		optional := s.optionalKinds[k]
		s.mu.RUnlock()
		if !read || !optional || !s.Synced() {
			continue
		}
		objs, err := s.List(cluster.Query{Kind: k})
		if err != nil {
			return stopped, err
		}
		if len(objs) > 0 {
			continue
		}
		if err := s.stopReading(ctx, k, typ); err != nil {
			return stopped, err
		}
		stopped = append(stopped, k)
	}
	if len(stopped) > 0 {
		renotify = slices.DeleteFunc(slices.Clone(renotify), func(k cluster.Kind) bool { return !s.Installed(k) })
		s.mu.RLock()
		defer s.mu.RUnlock()
		go s.notifyAll(slices.Clone(s.watchers), renotify)
	}
	return stopped, nil
}

// stopReading stops reading a kind and removes its informer. The informer cannot be used again, because the same indexes
// cannot be added to it twice. If the removal fails, the kind is still read.
func (s *Source) stopReading(ctx context.Context, k cluster.Kind, typ cluster.Type) error {
	s.mu.Lock()
	_, read := s.kinds[k]
	objects := s.objects[k]
	delete(s.kinds, k)
	delete(s.objects, k)
	s.mu.Unlock()
	err := s.cache.RemoveInformer(ctx, typ.New()) // called without the lock, because RemoveInformer may call the API server
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if read {
		s.kinds[k] = typ
	}
	if objects != nil {
		s.objects[k] = objects
	}
	return fmt.Errorf("stop watching %s: %w", k, err)
}

// waitForListings waits until the informers of the kinds have their first listings, at most durations.ListingTimeout.
func (s *Source) waitForListings(ctx context.Context, types map[cluster.Kind]cluster.Type) error {
	ctx, stop := context.WithTimeout(ctx, durations.ListingTimeout)
	defer stop()
	informers := map[cluster.Kind]cache.Informer{}
	for k, typ := range types {
		informer, err := s.cache.GetInformer(ctx, typ.New(), cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %s: %w", k, err)
		}
		informers[k] = informer
	}
	for k, informer := range informers {
		if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return fmt.Errorf("list %s: %w", k, errNotSynced)
		}
	}
	return nil
}

// notifyAll sends an event for each object of the kinds to the watchers. As in a resync, the old and the new object are the
// same.
func (s *Source) notifyAll(watchers []watcher, kinds []cluster.Kind) {
	for _, w := range watchers {
		if !slices.Contains(kinds, w.kind) {
			continue
		}
		objs, err := s.List(cluster.Query{Kind: w.kind})
		if err != nil {
			continue // the process is stopping
		}
		for _, obj := range objs {
			if w.ctx.Err() != nil {
				break
			}
			w.notify(Event{Old: obj, New: obj, Unchanged: true})
		}
	}
}
