package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// editStatus changes a status that other clients write as well. It sends a patch that fails if another client has changed
// the object since it was read, and makes at most maxWriteAttempts attempts. The first attempt uses the cached object, which
// is usually up to date. Later attempts read the object from the API server. A missing object is not an error. subject is
// the stack for which the status is edited, or empty.
func (c *Cluster) editStatus(ctx context.Context, p cluster.StatusEdit, subject string) error {
	obj, err := c.source.Get(p.Ref)
	if err != nil || obj == nil {
		return err
	}
	uid := obj.GetUID()
	for n := 1; ; n++ {
		fields := p.Edit(obj, metav1.NewTime(c.clock.Now()).Rfc3339Copy())
		if fields == nil {
			return nil
		}
		content, err := comparableFields(fields)
		if err != nil {
			return err
		}
		err = c.patchField(ctx, obj, cluster.StatusPart, fieldKey{"status", subject}, content, map[string]any{
			"metadata": map[string]any{"resourceVersion": obj.GetResourceVersion()}, "status": fields,
		})
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || n == maxWriteAttempts {
			return fmt.Errorf("update status of %s: %w", p.Ref, err)
		}
		if obj, err = c.readFromAPIServer(ctx, p.Ref); err != nil {
			return ignoreNotFound(err)
		}
		if obj.GetUID() != uid {
			return nil // another object now has the name, and its event triggers a run
		}
	}
}
