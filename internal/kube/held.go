package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// held is what the informer of a kind holds. It is read without the client of the cache, which copies each object: one
// that has not changed is the same object each time, by which callers find out what has changed.
type held struct {
	index toolscache.Indexer

	mu       sync.Mutex
	watchers int
	// all are the objects that whole returned last, nil if they are not kept, and changed those of which a watcher was
	// notified since then.
	all     []cluster.Object
	changed map[client.ObjectKey]bool
}

// maxChanged bounds the objects that are looked up one by one: for more, the list is made again.
const maxChanged = 100

// cachedObjects returns what an informer holds, with the indexes of the kind; nil if it has an informer for each
// namespace.
func cachedObjects(kind cluster.Kind, typ cluster.Type, i cache.Informer) (*held, error) {
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
			return cluster.IndexValues(kind, ix, o), nil
		}
	}
	if err := informer.AddIndexers(indexers); err != nil {
		return nil, err
	}
	return &held{index: informer.GetIndexer(), changed: map[client.ObjectKey]bool{}}, nil
}

// get returns an object, nil if there is none.
func (h *held) get(name client.ObjectKey) (cluster.Object, error) {
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

// list returns the objects that a query selects, ascending by namespace and name.
func (h *held) list(q cluster.Query) ([]cluster.Object, error) {
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
	return sorted(found, q.Namespace)
}

// allObjects returns all objects. Of a kind that is watched, only what has changed is looked up again: nodes are many,
// and each binding that registers them reads them all.
func (h *held) allObjects() ([]cluster.Object, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == 0 {
		return sorted(h.index.List(), "")
	}
	var err error
	switch {
	case h.all == nil:
		h.all, err = sorted(h.index.List(), "")
	case len(h.changed) > 0:
		h.all, err = h.withChanged()
	}
	clear(h.changed)
	return h.all, err
}

// withChanged returns all objects, after a look at those that have changed. It is the same list if it holds them already:
// each watcher is notified of each change.
func (h *held) withChanged() ([]cluster.Object, error) {
	out, own := h.all, false
	for name := range h.changed {
		obj, err := h.get(name)
		if err != nil {
			return nil, err
		}
		at, there := slices.BinarySearchFunc(out, name, compareName)
		if there && out[at] == obj || !there && obj == nil {
			continue
		}
		if !own {
			out, own = slices.Clone(out), true // others read the old one
		}
		switch {
		case obj == nil:
			out = slices.Delete(out, at, at+1)
		case there:
			out[at] = obj
		default:
			out = slices.Insert(out, at, obj)
		}
	}
	return out, nil
}

// note notes a change of an object. The watcher is notified afterwards, so that its runs find it.
func (h *held) note(o cluster.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		return
	}
	if h.changed[client.ObjectKeyFromObject(o)] = true; len(h.changed) > maxChanged {
		h.all = nil
		clear(h.changed)
	}
}

// watched notes that a watcher is notified from now on. What has changed while there was none is not known.
func (h *held) watched() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers++
	h.all = nil
	clear(h.changed)
}

// noteWatcherLeft notes that a watcher is not notified any more.
func (h *held) noteWatcherLeft() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
}

// sorted returns the objects of a namespace, of all if it is empty, in order.
func sorted(found []any, namespace string) ([]cluster.Object, error) {
	out := make([]cluster.Object, 0, len(found))
	for _, obj := range found {
		o, ok := obj.(cluster.Object)
		if !ok {
			return nil, fmt.Errorf("the cache holds a %T", obj)
		}
		if namespace == "" || o.GetNamespace() == namespace {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b cluster.Object) int { return compareName(a, client.ObjectKeyFromObject(b)) })
	return out, nil
}

// compareName compares the namespace and name of an object with others.
func compareName(o cluster.Object, name client.ObjectKey) int {
	return cmp.Or(strings.Compare(o.GetNamespace(), name.Namespace), strings.Compare(o.GetName(), name.Name))
}
