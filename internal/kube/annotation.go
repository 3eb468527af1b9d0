package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// maxAnnotations is the size up to which the controller fills the annotations of an object. The
// rest of what Kubernetes accepts is left to others: kubectl keeps the whole manifest there, and an
// object without room could not be applied again.
const maxAnnotations = validation.TotalAnnotationSizeLimitB - 32<<10

// annotate sets an annotation, unless the cached object has it. A fresh read decides what is
// written: the cache has no annotation of kubectl, and may not have the last write yet.
func (c *Cluster) annotate(ctx context.Context, p cluster.Annotation) error {
	cached, err := c.source.Get(p.Ref)
	if err != nil || cached == nil || cached.GetAnnotations()[p.Key] == p.Value {
		return err
	}
	typ, ok := cluster.TypeOf(p.Ref.Kind)
	if !ok {
		return fmt.Errorf("%s cannot have annotations of the controller", p.Ref)
	}
	for n := 1; ; n++ {
		obj := typ.New()
		obj.SetNamespace(p.Ref.Namespace)
		obj.SetName(p.Ref.Name)
		err := c.api.Read(ctx, obj)
		if err == nil && obj.GetUID() == cached.GetUID() {
			err = c.annotateLive(ctx, p, obj)
		}
		if !apierrors.IsConflict(err) || n == attempts {
			return ignoreNotFound(err)
		}
	}
}

// annotateLive writes on top of the state that was read, and no other.
func (c *Cluster) annotateLive(ctx context.Context, p cluster.Annotation, obj cluster.Object) error {
	have, exists := obj.GetAnnotations()[p.Key]
	if p.Was != "" && have != p.Was {
		return nil
	}
	size := annotationsSize(obj) - len(have) + len(p.Value)
	if !exists {
		size += len(p.Key)
	}
	if p.Value != "" && size > maxAnnotations {
		c.writeEvent(ctx, p.TooLarge)
		p.Value = ""
	}
	if have == p.Value {
		return nil
	}
	value := any(p.Value)
	if p.Value == "" {
		value = nil // removes it
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": obj.GetResourceVersion(), "annotations": map[string]any{p.Key: value},
	}})
	if err != nil {
		return err
	}
	return c.write(ctx, obj, "annotation "+p.Key, p.Value, func() error { return c.api.Patch(ctx, obj, cluster.Main, types.MergePatchType, data) })
}

func annotationsSize(obj cluster.Object) (n int) {
	for k, v := range obj.GetAnnotations() {
		n += len(k) + len(v)
	}
	return n
}
