package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// maxAnnotationBytes is the total size of an object's annotations up to which the controller adds one. The
// rest of what Kubernetes accepts is for other writers: kubectl apply stores the whole manifest in an
// annotation, and fails if it does not fit.
const maxAnnotationBytes = validation.TotalAnnotationSizeLimitB - 32<<10

// annotate sets an annotation, unless the cached object has it. It reads the object from the API server first, because the
// cache omits the annotation of kubectl, and may lack the last write.
func (c *Cluster) annotate(ctx context.Context, p cluster.Annotation) error {
	cached, err := c.source.Get(p.Ref)
	if err != nil || cached == nil || cached.GetAnnotations()[p.Key] == p.Value {
		return err
	}
	for n := 1; ; n++ {
		obj, err := c.readLive(ctx, p.Ref)
		if err == nil && obj.GetUID() == cached.GetUID() {
			err = c.annotateLive(ctx, p, obj)
		}
		if !apierrors.IsConflict(err) || n == maxWriteAttempts {
			return ignoreNotFound(err)
		}
	}
}

// annotateLive sets an annotation of an object that was read from the API server. The write fails with a conflict if the
// object has changed since.
func (c *Cluster) annotateLive(ctx context.Context, p cluster.Annotation, obj cluster.Object) error {
	have, exists := obj.GetAnnotations()[p.Key]
	if p.OldValue != "" && have != p.OldValue {
		return nil
	}
	size := annotationsSize(obj) - len(have) + len(p.Value)
	if !exists {
		size += len(p.Key)
	}
	if p.Value != "" && size > maxAnnotationBytes {
		c.writeEvent(ctx, p.TooLarge)
		p.Value = ""
	}
	if have == p.Value {
		return nil
	}
	value := any(p.Value)
	if p.Value == "" {
		value = nil // removes the annotation
	}
	return c.patchField(ctx, obj, cluster.MainPart, "annotation "+p.Key, p.Value, map[string]any{"metadata": map[string]any{
		"resourceVersion": obj.GetResourceVersion(), "annotations": map[string]any{p.Key: value},
	}})
}

// annotationsSize returns the bytes of all annotations of an object, as Kubernetes counts them.
func annotationsSize(obj cluster.Object) (n int) {
	for k, v := range obj.GetAnnotations() {
		n += len(k) + len(v)
	}
	return n
}
