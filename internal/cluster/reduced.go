package cluster

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Reduced reads through a source what informers keep of its objects: no pods that have finished, and of
// everything else what is read.
type Reduced struct {
	Source  Source
	QUICEnv string

	mu    sync.Mutex
	cache map[Ref]reduction
}

type reduction struct{ original, reduced Object }

// Get implements Source.
func (r *Reduced) Get(ref Ref) (Object, error) {
	obj, err := r.Source.Get(ref)
	if err != nil || obj == nil || ref.Kind == KindSecret {
		return obj, err
	}
	return r.Reduce(obj), nil
}

// List implements Source.
func (r *Reduced) List(q Query) ([]Object, error) {
	objs, err := r.Source.List(q)
	out := make([]Object, 0, len(objs))
	for _, obj := range objs {
		if obj := r.Reduce(obj); obj != nil {
			out = append(out, obj)
		}
	}
	return out, err
}

// Installed implements Installer.
func (r *Reduced) Installed(kind Kind) bool { return installed(r.Source, kind) }

// Reduce returns what informers keep of an object, nil if nothing. The object stays as it is.
func (r *Reduced) Reduce(obj Object) Object {
	if p, ok := obj.(*corev1.Pod); obj == nil || ok && PodFinished(p) {
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
