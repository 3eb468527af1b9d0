package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// maxWriteAttempts is the maximum number of attempts to read and write an object while other clients change it.
const maxWriteAttempts = 5

// editFinalizers reads an object from the API server and sets its finalizers to the result of edit. The patch fails if
// another client has changed the object since it was read. After maxWriteAttempts such failures, editFinalizers returns the
// conflict error. change identifies the change for the detection of repeated writes.
func (c *Cluster) editFinalizers(ctx context.Context, ref cluster.Ref, change string, edit func(obj cluster.Object) ([]string, error)) error {
	for n := 1; ; n++ {
		obj, err := c.readFromAPIServer(ctx, ref)
		if err != nil {
			return err
		}
		want, err := edit(obj)
		if err != nil || slices.Equal(want, obj.GetFinalizers()) {
			return err
		}
		err = c.patchField(ctx, obj, cluster.MainPart, fieldKey{name: "metadata.finalizers"}, change, map[string]any{"metadata": map[string]any{
			"resourceVersion": obj.GetResourceVersion(), "finalizers": want,
		}})
		if err == nil || !apierrors.IsConflict(err) || n == maxWriteAttempts {
			return err
		}
	}
}

// setFinalizer adds a finalizer to an object, unless the object is being deleted. If p.Remove is set, it removes the
// finalizer and adds none. A missing object is not an error.
func (c *Cluster) setFinalizer(ctx context.Context, p cluster.Finalizer) error {
	err := c.editFinalizers(ctx, p.Ref, fmt.Sprint(p.Name, p.Remove), func(obj cluster.Object) ([]string, error) {
		have := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return p.Remove && f == p.Name })
		if p.Remove || obj.GetDeletionTimestamp() != nil || slices.Contains(have, p.Name) {
			return have, nil
		}
		return append(have, p.Name), nil
	})
	if err := ignoreNotFound(err); err != nil {
		return fmt.Errorf("update finalizers of %s: %w", p.Ref, err)
	}
	return nil
}

// claimFinalizer adds the finalizer of a stack to an object. It returns a conflict if the object is being deleted.
func (c *Cluster) claimFinalizer(ctx context.Context, action plan.ClaimFinalizer) error {
	ref := action.Ref
	root := cluster.IsRootKind(ref.Kind)
	if root {
		c.Members.BeginClaim(ref, action.Finalizer)
	}
	err := c.editFinalizers(ctx, ref, fmt.Sprint(action.Finalizer, false), func(obj cluster.Object) ([]string, error) {
		have := obj.GetFinalizers()
		if slices.Contains(have, action.Finalizer) {
			return have, nil
		}
		if obj.GetDeletionTimestamp() != nil {
			return nil, apierrors.NewConflict(schema.GroupResource{Resource: ref.Kind}, ref.Name,
				fmt.Errorf("the object is being deleted"))
		}
		return append(slices.Clone(have), action.Finalizer), nil
	})
	if root {
		c.Members.EndClaim(ref, action.Finalizer, err == nil)
		if err == nil && c.Store != nil {
			c.Store.Persist(ctx)
		}
	}
	return err
}

// releaseFinalizer removes the finalizer of a stack from an object. If the action requests it, the load balancer of the
// stack is first removed from the status of the object.
func (c *Cluster) releaseFinalizer(ctx context.Context, action plan.ReleaseFinalizer) error {
	ref := action.Ref
	if action.ClearStatus {
		if err := c.clearStatus(ctx, ref, action.Finalizer); err != nil {
			return engine.StatusError{Err: err}
		}
	}
	c.Members.BeginRelease(ref, action.Finalizer)
	err := ignoreNotFound(c.editFinalizers(ctx, ref, fmt.Sprint(action.Finalizer, true), func(obj cluster.Object) ([]string, error) {
		return slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return f == action.Finalizer }), nil
	}))
	c.Members.EndRelease(ref, action.Finalizer, err == nil)
	return err
}

// clearStatus removes the load balancer of the stack with the given finalizer from the status of an object.
func (c *Cluster) clearStatus(ctx context.Context, ref cluster.Ref, finalizer string) error {
	if !cluster.IsRootKind(ref.Kind) {
		return nil
	}
	obj, err := c.readFromAPIServer(ctx, ref)
	if err != nil {
		return ignoreNotFound(err)
	}
	fields := cluster.ClearedStatus(obj, finalizer)
	if fields == nil {
		return nil
	}
	return c.patchStatus(ctx, obj, fields)
}

// writeStatus sets fields of the status of an object, unless the cached object already has them. A missing object is not an
// error.
func (c *Cluster) writeStatus(ctx context.Context, p cluster.ObjectStatus) error {
	obj, err := c.source.Get(p.Ref)
	if err != nil || obj == nil {
		return err
	}
	same, err := hasFields(cluster.StatusOf(obj), p.Fields)
	if err != nil || same {
		return err
	}
	if err := c.patchStatus(ctx, obj, p.Fields); err != nil {
		return fmt.Errorf("update status of %s %s/%s: %w", strings.ToLower(p.Ref.Kind), p.Ref.Namespace, p.Ref.Name, err)
	}
	return nil
}

// hasFields reports whether a status already has the given fields.
func hasFields(status, fields any) (bool, error) {
	have, err := json.Marshal(status)
	if err != nil {
		return false, err
	}
	want, err := json.Marshal(fields)
	if err != nil {
		return false, err
	}
	next, err := jsonpatch.MergePatch(have, want)
	return err == nil && jsonpatch.Equal(have, next), err
}

// patchStatus sets fields of the status of an object. A missing object is not an error.
func (c *fieldWriter) patchStatus(ctx context.Context, obj cluster.Object, fields any) error {
	data, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		return err
	}
	content, err := comparableFields(fields)
	if err != nil {
		return err
	}
	written := func(live cluster.Object) (bool, error) {
		status, err := comparableFields(cluster.StatusOf(live))
		if err != nil {
			return false, err
		}
		return hasFields(status, content)
	}
	return c.writeFieldWithoutVersion(ctx, obj, "status", content, written, func() error {
		return ignoreNotFound(c.api.Patch(ctx, obj, cluster.StatusPart, types.MergePatchType, data))
	})
}

// putBinding creates or updates a TargetGroupBinding. The ID of the result is "namespace/name".
func (c *bindingWriter) putBinding(ctx context.Context, action plan.PutBinding, known plan.KnownIDs) (plan.StepResult, error) {
	want, err := desiredBinding(action, known)
	if err != nil {
		return plan.StepResult{}, err
	}
	res := plan.StepResult{ID: want.Namespace + "/" + want.Name}
	if action.Existing == nil {
		err := c.writeField(ctx, want, fieldKey{name: "the object"}, want.Spec, func() error { return c.api.Create(ctx, want.DeepCopy()) })
		if !apierrors.IsAlreadyExists(err) {
			return res, err
		}
	}
	for n := 1; ; n++ {
		err := c.updateBinding(ctx, want, action)
		if err == nil || !apierrors.IsConflict(err) || n == maxWriteAttempts {
			return res, err
		}
	}
}

// updateBinding updates the existing TargetGroupBinding with the name of want. It returns errNameTaken if that
// TargetGroupBinding is being deleted or is for another target group. In both cases the existing TargetGroupBinding must
// first be deleted completely, because its targets are deregistered before its finalizer is removed.
func (c *bindingWriter) updateBinding(ctx context.Context, want *elbv2.TargetGroupBinding, action plan.PutBinding) error {
	live := &elbv2.TargetGroupBinding{}
	live.Namespace, live.Name = want.Namespace, want.Name
	if err := c.api.Read(ctx, live); err != nil {
		return err
	}
	if live.DeletionTimestamp != nil || live.Spec.TargetGroupARN != want.Spec.TargetGroupARN {
		return fmt.Errorf("targetGroupBinding %s/%s of target group %s: %w", live.Namespace, live.Name, live.Spec.TargetGroupARN, errNameTaken)
	}
	if action.RetainNetworking {
		want.Spec.Networking = live.Spec.Networking
	}
	next := live.DeepCopy()
	changed := mergeBinding(next, want, equality.Semantic.DeepEqual)
	for _, k := range action.LabelsToRemove {
		_, found := next.Labels[k]
		changed = changed || found
		delete(next.Labels, k)
	}
	if !changed {
		return nil
	}
	before, err := json.Marshal(live)
	if err != nil {
		return err
	}
	after, err := json.Marshal(next)
	if err != nil {
		return err
	}
	data, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return err
	}
	data, err = jsonpatch.MergeMergePatches(data, []byte(fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`, live.ResourceVersion)))
	if err != nil {
		return err
	}
	return c.writeField(ctx, live, fieldKey{name: "spec"}, []any{want.Spec, want.Labels, action.LabelsToRemove, want.Annotations}, func() error {
		return c.api.Patch(ctx, live, cluster.MainPart, types.MergePatchType, data)
	})
}
