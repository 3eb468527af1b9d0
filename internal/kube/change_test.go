package kube

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

func TestChangesOfABindingAreWrittenOnce(t *testing.T) {
	key := bindings.Key{Namespace: "shop", Name: "b"}
	c, m := newTestCluster(t, &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b",
		Annotations: map[string]string{"other": "x"}}})
	generation := int64(1)
	ready := []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Registered"}}
	for range 2 {
		for _, w := range []bindings.Write{
			bindings.AddFinalizer{Binding: key},
			bindings.SetCheckpoint{Binding: key, Value: "hash", Time: 1700000000},
			bindings.SetStatus{Binding: key, ObservedGeneration: &generation, Conditions: ready},
			bindings.SetStatus{Binding: key, Conditions: ready},
			bindings.SetCheckpoint{Binding: bindings.Key{Namespace: "shop", Name: "gone"}},
			bindings.SetStatus{Binding: bindings.Key{Namespace: "shop", Name: "gone"}, ObservedGeneration: &generation},
			bindings.RemoveFinalizer{Binding: bindings.Key{Namespace: "shop", Name: "gone"}},
		} {
			if err := c.Change(context.Background(), w); err != nil {
				t.Fatalf("%T: %v", w, err)
			}
		}
	}
	got := getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, "b")
	want := map[string]string{"other": "x", "elbv2.k8s.aws/checkpoint": "hash", "elbv2.k8s.aws/checkpoint-timestamp": "1700000000"}
	if d := cmp.Diff(want, got.Annotations); d != "" {
		t.Error(d)
	}
	if got.ResourceVersion != "4" || *got.Status.ObservedGeneration != 1 || len(got.Status.Conditions) != 1 || got.Finalizers[0] != "elbv2.k8s.aws/resources" {
		t.Errorf("%+v", got)
	}
	if err := c.Change(context.Background(), bindings.AddFinalizer{Binding: bindings.Key{Namespace: "shop", Name: "gone"}}); err == nil {
		t.Error("claimed what does not exist")
	}
}

func TestSpecIsCompletedOnlyInTheSameVersion(t *testing.T) {
	key := bindings.Key{Namespace: "shop", Name: "b"}
	c, m := newTestCluster(t, &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"},
		Spec: elbv2.TargetGroupBindingSpec{TargetGroupName: "web"}})
	typ := elbv2.TargetTypeIP
	spec := elbv2.TargetGroupBindingSpec{TargetGroupARN: "arn", TargetType: &typ, VpcID: "vpc-1"}
	seen := getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, "b").ResourceVersion
	specAfter := func(version string) elbv2.TargetGroupBindingSpec {
		if err := c.Change(t.Context(), bindings.CompleteSpec{Binding: key, Version: version, Spec: spec}); err != nil {
			t.Fatal(err)
		}
		return getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, "b").Spec
	}
	if diff := cmp.Diff(elbv2.TargetGroupBindingSpec{TargetGroupName: "web"}, specAfter("another")); diff != "" {
		t.Errorf("the spec of another version is written: %s", diff)
	}
	want := spec
	want.TargetGroupName = "web"
	if diff := cmp.Diff(want, specAfter(seen)); diff != "" {
		t.Error(diff)
	}
}

func TestPodConditionIsSetOnlyOnThePodWithTheUID(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", UID: "u1"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True"}}
	c, m := newTestCluster(t, pod)
	set := func(status, message string) *corev1.Pod {
		t.Helper()
		if err := c.Change(context.Background(), bindings.SetPodCondition{Namespace: "shop", Name: "p", UID: "u1", Type: "gate", Status: status, Message: message}); err != nil {
			t.Fatal(err)
		}
		return getObject[*corev1.Pod](t, m, cluster.KindPod, "p")
	}
	first := set("False", "a")
	if len(first.Status.Conditions) != 2 {
		t.Fatalf("%+v", first.Status)
	}
	if again := set("False", "a"); again.ResourceVersion != first.ResourceVersion {
		t.Error("a write without a change")
	}
	if next := set("False", "b"); next.Status.Conditions[0].Message != "b" {
		t.Errorf("%+v", next.Status)
	}
	if err := c.Change(context.Background(), bindings.SetPodCondition{Namespace: "shop", Name: "p", UID: "other", Type: "gate", Status: "True"}); err != nil {
		t.Fatal(err)
	}
	if got := getObject[*corev1.Pod](t, m, cluster.KindPod, "p"); got.Status.Conditions[0].Status != "False" {
		t.Error("the condition was set on another pod")
	}
}
