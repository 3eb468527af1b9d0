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

// Optional adds kinds that need not be installed. They have no objects until StartKinds is called for them.
func (s *Source) Optional(kinds []cluster.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.optional == nil {
		s.optional = map[cluster.Kind]bool{}
	}
	for _, k := range kinds {
		s.optional[k] = true
	}
}

// Installed implements cluster.Installer.
func (s *Source) Installed(kind cluster.Kind) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, read := s.kinds[kind]
	return read || kind == cluster.KindSecret
}

// typeOf returns the type of a kind that may be read now, and its cached objects, nil if it is read through the cache's
// client; read is false for an optional kind that is not read.
func (s *Source) typeOf(kind cluster.Kind) (typ cluster.Type, h *held, read bool, err error) {
	s.mu.RLock()
	typ, read = s.kinds[kind]
	h = s.held[kind]
	optional := s.optional[kind]
	s.mu.RUnlock()
	switch {
	case !read && !optional:
		return typ, nil, false, fmt.Errorf("kind %s is not watched", kind)
	case !s.Synced():
		return typ, nil, false, errNotSynced
	}
	return typ, h, read, nil
}

// watcher gets the events of a kind.
type watcher struct {
	ctx    context.Context
	kind   cluster.Kind
	notify func(Event)
}

// watch begins the events of a watcher, or leaves that to StartKinds where the kind is not installed. Watchers of kinds
// of the Gateway API are kept, as they are notified again.
func (s *Source) watch(w watcher) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.optional[w.kind] {
		s.watchers = append(s.watchers, w)
	}
	if _, read := s.kinds[w.kind]; !read && s.optional[w.kind] {
		return nil
	} else if !read {
		return fmt.Errorf("kind %s is not watched", w.kind)
	}
	return s.attach(w)
}

// attach connects a watcher with the informer of its kind. The lock is held, so that no kind is started meanwhile.
func (s *Source) attach(w watcher) error {
	typ := s.kinds[w.kind]
	informer, err := s.cache.GetInformer(w.ctx, typ.New(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.kind, err)
	}
	kept := s.held[w.kind]
	var lookups *Lookups
	if mayLookUp(w.kind) {
		lookups = s.Lookups
	}
	h, err := informer.AddEventHandler(handler{w, kept, lookups})
	if err != nil {
		return fmt.Errorf("watch %s: %w", w.kind, err)
	}
	if kept != nil {
		kept.watched()
	}
	context.AfterFunc(w.ctx, func() {
		if kept != nil {
			kept.noteWatcherLeft()
		}
		_ = informer.RemoveEventHandler(h)
	})
	return nil
}

// StartKinds begins to read optional kinds that the API server serves now, all at once: what reads one of them finds
// the objects of all. Before the source is synced it only makes their informers. Afterwards it waits for their first
// listings; then their events begin, and the objects of the kinds in again, which were read before, come once more:
// they may mean something else now. After an error none of the kinds is read, and StartKinds can be called again.
func (s *Source) StartKinds(ctx context.Context, kinds, again []cluster.Kind) (err error) {
	types := map[cluster.Kind]cluster.Type{}
	defer func() {
		if err == nil {
			return
		}
		for k, typ := range types {
			err = errors.Join(err, s.end(ctx, k, typ))
		}
	}()
	for _, k := range kinds {
		if s.Installed(k) {
			continue
		}
		typ, err := s.inform(k)
		if err != nil {
			return err
		}
		types[k] = typ
	}
	again = slices.DeleteFunc(slices.Clone(again), func(k cluster.Kind) bool { return !s.Installed(k) })
	if s.Synced() {
		if err := s.listed(ctx, types); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, typ := range types {
		s.kinds[k] = typ
	}
	for _, w := range s.watchers {
		if _, fresh := types[w.kind]; fresh {
			if err := s.attach(w); err != nil {
				return err
			}
		}
	}
	if len(types)+len(again) > 0 && s.Synced() {
		go s.notifyAll(slices.Clone(s.watchers), again)
	}
	return nil
}

// StopKinds ends reading optional kinds that the API server does not serve any more, so that their informers do not ask for
// them over and over. One of which objects are still held stays: that they are gone has not been seen. The objects of
// the kinds in again come once more, as with StartKinds, which can begin to read the kinds again. It returns what it ended.
func (s *Source) StopKinds(ctx context.Context, kinds, again []cluster.Kind) ([]cluster.Kind, error) {
	var ended []cluster.Kind
	for _, k := range kinds {
		s.mu.RLock()
		typ, read := s.kinds[k]
		optional := s.optional[k]
		s.mu.RUnlock()
		if !read || !optional || !s.Synced() {
			continue
		}
		objs, err := s.List(cluster.Query{Kind: k})
		if err != nil {
			return ended, err
		}
		if len(objs) > 0 {
			continue
		}
		if err := s.end(ctx, k, typ); err != nil {
			return ended, err
		}
		ended = append(ended, k)
	}
	if len(ended) > 0 {
		again = slices.DeleteFunc(slices.Clone(again), func(k cluster.Kind) bool { return !s.Installed(k) })
		s.mu.RLock()
		defer s.mu.RUnlock()
		go s.notifyAll(slices.Clone(s.watchers), again)
	}
	return ended, nil
}

// end ends reading a kind, with its informer: the indexes of an informer that stays could not be added once more.
func (s *Source) end(ctx context.Context, k cluster.Kind, typ cluster.Type) error {
	s.mu.Lock()
	_, read := s.kinds[k]
	kept := s.held[k]
	delete(s.kinds, k)
	delete(s.held, k)
	s.mu.Unlock()
	err := s.cache.RemoveInformer(ctx, typ.New()) // without the lock: it may ask the API server
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if read {
		s.kinds[k] = typ
	}
	if kept != nil {
		s.held[k] = kept
	}
	return fmt.Errorf("stop watching %s: %w", k, err)
}

// listed waits for the first listings of kinds.
func (s *Source) listed(ctx context.Context, types map[cluster.Kind]cluster.Type) error {
	ctx, stop := context.WithTimeout(ctx, durations.Listing)
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

// notifyAll notifies watchers of all objects of kinds, as a resync does.
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
			w.notify(Event{Old: obj, New: obj, Stale: true})
		}
	}
}
