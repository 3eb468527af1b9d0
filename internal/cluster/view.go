// Package cluster gives translators their only way to read Kubernetes: a View that remembers what
// it was asked for, so that an event for any object finds exactly the stacks that asked. It knows
// API types but no client; sources (informers, YAML files) stand behind an interface.
package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is any typed Kubernetes object.
type Object = client.Object

// Ref names one object of a kind.
type Ref struct {
	Kind      Kind
	Namespace string
	Name      string
}

// Query is a list by index: all objects of a kind whose index function yields the value. An empty
// Index means all of the kind (in the namespace, if one is given).
type Query struct {
	Kind      Kind
	Namespace string
	Index     Index
	Value     string
}

// Source is where a View reads from. Implementations must be safe for concurrent use and must
// not let callers change what they return (views never do).
type Source interface {
	// Get returns the object, or nil if there is none.
	Get(ref Ref) (Object, error)
	// List returns the objects in ascending order of namespace and name. The list must not be changed.
	List(q Query) ([]Object, error)
}

// Installer is a Source that reads kinds which may not be installed. Such a kind has no objects.
type Installer interface {
	Installed(kind Kind) bool
}

// Confirmer is a Source that may be behind what is stored.
type Confirmer interface {
	// Confirm returns Stale unless an object is stored as it is here.
	Confirm(obj Object) error
}

// ReferenceFinder is a Source that asks the API server about an object which another one names and which it does not hold.
type ReferenceFinder interface {
	// Find returns the object, or nil if there is none, or none of a kind that is asked for.
	Find(ref Ref) (Object, error)
}

// LookupSource is a Source that asks the API server about what it does not hold.
type LookupSource interface {
	// Informed returns the source without that.
	Informed() Source
}

// Stale is the error of a view whose source will soon have another state of an object that it has read.
type Stale struct{ Ref Ref }

// Error implements error.
func (s Stale) Error() string { return s.Ref.String() + " has changed since it was read" }

// RetryAfter returns how long to wait for the other state. Its arrival is an event, which may come sooner.
func (s Stale) RetryAfter() time.Duration { return time.Second }

// View reads through a Source. Reading subscribes: the view remembers every question, found or not, and an
// event that changes an answer triggers the next run. Subscribe and SubscribeList do so without
// reading; what is read through Unsubscribed brings no run about. The first error of the source sticks:
// later reads return nothing, and the caller looks at Err once at the end.
type View struct {
	source      Source
	refs        map[Ref]struct{} // nil, like queries, in a view that does not subscribe
	queries     map[Query]struct{}
	err         error
	memberships *Memberships // nil: nothing is remembered
	// confirmed are objects that are stored as they were read, and their versions.
	confirmed map[Ref]string
}

// NewView returns an empty-handed view of the source.
func NewView(src Source) *View {
	return &View{source: src, refs: map[Ref]struct{}{}, queries: map[Query]struct{}{}}
}

// WithMemberships gives the view a memory of what Ingresses were part of.
func (v *View) WithMemberships(m *Memberships) *View {
	v.memberships = m
	return v
}

// Unsubscribed returns a view of the same source that remembers no question, with an error of its own.
func (v *View) Unsubscribed() *View { return &View{source: v.source, memberships: v.memberships} }

// Informed returns a view like Unsubscribed of what the source holds: the API server is not asked about anything.
func (v *View) Informed() *View {
	out := v.Unsubscribed()
	if asker, ok := v.source.(LookupSource); ok {
		out.source = asker.Informed()
	}
	return out
}

// Subscribe subscribes to an object, whether it exists or not, without reading it.
func (v *View) Subscribe(kind Kind, namespace, name string) {
	if v.refs != nil {
		v.refs[Ref{Kind: kind, Namespace: namespace, Name: name}] = struct{}{}
	}
}

// SubscribeList subscribes to what a query selects without reading it.
func (v *View) SubscribeList(q Query) {
	if v.queries != nil {
		v.queries[q] = struct{}{}
	}
}

// Installed reports whether a kind is served by the API and read by this process. When that changes, the objects
// of the kind, and all Gateways and GatewayClasses, come as events.
func (v *View) Installed(kind Kind) bool { return installed(v.source, kind) }

func installed(src Source, kind Kind) bool {
	i, ok := src.(Installer)
	return !ok || i.Installed(kind)
}

// Left returns the objects that carried a finalizer and have lost it by an edit of others, in order.
// Events of them, and of nothing else, change the answer.
func (v *View) Left(finalizer string) []Ref {
	if v.memberships == nil {
		return nil
	}
	return v.memberships.Left(finalizer)
}

// LeftBy returns the finalizers that an object carried and has lost by an edit of others, in order.
func (v *View) LeftBy(ref Ref) []string {
	if v.memberships == nil {
		return nil
	}
	return v.memberships.LeftBy(ref)
}

// Err returns the first error that the source gave, nil if none. A translation made from a view with
// an error must not be acted on.
func (v *View) Err() error { return v.err }

// Refs returns the objects asked for by name, in order.
func (v *View) Refs() []Ref {
	out := make([]Ref, 0, len(v.refs))
	for r := range v.refs {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Queries returns the lists asked for, in order.
func (v *View) Queries() []Query {
	out := make([]Query, 0, len(v.queries))
	for q := range v.queries {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b Query) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Index, b.Index), cmp.Compare(a.Value, b.Value))
	})
	return out
}

// Get reads one object, and subscribes to it; false if there is none (or the view has failed).
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

// GetReferenced reads an object that another one names, as Get does. The API server is asked about one that the source does not
// hold. If it does not exist, the other one is confirmed.
func GetReferenced[T Object](v *View, by Object, kind Kind, namespace, name string) (T, bool) {
	t, ok := Get[T](v, kind, namespace, name)
	if f, asks := v.source.(ReferenceFinder); asks && !ok && v.err == nil {
		obj, err := f.Find(Ref{Kind: kind, Namespace: namespace, Name: name})
		if err != nil {
			v.err = fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
			return t, false
		}
		t, ok = obj.(T)
	}
	if !ok {
		v.Confirm(by)
	}
	return t, ok
}

// Confirm fails the view unless objects are stored as they were read. Before a reference that leads nowhere is acted on,
// those that take part in it are confirmed: each kind has a watch of its own, so that the end of an object may arrive before
// the edit that names another one instead.
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

// List reads all objects that a query selects, and subscribes to them, in ascending order of namespace and name.
func List[T Object](v *View, q Query) []T { return ofType[T](v, q, v.list(q)) }

// list is List without the type.
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

func ofType[T Object](v *View, q Query, objs []Object) []T {
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

// LastList keeps what a query has selected last, so that reading it again costs no look at each object while the source
// has the same list. It is safe for concurrent use.
type LastList[T Object] struct{ last atomic.Pointer[selection[T]] }

// selection is a list of a source and what a query has selected of it. It is not changed once it is made.
type selection[T Object] struct {
	objects []Object
	list    []T
}

// Read returns what List does. The list is shared, so that it is not to be changed.
func (l *LastList[T]) Read(v *View, q Query) []T {
	objs := v.list(q)
	if last := l.last.Load(); last != nil && len(objs) > 0 && len(objs) == len(last.objects) && &objs[0] == &last.objects[0] {
		return last.list
	}
	list := ofType[T](v, q, objs)
	if v.err == nil {
		l.last.Store(&selection[T]{objs, list})
	}
	return list
}
