package webhook

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// overlaySource is a source in which a proposed object replaces the stored object. It returns no Secrets, because a
// proposed object must not cause the controller to read a Secret.
type overlaySource struct {
	cluster.Source
	ref cluster.Ref
	obj cluster.Object
}

// newOverlaySource returns src with obj in place of the stored object.
func newOverlaySource(src cluster.Source, obj cluster.Object) overlaySource {
	return overlaySource{src, cluster.RefOf(obj), obj}
}

// Get implements cluster.Source.
func (p overlaySource) Get(ref cluster.Ref) (cluster.Object, error) {
	switch {
	case ref == p.ref:
		return p.obj, nil
	case ref.Kind == cluster.KindSecret:
		return nil, nil
	}
	return p.Source.Get(ref)
}

// List implements cluster.Source.
func (p overlaySource) List(q cluster.Query) ([]cluster.Object, error) {
	if q.Kind == cluster.KindSecret {
		return nil, nil
	}
	have, err := p.Source.List(q)
	if err != nil || q.Kind != p.ref.Kind {
		return have, err
	}
	out := slices.DeleteFunc(slices.Clone(have), func(o cluster.Object) bool { return cluster.RefOf(o) == p.ref })
	if q.Selects(p.obj) {
		index, _ := slices.BinarySearchFunc(out, p.obj, func(a, b cluster.Object) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
		out = slices.Insert(out, index, p.obj)
	}
	return out, nil
}
