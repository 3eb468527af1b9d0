package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// editStatus changes a status that other clients write as well, by a patch that fails if another client wrote meanwhile. The
// first attempt uses the cached object, which is usually up to date; later attempts read the object from the API server.
func (c *Cluster) editStatus(ctx context.Context, p cluster.StatusEdit) error {
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
		data, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": obj.GetResourceVersion()}, "status": fields,
		})
		if err != nil {
			return err
		}
		content, err := comparableFields(fields)
		if err != nil {
			return err
		}
		err = c.write(ctx, obj, "status", content, func() error { return c.api.Patch(ctx, obj, cluster.Status, types.MergePatchType, data) })
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || n == maxAttempts {
			return fmt.Errorf("update status of %s: %w", p.Ref, err)
		}
		typ, ok := cluster.TypeOf(p.Ref.Kind)
		if !ok {
			return err
		}
		live := typ.New()
		live.SetNamespace(p.Ref.Namespace)
		live.SetName(p.Ref.Name)
		if err := c.api.Read(ctx, live); err != nil {
			return ignoreNotFound(err)
		}
		if live.GetUID() != uid {
			return nil // another object has the name now, and its event triggers a run
		}
		obj = live
	}
}
