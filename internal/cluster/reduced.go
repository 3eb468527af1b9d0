package cluster

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// ReducedSource is a Source that returns the objects of another Source as informers return them: it omits finished pods, and
// applies Reduce to other objects.
type ReducedSource struct {
	Source  Source
	QUICEnv string

	mu    sync.Mutex
	cache map[Ref]reduction
}

// reduction is an object of the source, and the result of Reduce for it.
type reduction struct{ original, reduced Object }

// Get implements Source.
func (r *ReducedSource) Get(ref Ref) (Object, error) {
	obj, err := r.Source.Get(ref)
	if err != nil || obj == nil || ref.Kind == KindSecret {
		return obj, err
	}
	return r.Reduce(obj), nil
}

// List implements Source.
func (r *ReducedSource) List(q Query) ([]Object, error) {
	objs, err := r.Source.List(q)
	out := make([]Object, 0, len(objs))
	for _, obj := range objs {
		if obj := r.Reduce(obj); obj != nil {
			out = append(out, obj)
		}
	}
	return out, err
}

// Installed implements InstalledChecker.
func (r *ReducedSource) Installed(kind Kind) bool { return isInstalled(r.Source, kind) }

// Reduce returns the reduced copy of an object, or nil for a finished pod. It does not change its argument. It caches the
// copy until the source has another state of the object.
func (r *ReducedSource) Reduce(obj Object) Object {
	if p, ok := obj.(*corev1.Pod); obj == nil || ok && IsPodFinished(p) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ref := RefOf(obj)
	if k, ok := r.cache[ref]; ok && k.original == obj {
		return k.reduced
	}
	if r.cache == nil {
		r.cache = map[Ref]reduction{}
	}
	out := Reduce(obj.DeepCopyObject().(Object), r.QUICEnv)
	r.cache[ref] = reduction{obj, out}
	return out
}
