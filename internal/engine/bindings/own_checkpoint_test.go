package bindings_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestOwnCheckpointsNeedNoRun checks that a checkpoint that the same process has just written requires no run, and that any
// other change of the binding requires one.
func TestOwnCheckpointsNeedNoRun(t *testing.T) {
	w := ipHarness(t)
	own := 0
	defer w.store.Watch(func(old, new cluster.Object) {
		if b, ok := new.(*elbv2.TargetGroupBinding); ok && old != nil && w.reconciler.IsOwnCheckpoint(old, b) {
			own++
		}
	})()
	w.putObjects(podDocs("web", p1))
	w.run("a")
	w.aws.setAllStates("arn/a", "healthy")
	w.run("a")
	if own == 0 {
		t.Error("no checkpoint was written")
	}
	for name, change := range map[string]func(b *elbv2.TargetGroupBinding){
		"another checkpoint": func(b *elbv2.TargetGroupBinding) { b.Annotations[targets.CheckpointAnnotation] = "x" },
		"no checkpoint":      func(b *elbv2.TargetGroupBinding) { delete(b.Annotations, targets.CheckpointAnnotation) },
		"another time":       func(b *elbv2.TargetGroupBinding) { b.Annotations[targets.CheckpointTimeAnnotation] = "1" },
		"an annotation":      func(b *elbv2.TargetGroupBinding) { b.Annotations["x"] = "y" },
		"a label":            func(b *elbv2.TargetGroupBinding) { b.Labels = map[string]string{"x": "y"} },
		"a finalizer":        func(b *elbv2.TargetGroupBinding) { b.Finalizers = nil },
		"the spec":           func(b *elbv2.TargetGroupBinding) { b.Spec.ServiceRef.Name = "other" },
		"the status":         func(b *elbv2.TargetGroupBinding) { b.Status.Conditions = nil },
		"the deletion":       func(b *elbv2.TargetGroupBinding) { b.DeletionTimestamp = &metav1.Time{Time: w.now} },
		"its identity":       func(b *elbv2.TargetGroupBinding) { b.UID = "other" },
	} {
		old := w.binding("a")
		new := old.DeepCopy()
		change(new)
		if w.reconciler.IsOwnCheckpoint(old, new) {
			t.Errorf("%s has changed, and no run is needed", name)
		}
	}
	same := w.binding("a")
	if w.reconciler.IsOwnCheckpoint(nil, same) || w.reconciler.IsOwnCheckpoint(same, nil) {
		t.Error("a binding that comes or goes needs no run")
	}
	w.now = w.now.Add(time.Second)
	w.restart()
	old := same.DeepCopy()
	old.Annotations[targets.CheckpointAnnotation] = ""
	if w.reconciler.IsOwnCheckpoint(old, same) {
		t.Error("a checkpoint of another process needs no run")
	}
}
