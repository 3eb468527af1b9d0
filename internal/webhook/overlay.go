package webhook

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// proposed is a source in which an object replaces the stored one. It has no Secrets, because
// a proposed object must not make the controller read one.
type proposed struct {
	cluster.Source
	ref cluster.Ref
	obj cluster.Object
}

func withProposed(src cluster.Source, obj cluster.Object) proposed {
	return proposed{src, cluster.RefOf(obj), obj}
}

// Get implements cluster.Source.
func (p proposed) Get(ref cluster.Ref) (cluster.Object, error) {
	switch {
	case ref == p.ref:
		return p.obj, nil
	case ref.Kind == cluster.KindSecret:
		return nil, nil
	}
	return p.Source.Get(ref)
}

// List implements cluster.Source.
func (p proposed) List(q cluster.Query) ([]cluster.Object, error) {
	if q.Kind == cluster.KindSecret {
		return nil, nil
	}
	have, err := p.Source.List(q)
	if err != nil || q.Kind != p.ref.Kind {
		return have, err
	}
	out := slices.DeleteFunc(slices.Clone(have), func(o cluster.Object) bool { return cluster.RefOf(o) == p.ref })
	if q.Selects(p.obj) {
		at, _ := slices.BinarySearchFunc(out, p.obj, func(a, b cluster.Object) int {
			return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
		})
		out = slices.Insert(out, at, p.obj)
	}
	return out, nil
}
