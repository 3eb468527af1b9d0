package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

var _ bindings.Cluster = (*Cluster)(nil)

// Change implements bindings.Cluster.
func (c *Cluster) Change(ctx context.Context, w bindings.Write) error {
	switch w := w.(type) {
	case bindings.AddFinalizer:
		return c.claimFinalizer(ctx, plan.ClaimFinalizer{Ref: bindingRef(w.Binding), Finalizer: naming.BindingFinalizer})
	case bindings.RemoveFinalizer:
		return c.releaseFinalizer(ctx, plan.ReleaseFinalizer{Ref: bindingRef(w.Binding), Finalizer: naming.BindingFinalizer})
	case bindings.CompleteSpec:
		return c.bindings.completeSpec(ctx, w)
	case bindings.SetCheckpoint:
		return c.bindings.setCheckpoint(ctx, w)
	case bindings.SetStatus:
		return c.bindings.setStatus(ctx, w)
	case bindings.SetPodCondition:
		return c.bindings.setPodCondition(ctx, w)
	case bindings.SetOwnedTargets:
		return c.bindings.setOwnedTargets(ctx, w)
	case bindings.DropOwnedTargets:
		return c.bindings.deleteOwnedTargets(ctx, w)
	}
	return fmt.Errorf("cannot carry out a %T", w)
}

// bindingRef returns the reference to a TargetGroupBinding that findings and steps use.
func bindingRef(k bindings.Key) finding.Ref {
	return finding.Ref{Kind: cluster.KindBinding, Namespace: k.Namespace, Name: k.Name}
}

// bindingWriter changes TargetGroupBindings, the readiness conditions of their pods, and the ConfigMaps that record their
// targets.
type bindingWriter struct{ *fieldWriter }

// cachedBinding returns the binding from the cache; nil if it does not exist.
func (c *bindingWriter) cachedBinding(k bindings.Key) (*elbv2.TargetGroupBinding, error) {
	obj, err := c.source.Get(bindingRef(k))
	if err != nil || obj == nil {
		return nil, err
	}
	return obj.(*elbv2.TargetGroupBinding), nil
}

// completeSpec writes the completed fields of a spec if the binding still has the version from which they were computed. If
// the version differs, it writes nothing, because the event of the newer version starts another run.
func (c *bindingWriter) completeSpec(ctx context.Context, w bindings.CompleteSpec) error {
	b, err := c.cachedBinding(w.Binding)
	if err != nil || b == nil || b.ResourceVersion != w.Version {
		return err
	}
	s := w.Spec
	err = c.patchField(ctx, b, cluster.MainPart, fieldKey{name: "spec"}, s, map[string]any{
		"metadata": map[string]any{"resourceVersion": w.Version},
		"spec": map[string]any{
			"targetGroupARN": s.TargetGroupARN, "targetType": s.TargetType, "targetGroupProtocol": s.TargetGroupProtocol,
			"ipAddressType": s.IPAddressType, "vpcID": s.VpcID,
		},
	})
	if apierrors.IsConflict(err) {
		return nil
	}
	return ignoreNotFound(err)
}

// setCheckpoint sets the checkpoint annotations of a TargetGroupBinding.
func (c *bindingWriter) setCheckpoint(ctx context.Context, w bindings.SetCheckpoint) error {
	b, err := c.cachedBinding(w.Binding)
	if err != nil || b == nil {
		return err
	}
	want := map[string]string{targets.CheckpointAnnotation: w.Value, targets.CheckpointTimeAnnotation: strconv.FormatInt(w.Time, 10)}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": want}})
	if err != nil {
		return err
	}
	written := func(live cluster.Object) (bool, error) {
		return live.GetAnnotations()[targets.CheckpointAnnotation] == w.Value, nil
	}
	return c.writeFieldWithoutVersion(ctx, b, "annotation "+targets.CheckpointAnnotation, w.Value, written, func() error {
		return ignoreNotFound(c.api.Patch(ctx, b, cluster.MainPart, types.MergePatchType, data))
	})
}

// setStatus writes the fields of the status that differ from the cached binding.
func (c *bindingWriter) setStatus(ctx context.Context, w bindings.SetStatus) error {
	b, err := c.cachedBinding(w.Binding)
	if err != nil || b == nil {
		return err
	}
	status := map[string]any{}
	if g := w.ObservedGeneration; g != nil && (b.Status.ObservedGeneration == nil || *b.Status.ObservedGeneration != *g) {
		status["observedGeneration"] = *g
	}
	if !equality.Semantic.DeepEqual(w.Conditions, b.Status.Conditions) {
		status["conditions"] = w.Conditions
	}
	if len(status) == 0 {
		return nil
	}
	return c.patchStatus(ctx, b, status)
}

// patchField writes a field of an object by a merge patch (body). field and content identify the write, so that the
// controller can detect that other clients undo it.
func (c *fieldWriter) patchField(ctx context.Context, obj cluster.Object, part cluster.Part, field fieldKey, content any, body map[string]any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.writeField(ctx, obj, field, content, func() error { return c.api.Patch(ctx, obj, part, types.MergePatchType, data) })
}

// setPodCondition sets a readiness condition of the pod with the given UID. It does nothing if the pod does not exist or if
// another pod now has its name.
func (c *bindingWriter) setPodCondition(ctx context.Context, w bindings.SetPodCondition) error {
	obj, err := c.source.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: w.Namespace, Name: w.Name})
	if err != nil || obj == nil || obj.GetUID() != w.UID {
		return err
	}
	conditions := obj.(*corev1.Pod).Status.Conditions
	transition := metav1.NewTime(c.clock.Now())
	if i := slices.IndexFunc(conditions, func(p corev1.PodCondition) bool { return string(p.Type) == w.Type }); i >= 0 {
		have := conditions[i]
		if string(have.Status) == w.Status {
			if have.Reason == w.Reason && have.Message == w.Message {
				return nil
			}
			transition = have.LastTransitionTime
		}
	}
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": w.UID},
		"status": map[string]any{"conditions": []map[string]any{{
			"type": w.Type, "status": w.Status, "reason": w.Reason, "message": w.Message, "lastTransitionTime": transition,
		}}},
	})
	if err != nil {
		return err
	}
	written := func(live cluster.Object) (bool, error) {
		return slices.ContainsFunc(live.(*corev1.Pod).Status.Conditions, func(p corev1.PodCondition) bool {
			return string(p.Type) == w.Type && string(p.Status) == w.Status && p.Reason == w.Reason && p.Message == w.Message
		}), nil
	}
	err = c.writeFieldWithoutVersion(ctx, obj, "status.conditions["+w.Type+"]", []string{w.Status, w.Reason, w.Message}, written, func() error {
		return c.api.Patch(ctx, obj, cluster.StatusPart, types.StrategicMergePatchType, data)
	})
	if apierrors.IsConflict(err) {
		// If another pod now has the name, nothing has to be written. If it is the same pod, the caller has to repeat the
		// write.
		live, readErr := c.readFromAPIServer(ctx, cluster.RefOf(obj))
		if readErr != nil {
			return ignoreNotFound(readErr)
		}
		if live.GetUID() != w.UID {
			return nil
		}
		return err
	}
	return ignoreNotFound(err)
}
