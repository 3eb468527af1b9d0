package kube

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// SortedItems returns the items of a list, ascending by namespace and name.
func SortedItems(list client.ObjectList) ([]cluster.Object, error) {
	out := make([]cluster.Object, 0, meta.LenList(list))
	err := meta.EachListItem(list, func(item runtime.Object) error {
		o, ok := item.(cluster.Object)
		if !ok {
			return fmt.Errorf("a list holds a %T", item)
		}
		out = append(out, o)
		return nil
	})
	slices.SortFunc(out, func(a, b cluster.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out, err
}
