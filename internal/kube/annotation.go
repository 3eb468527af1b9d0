package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// maxAnnotationBytes is the maximum total size of the annotations of an object after the controller has added an annotation.
// The rest of the size that Kubernetes permits is left for other clients. For example, kubectl apply stores the whole
// manifest in an annotation, and fails if the annotation is too large.
const maxAnnotationBytes = validation.TotalAnnotationSizeLimitB - 32<<10

// annotate sets an annotation, unless the cached object already has this value. It first reads the object from the API
// server, because the cache omits the annotation of kubectl apply and may not have received the last write.
func (c *Cluster) annotate(ctx context.Context, p cluster.Annotation) error {
	cached, err := c.source.Get(p.Ref)
	if err != nil || cached == nil || cached.GetAnnotations()[p.Key] == p.Value {
		return err
	}
	for n := 1; ; n++ {
		obj, err := c.readFromAPIServer(ctx, p.Ref)
		if err == nil && obj.GetUID() == cached.GetUID() {
			err = c.annotateLive(ctx, p, obj)
		}
		if !apierrors.IsConflict(err) || n == maxWriteAttempts {
			return ignoreNotFound(err)
		}
	}
}

// annotateLive sets an annotation of obj, which was just read from the API server. If the annotations would become too
// large, it does not set the annotation, but removes it and writes an event. The write fails with a conflict if the object
// has changed in the meantime.
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
	return c.patchField(ctx, obj, cluster.MainPart, fieldKey{name: "annotation " + p.Key}, p.Value, map[string]any{"metadata": map[string]any{
		"resourceVersion": obj.GetResourceVersion(), "annotations": map[string]any{p.Key: value},
	}})
}

// annotationsSize returns the total size of the annotations of an object in bytes, as Kubernetes counts it.
func annotationsSize(obj cluster.Object) (n int) {
	for k, v := range obj.GetAnnotations() {
		n += len(k) + len(v)
	}
	return n
}
