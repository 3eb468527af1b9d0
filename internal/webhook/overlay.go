package webhook

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// proposedSource is a source in which a proposed object replaces the stored object. It returns no Secrets, because a
// proposed object must not cause the controller to read a Secret.
type proposedSource struct {
	cluster.Source
	ref cluster.Ref
	obj cluster.Object
}

// newProposedSource returns src with obj in place of the stored object.
func newProposedSource(src cluster.Source, obj cluster.Object) proposedSource {
	return proposedSource{src, cluster.RefOf(obj), obj}
}

// Get implements cluster.Source.
func (p proposedSource) Get(ref cluster.Ref) (cluster.Object, error) {
	switch {
	case ref == p.ref:
		return p.obj, nil
	case ref.Kind == cluster.KindSecret:
		return nil, nil
	}
	return p.Source.Get(ref)
}

// List implements cluster.Source.
func (p proposedSource) List(q cluster.Query) ([]cluster.Object, error) {
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
