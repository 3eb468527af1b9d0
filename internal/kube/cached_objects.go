package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// cachedObjects reads the objects of a kind from its informer, without copies. An object that has not changed is the same
// pointer in each read, so callers can compare pointers to find changes. (The client of the cache would copy each object.)
type cachedObjects struct {
	index toolscache.Indexer

	mu       sync.Mutex
	watchers int
	// lastList is the last result of allObjects; nil if all objects must be listed again.
	lastList []cluster.Object
	// changedSinceList are the objects that have changed since lastList was made.
	changedSinceList map[client.ObjectKey]bool
}

// maxChangedObjects is the maximum number of changed objects that allObjects reads one by one. If more objects have changed,
// it lists all objects again.
const maxChangedObjects = 100

// newCachedObjects adds the indexes of a kind to its informer, and returns a reader of its objects. It returns nil if the
// cache has a separate informer for each namespace, because such informers have no common index.
func newCachedObjects(kind cluster.Kind, typ cluster.Type, i cache.Informer) (*cachedObjects, error) {
	informer, ok := i.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, nil
	}
	indexers := toolscache.Indexers{}
	for _, ix := range typ.Indexes {
		indexers[string(ix)] = func(obj any) ([]string, error) {
			o, ok := obj.(cluster.Object)
			if !ok {
				return nil, fmt.Errorf("the cache holds a %T", obj)
			}
			return cluster.IndexValues(ix, o), nil
		}
	}
	if err := informer.AddIndexers(indexers); err != nil {
		return nil, err
	}
	return &cachedObjects{index: informer.GetIndexer(), changedSinceList: map[client.ObjectKey]bool{}}, nil
}

// get returns the object with this name; nil if it does not exist.
func (h *cachedObjects) get(name client.ObjectKey) (cluster.Object, error) {
	key := name.Name
	if name.Namespace != "" {
		key = name.Namespace + "/" + name.Name
	}
	obj, ok, err := h.index.GetByKey(key)
	if err != nil || !ok {
		return nil, err
	}
	o, ok := obj.(cluster.Object)
	if !ok {
		return nil, fmt.Errorf("the cache holds a %T", obj)
	}
	return o, nil
}

// list returns the objects that a query selects, sorted by namespace and name.
func (h *cachedObjects) list(q cluster.Query) ([]cluster.Object, error) {
	var found []any
	var err error
	switch {
	case q.Index != "":
		found, err = h.index.ByIndex(string(q.Index), q.Value)
	case q.Namespace != "":
		found, err = h.index.ByIndex(toolscache.NamespaceIndex, q.Namespace)
	case q.Kind == cluster.KindNode:
		return h.allObjects()
	default:
		found = h.index.List()
	}
	if err != nil {
		return nil, err
	}
	return sortObjects(found, q.Namespace)
}

// allObjects returns all objects of the kind. If the kind has a watcher, it reuses the last list and reads only the objects
// that have changed. This is useful for nodes, because a cluster may have many nodes, and each binding that registers nodes
// reads all of them.
func (h *cachedObjects) allObjects() ([]cluster.Object, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == 0 {
		return sortObjects(h.index.List(), "")
	}
	var err error
	switch {
	case h.lastList == nil:
		h.lastList, err = sortObjects(h.index.List(), "")
	case len(h.changedSinceList) > 0:
		h.lastList, err = h.applyChanges()
	}
	clear(h.changedSinceList)
	return h.lastList, err
}

// applyChanges returns the last list, updated with the objects that have changed since it was made. If the list already has
// all changes, the same slice is returned. This occurs if several watchers report the same change.
func (h *cachedObjects) applyChanges() ([]cluster.Object, error) {
	out, cloned := h.lastList, false
	for name := range h.changedSinceList {
		obj, err := h.get(name)
		if err != nil {
			return nil, err
		}
		at, found := slices.BinarySearchFunc(out, name, compareName)
		if found && out[at] == obj || !found && obj == nil {
			continue
		}
		if !cloned {
			out, cloned = slices.Clone(out), true // callers may still read the old list
		}
		switch {
		case obj == nil:
			out = slices.Delete(out, at, at+1)
		case found:
			out[at] = obj
		default:
			out = slices.Insert(out, at, obj)
		}
	}
	return out, nil
}

// recordChange records that an object has changed. It must be called before watchers are notified, so that the runs that they
// start read the change.
func (h *cachedObjects) recordChange(o cluster.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lastList == nil {
		return
	}
	if h.changedSinceList[client.ObjectKeyFromObject(o)] = true; len(h.changedSinceList) > maxChangedObjects {
		h.lastList = nil
		clear(h.changedSinceList)
	}
}

// addWatcher records that a watcher is notified from now on. It removes the last list, because earlier changes were not
// recorded.
func (h *cachedObjects) addWatcher() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers++
	h.lastList = nil
	clear(h.changedSinceList)
}

// removeWatcher records that a watcher is not notified any more.
func (h *cachedObjects) removeWatcher() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
}

// SortedItems returns the items of a list, sorted by namespace and name.
func SortedItems(list client.ObjectList) ([]cluster.Object, error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	return sortObjects(items, "")
}

// sortObjects returns the objects of a namespace, sorted by namespace and name. An empty namespace selects all objects.
func sortObjects[T any](found []T, namespace string) ([]cluster.Object, error) {
	out := make([]cluster.Object, 0, len(found))
	for _, obj := range found {
		o, ok := any(obj).(cluster.Object)
		if !ok {
			return nil, fmt.Errorf("the list holds a %T", obj)
		}
		if namespace == "" || o.GetNamespace() == namespace {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b cluster.Object) int { return compareName(a, client.ObjectKeyFromObject(b)) })
	return out, nil
}

func compareName(o cluster.Object, name client.ObjectKey) int {
	return cmp.Or(strings.Compare(o.GetNamespace(), name.Namespace), strings.Compare(o.GetName(), name.Name))
}
