package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestStacksIgnoreBindingCheckpoints checks that a change of the checkpoint of a binding does not enqueue the stack that
// has read the binding. Each other change of the binding enqueues the stack.
func TestStacksIgnoreBindingCheckpoints(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	triggers := StackTriggers(kube.New(store, kube.MemoryAPI{Store: store}, clock.RealClock{}), nil, nil)
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	v := cluster.NewView(store)
	v.Subscribe(cluster.KindBinding, "shop", "b")
	triggers.RecordReads(id, v)
	old := &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}}
	for name, tt := range map[string]struct {
		change func(b *elbv2.TargetGroupBinding)
		want   int
	}{
		"the checkpoint": {func(b *elbv2.TargetGroupBinding) {
			b.Annotations = map[string]string{targets.CheckpointAnnotation: "x", targets.CheckpointTimeAnnotation: "1"}
		}, 0},
		"another annotation": {func(b *elbv2.TargetGroupBinding) { b.Annotations = map[string]string{"x": "y"} }, 1},
		"the status":         {func(b *elbv2.TargetGroupBinding) { b.Status.ObservedGeneration = new(int64) }, 1},
		"the spec":           {func(b *elbv2.TargetGroupBinding) { b.Spec.VpcID = "vpc-2" }, 1},
	} {
		b := old.DeepCopy()
		tt.change(b)
		if got, err := triggers.AffectedItems(old, b); err != nil || len(got) != tt.want {
			t.Errorf("%s has changed: %v, %v", name, got, err)
		}
	}
	if got, err := triggers.AffectedItems(old, nil); err != nil || len(got) != 1 {
		t.Errorf("the binding is gone: %v, %v", got, err)
	}
}
