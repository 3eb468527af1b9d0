package cluster

import (
	"cmp"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

// Memory is a small Kubernetes API in memory: a Source that is always synced, with the write semantics of the API server that
// controllers depend on (resource versions, generations, finalizers, deletion timestamps, status as a subresource). It has no
// admission, no garbage collection and no goroutine. Callers must not change the objects that it returns.
type Memory struct {
	scheme *runtime.Scheme
	clock  clock.PassiveClock

	mu            sync.Mutex
	version       int64
	serial        int64
	objects       map[Ref]Object
	sortedObjects map[Kind][]storedObject // ascending by namespace and name
	cachedLists   map[Kind][]Object       // all objects of a kind, if List has been called since the last change of one of them
	refsByIndex   setsByKey[indexKey, Ref]
	definitions   map[Kind]Definition

	watchers      []*watcher
	pendingEvents []event
	delivering    bool
}

// storedObject is an object with its reference.
type storedObject struct {
	Ref
	obj Object
}

type watcher struct {
	notify  func(old, new Object)
	stopped bool
}

type event struct{ old, new Object }

// NewMemory returns an empty store. clock provides the times of creations and deletions. If clock is nil, the time never
// changes.
func NewMemory(clock clock.PassiveClock) (*Memory, error) {
	s, err := sharedScheme()
	if err != nil {
		return nil, err
	}
	if clock == nil {
		clock = stoppedClock{}
	}
	return &Memory{scheme: s, clock: clock, objects: map[Ref]Object{}, sortedObjects: map[Kind][]storedObject{}, cachedLists: map[Kind][]Object{}, refsByIndex: setsByKey[indexKey, Ref]{}}, nil
}

// stoppedClock is a clock that always returns the same time.
type stoppedClock struct{}

// Now implements clock.PassiveClock.
func (stoppedClock) Now() time.Time { return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) }

// Since implements clock.PassiveClock.
func (s stoppedClock) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// Scheme returns the scheme with the types that the store can hold. All stores share the scheme, so callers must not change
// it.
func (m *Memory) Scheme() *runtime.Scheme { return m.scheme }

// Get implements Source.
func (m *Memory) Get(ref Ref) (Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.objects[ref]; ok {
		return o, nil
	}
	return nil, nil
}

// List implements Source.
func (m *Memory) List(q Query) ([]Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.Index == "" {
		return m.objectsInNamespace(q.Kind, q.Namespace), nil
	}
	var out []Object
	for _, o := range m.queryCandidates(q) {
		if q.Selects(o) {
			out = append(out, o)
		}
	}
	return out, nil
}

// All returns all objects of a kind, including kinds for which TypeOf returns false, such as Event.
func (m *Memory) All(kind Kind) []Object {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.objectsInNamespace(kind, ""))
}

// objectsInNamespace returns the objects of a kind in a namespace, or in all namespaces if namespace is empty. The caller
// must not change the slice. The caller holds the lock.
func (m *Memory) objectsInNamespace(kind Kind, namespace string) []Object {
	if out, ok := m.cachedLists[kind]; ok && namespace == "" {
		return out
	}
	out := make([]Object, 0, len(m.sortedObjects[kind]))
	for i := range m.sortedObjects[kind] {
		if s := &m.sortedObjects[kind][i]; namespace == "" || s.Namespace == namespace {
			out = append(out, s.obj)
		}
	}
	if namespace == "" {
		m.cachedLists[kind] = out
	}
	return out
}

// Watch calls notify after each change, in the order of the changes. The call is made before the write returns. If another
// goroutine is notifying watchers at that time, that goroutine makes the call, possibly after the write has returned. old is
// nil for a new object, and new is nil for a deleted object. notify may write to the store. stop ends the watch.
func (m *Memory) Watch(notify func(old, new Object)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &watcher{notify: notify}
	m.watchers = append(m.watchers, w)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		w.stopped = true
		m.watchers = slices.DeleteFunc(m.watchers, func(o *watcher) bool { return o == w })
	}
}

// storeObject stores an object, or removes the stored object if obj is nil, and adds the event to pendingEvents. The caller
// holds the lock.
func (m *Memory) storeObject(ref Ref, obj Object) {
	old, had := m.objects[ref]
	m.reindex(ref, old, obj)
	delete(m.cachedLists, ref.Kind)
	switch at, found := slices.BinarySearchFunc(m.sortedObjects[ref.Kind], ref, func(s storedObject, r Ref) int { return compareNames(s.Ref, r) }); {
	case obj == nil && found:
		delete(m.objects, ref)
		m.sortedObjects[ref.Kind] = slices.Delete(m.sortedObjects[ref.Kind], at, at+1)
	case obj != nil:
		m.objects[ref] = obj
		if found {
			m.sortedObjects[ref.Kind][at].obj = obj
		} else {
			m.sortedObjects[ref.Kind] = slices.Insert(m.sortedObjects[ref.Kind], at, storedObject{ref, obj})
		}
	}
	e := event{new: obj}
	if had {
		e.old = old
	}
	m.pendingEvents = append(m.pendingEvents, e)
}

// compareNames orders objects by namespace and name.
func compareNames(a, b Ref) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// deliverEvents sends the pending events to the watchers. It returns immediately if another goroutine is sending them. The
// caller does not hold the lock.
func (m *Memory) deliverEvents() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.delivering {
		return
	}
	m.delivering = true
	defer func() { m.delivering = false }()
	for len(m.pendingEvents) > 0 {
		e := m.pendingEvents[0]
		m.pendingEvents = m.pendingEvents[1:]
		for _, w := range slices.Clone(m.watchers) {
			if w.stopped {
				continue
			}
			func() {
				m.mu.Unlock()
				defer m.mu.Lock() // deferred, because a failing test ends the goroutine inside notify
				w.notify(e.old, e.new)
			}()
		}
	}
}

// refAndResource returns the reference of an object, and the name of its resource for errors of the API server. It returns
// an error if the scheme does not have the type of the object.
func (m *Memory) refAndResource(obj Object) (Ref, schema.GroupResource, error) {
	gvks, _, err := m.scheme.ObjectKinds(obj)
	if err != nil {
		return Ref{}, schema.GroupResource{}, err
	}
	gvk := gvks[0]
	return Ref{Kind: Kind(gvk.Kind), Namespace: obj.GetNamespace(), Name: obj.GetName()},
		schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, nil
}

func notFound(ref Ref) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: ref.Kind}, ref.Name)
}
