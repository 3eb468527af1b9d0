package reference

import (
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// bindings creates, updates and deletes the TargetGroupBindings of a deployment.
type bindings struct{ *deployment }

// checkpointAnnotations are the annotations that the TargetGroupBinding controller writes. updateBinding ignores them.
var checkpointAnnotations = []string{"elbv2.k8s.aws/checkpoint", "elbv2.k8s.aws/checkpoint-timestamp"}

type bindingSpec struct {
	Template struct {
		Metadata struct{ Name, Namespace string }
		Spec     elbv2.TargetGroupBindingSpec
	}
}

// synthesize creates and updates TargetGroupBindings, and adds the deletion of surplus ones to finalDeletions. It matches
// TargetGroupBindings with the labels of the stack by the ARN of their target group, not by name.
func (d bindings) synthesize() error {
	labels := naming.StackLabels(d.stack)
	have := map[string]*elbv2.TargetGroupBinding{}
	for _, obj := range d.Objects.All(cluster.KindBinding) {
		if b, ok := obj.(*elbv2.TargetGroupBinding); ok && naming.HasAllTags(b.Labels, labels) {
			have[b.Spec.TargetGroupARN] = b
		}
	}
	for _, id := range d.desiredIDs(document.TypeTargetGroupBinding) {
		var want bindingSpec
		if err := d.decodeSpec(document.TypeTargetGroupBinding, id, &want); err != nil {
			return err
		}
		spec := want.Template.Spec
		if b := have[spec.TargetGroupARN]; b != nil {
			delete(have, spec.TargetGroupARN)
			if err := d.updateBinding(b, spec, labels); err != nil {
				return fmt.Errorf("binding %s: %w", b.Name, err)
			}
			continue
		}
		made := &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: want.Template.Metadata.Namespace, Name: want.Template.Metadata.Name, Labels: labels}, Spec: spec}
		d.announceChange("CreateTargetGroupBinding", made.Name)
		if _, err := d.Objects.Create(made); err != nil {
			return fmt.Errorf("binding %s: %w", made.Name, err)
		}
	}
	d.RunBindings()
	d.finalDeletions = append(d.finalDeletions, func() error {
		for _, b := range have {
			ref := cluster.RefOf(b)
			d.announceChange("DeleteTargetGroupBinding", b.Name)
			if err := d.Objects.Delete(ref); err != nil {
				return err
			}
			d.RunBindings()
			if obj, err := d.Objects.Get(ref); err != nil || obj != nil {
				return errors.Join(err, fmt.Errorf("binding %s is not deleted", b.Name))
			}
		}
		return nil
	})
	return nil
}

// updateBinding replaces spec, labels and annotations of a TargetGroupBinding if they differ from the desired ones. Labels
// and annotations that others added are lost.
func (d bindings) updateBinding(b *elbv2.TargetGroupBinding, want elbv2.TargetGroupBindingSpec, labels map[string]string) error {
	annotations := maps.Clone(b.Annotations)
	for _, k := range checkpointAnnotations {
		delete(annotations, k)
	}
	if equality.Semantic.DeepEqual(b.Spec, want) && maps.Equal(b.Labels, labels) && len(annotations) == 0 {
		return nil
	}
	d.announceChange("UpdateTargetGroupBinding", b.Name)
	next := b.DeepCopy()
	next.Spec, next.Labels, next.Annotations = want, labels, nil
	_, err := d.Objects.Update(next, cluster.MainPart)
	return err
}
