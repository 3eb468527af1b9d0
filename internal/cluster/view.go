// Package cluster provides Kubernetes objects to the code that translates them. A View records the objects and lists that a
// run reads, so that an event of an object triggers exactly the stacks that depend on the object. The package makes no calls
// to an API server: it reads from a Source, such as the informers of package kube, or Memory, which can be filled from YAML
// files.
package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Object is any typed Kubernetes object.
type Object = client.Object

// Ref is a reference to an object.
type Ref = finding.Ref

// Query selects the objects of a kind that have a value in an index. If Index is empty, it selects all objects of the kind.
// If Namespace is not empty, it selects only objects in this namespace.
type Query struct {
	Kind      Kind
	Namespace string
	Index     Index
	Value     string
}

// Source provides the objects that a View reads. Implementations must be safe for concurrent use. Callers must not change the
// returned objects.
type Source interface {
	// Get returns an object, or nil if it does not exist.
	Get(ref Ref) (Object, error)
	// List returns the objects that a query selects, in ascending order of namespace and name. Callers must not change the
	// list.
	List(q Query) ([]Object, error)
}

// InstalledChecker is an optional interface of a Source with kinds that may not be installed in the cluster. A kind that is
// not installed has no objects.
type InstalledChecker interface {
	// Installed reports whether a kind is installed and read.
	Installed(kind Kind) bool
}

// Confirmer is an optional interface of a Source whose objects may be older than the objects in the API server.
type Confirmer interface {
	// Confirm returns StaleError if the API server has another state of an object.
	Confirm(obj Object) error
}

// ReferenceFinder is an optional interface of a Source that can read objects from the API server that its cache does not
// have.
type ReferenceFinder interface {
	// Find reads an object from the API server. It returns nil if the object does not exist, or if the source does not read
	// objects of its kind in this way.
	Find(ref Ref) (Object, error)
}

// LookupSource is an optional interface of a Source that reads objects from the API server if its cache does not have them.
type LookupSource interface {
	// CacheOnly returns a source that reads the same cache, and sends no requests to the API server.
	CacheOnly() Source
}

// StaleError reports that an object that a view has read from a cache has changed in the API server. The cache is expected
// to receive the new state soon.
type StaleError struct{ Ref Ref }

// Error implements error.
func (s StaleError) Error() string { return s.Ref.String() + " has changed since it was read" }

// RetryAfter returns how long to wait for the new state. The event of the new state may trigger a run earlier.
func (s StaleError) RetryAfter() time.Duration { return time.Second }

// View reads from a Source, and subscribes to each object and query that it reads, even if the read returns no object. An
// event that changes a result triggers the next run. Subscribe and SubscribeList subscribe without reading. The views that
// Unsubscribed and CacheOnly return read without subscribing. After the first error of the source, all reads return nothing.
// Callers check Err after the last read.
type View struct {
	source      Source
	refs        map[Ref]struct{} // refs and queries are nil in a view that does not subscribe
	queries     map[Query]struct{}
	err         error
	memberships *Memberships // nil: without memberships
	// confirmed has the resource versions of the objects for which Confirm has returned no error.
	confirmed map[Ref]string
}

// NewView returns a view of a source, without subscriptions.
func NewView(src Source) *View {
	return &View{source: src, refs: map[Ref]struct{}{}, queries: map[Query]struct{}{}}
}

// WithMemberships sets the memberships that ObjectsThatLeft and FinalizersLeftBy read, and returns v.
func (v *View) WithMemberships(m *Memberships) *View {
	v.memberships = m
	return v
}

// Unsubscribed returns a new view of the same source. It does not subscribe, and its errors do not affect v.
func (v *View) Unsubscribed() *View { return &View{source: v.source, memberships: v.memberships} }

// CacheOnly returns a new view like Unsubscribed that also sends no requests to the API server.
func (v *View) CacheOnly() *View {
	out := v.Unsubscribed()
	if lookups, ok := v.source.(LookupSource); ok {
		out.source = lookups.CacheOnly()
	}
	return out
}

// Subscribe subscribes to an object, without reading the object. The object need not exist.
func (v *View) Subscribe(kind Kind, namespace, name string) {
	if v.refs != nil {
		v.refs[Ref{Kind: kind, Namespace: namespace, Name: name}] = struct{}{}
	}
}

// SubscribeList subscribes to the objects that a query selects, without reading them.
func (v *View) SubscribeList(q Query) {
	if v.queries != nil {
		v.queries[q] = struct{}{}
	}
}

// Installed reports whether a kind is served by the API server and read by this process. When the result changes, the source
// sends events for all objects of the kind, and for all Gateways and GatewayClasses.
func (v *View) Installed(kind Kind) bool { return isInstalled(v.source, kind) }

// isInstalled reports whether a source reads a kind. It returns true if the source is not an InstalledChecker.
func isInstalled(src Source, kind Kind) bool {
	i, ok := src.(InstalledChecker)
	return !ok || i.Installed(kind)
}

// ObjectsThatLeft returns the objects from which another client has removed a finalizer, sorted. Only events of these
// objects change the result.
func (v *View) ObjectsThatLeft(finalizer string) []Ref {
	if v.memberships == nil {
		return nil
	}
	return v.memberships.ObjectsThatLeft(finalizer)
}

// FinalizersLeftBy returns the finalizers that another client has removed from an object, sorted.
func (v *View) FinalizersLeftBy(ref Ref) []string {
	if v.memberships == nil {
		return nil
	}
	return v.memberships.FinalizersLeftBy(ref)
}

// Err returns the first error of the source, or nil. If the view has an error, results that were computed from its reads
// must not be used.
func (v *View) Err() error { return v.err }

// Refs returns the objects to which the view has subscribed, sorted.
func (v *View) Refs() []Ref {
	return slices.SortedFunc(maps.Keys(v.refs), Ref.Compare)
}

// Queries returns the queries to which the view has subscribed, sorted.
func (v *View) Queries() []Query {
	return slices.SortedFunc(maps.Keys(v.queries), func(a, b Query) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Index, b.Index), cmp.Compare(a.Value, b.Value))
	})
}

// Get reads an object, and subscribes to it. It returns false if the object does not exist, or if the view has an error.
func Get[T Object](v *View, kind Kind, namespace, name string) (T, bool) {
	var none T
	v.Subscribe(kind, namespace, name)
	if v.err != nil {
		return none, false
	}
	obj, err := v.source.Get(Ref{Kind: kind, Namespace: namespace, Name: name})
	if err != nil {
		v.err = fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
		return none, false
	}
	if obj == nil {
		return none, false
	}
	t, ok := obj.(T)
	if !ok {
		v.err = fmt.Errorf("read %s %s/%s: the source holds a %T", kind, namespace, name, obj)
	}
	return t, ok
}

// GetReferenced reads an object that referrer names, as Get does. If the cache of the source does not have the object, it
// reads the object from the API server. If the API server does not have the object either, GetReferenced calls Confirm for
// referrer.
func GetReferenced[T Object](v *View, referrer Object, kind Kind, namespace, name string) (T, bool) {
	t, ok := Get[T](v, kind, namespace, name)
	if finder, finds := v.source.(ReferenceFinder); finds && !ok && v.err == nil {
		obj, err := finder.Find(Ref{Kind: kind, Namespace: namespace, Name: name})
		if err != nil {
			v.err = fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
			return t, false
		}
		t, ok = obj.(T)
	}
	if !ok {
		v.Confirm(referrer)
	}
	return t, ok
}

// Confirm sets the error of the view if one of the objects has changed in the API server. It must be called for the objects
// that reference a missing object, before the missing object is reported. Each kind has its own watch. Therefore the event
// of a deletion may arrive before the event of an earlier edit that removed the reference to the deleted object.
func (v *View) Confirm(objs ...Object) {
	source, ok := v.source.(Confirmer)
	if !ok {
		return
	}
	for _, obj := range objs {
		ref := RefOf(obj)
		if version, known := v.confirmed[ref]; known && version == obj.GetResourceVersion() || v.err != nil {
			continue
		}
		if v.err = source.Confirm(obj); v.err == nil {
			if v.confirmed == nil {
				v.confirmed = map[Ref]string{}
			}
			v.confirmed[ref] = obj.GetResourceVersion()
		}
	}
}

// List reads the objects that a query selects, in ascending order of namespace and name, and subscribes to the query. It
// returns nil if the view has an error.
func List[T Object](v *View, q Query) []T { return convertSelected[T](v, q, v.list(q)) }

// list is List without the conversion to a type.
func (v *View) list(q Query) []Object {
	v.SubscribeList(q)
	if v.err != nil {
		return nil
	}
	objs, err := v.source.List(q)
	if err != nil {
		v.err = fmt.Errorf("list %s by %q %q: %w", q.Kind, q.Index, q.Value, err)
		return nil
	}
	return objs
}

// convertSelected converts objs, the result of query q, to type T. If an object has another type, it sets the error of the
// view and returns nil.
func convertSelected[T Object](v *View, q Query, objs []Object) []T {
	if v.err != nil {
		return nil
	}
	out := make([]T, 0, len(objs))
	for _, o := range objs {
		t, ok := o.(T)
		if !ok {
			v.err = fmt.Errorf("list %s: the source holds a %T", q.Kind, o)
			return nil
		}
		out = append(out, t)
	}
	return out
}

// LastListCache caches the last result of a query. While the source returns the same list, the objects of the list are not
// converted again. LastListCache is safe for concurrent use.
type LastListCache[T Object] struct {
	last atomic.Pointer[convertedList[T]]
}

// convertedList is a list of a source, and its objects converted to their type. It is immutable.
type convertedList[T Object] struct {
	objects []Object
	list    []T
}

// Read returns the result of List. The list is shared and must not be changed.
func (l *LastListCache[T]) Read(v *View, q Query) []T {
	objs := v.list(q)
	if last := l.last.Load(); last != nil && len(objs) > 0 && len(objs) == len(last.objects) && &objs[0] == &last.objects[0] {
		return last.list
	}
	list := convertSelected[T](v, q, objs)
	if v.err == nil {
		l.last.Store(&convertedList[T]{objs, list})
	}
	return list
}
