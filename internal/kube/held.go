package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// held is what the informer of a kind holds. It is read without the client of the cache, which copies each object: one
// that has not changed is the same object each time, by which callers find out what has changed.
type held struct {
	index toolscache.Indexer
	// changes counts the changes of which a watcher is notified, before it is. Without a watcher it says nothing.
	changes  atomic.Int64
	watchers atomic.Int64
	all      atomic.Pointer[listed]
}

// listed are all objects of a kind, as of a number of changes.
type listed struct {
	changes int64
	objects []cluster.Object
}

// holds returns what an informer holds, with the indexes of the kind; nil if it has an informer for each namespace.
func holds(kind cluster.Kind, typ cluster.Type, i cache.Informer) (*held, error) {
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
	return &held{index: informer.GetIndexer()}, nil
}

// get returns an object, nil if there is none.
func (h *held) get(ref cluster.Ref) (cluster.Object, error) {
	key := ref.Name
	if ref.Namespace != "" {
		key = ref.Namespace + "/" + ref.Name
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
		return h.whole()
	default:
		found = h.index.List()
	}
	if err != nil {
		return nil, err
	}
	return sorted(found, q.Namespace)
}

// whole returns all objects. Of a kind that is watched, the list is made again only after a change: nodes are many, and
// each binding that registers them reads them all.
func (h *held) whole() ([]cluster.Object, error) {
	changes := h.changes.Load() // before the objects are read
	if l := h.all.Load(); l != nil && l.changes == changes && h.watchers.Load() > 0 {
		return l.objects, nil
	}
	objects, err := sorted(h.index.List(), "")
	if err == nil && h.watchers.Load() > 0 {
		h.all.Store(&listed{changes, objects})
	}
	return objects, err
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
	slices.SortFunc(out, func(a, b cluster.Object) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return out, nil
}
