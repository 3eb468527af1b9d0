package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// TestStaleCacheDoesNotCountAsUndoneWrite reads objects from a cache that does not have the last write yet. It checks that
// such a write is neither repeated nor regarded as reverted by another client. If another client really reverts the writes,
// later writes must be delayed.
func TestStaleCacheDoesNotCountAsUndoneWrite(t *testing.T) {
	t.Parallel()
	binding := &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Annotations: map[string]string{targets.CheckpointAnnotation: "before"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "2"}}
	key, seven := bindings.Key{Namespace: "shop", Name: "web"}, int64(7)
	for name, write := range map[string]func(n int) bindings.Write{
		"checkpoint": func(n int) bindings.Write {
			return bindings.SetCheckpoint{Binding: key, Value: "after", Time: int64(n)}
		},
		"condition of a pod": func(int) bindings.Write {
			return bindings.SetPodCondition{Namespace: "shop", Name: "web", UID: "2", Type: "gate", Status: "True", Reason: "Healthy"}
		},
		"status": func(n int) bindings.Write {
			return bindings.SetStatus{Binding: key, ObservedGeneration: &seven, Conditions: []metav1.Condition{{
				Type: "Ready", Status: metav1.ConditionTrue, Reason: "Reconciled", LastTransitionTime: metav1.Unix(int64(n), 0),
			}}}
		},
	} {
		for _, undoneWrites := range []bool{false, true} {
			_, behind := newTestCluster(t, binding.DeepCopy(), pod.DeepCopy())
			_, live := newTestCluster(t, binding.DeepCopy(), pod.DeepCopy())
			now := time.Unix(1700000000, 0)
			c := New(behind, MemoryAPI{live}, testclock.FromVariable(&now))
			delayed := 0
			for n := range 20 {
				now = now.Add(100 * time.Millisecond)
				if err := c.Change(context.Background(), write(n)); errors.As(err, new(undoneError)) {
					delayed++
				} else if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if undoneWrites {
					if err := live.Put(binding.DeepCopy(), pod.DeepCopy()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if fought := delayed > 10; fought != undoneWrites || !undoneWrites && delayed > 0 {
				t.Errorf("%s, undone %t: %d of 20 writes were delayed", name, undoneWrites, delayed)
			}
			for k, f := range c.undoneWrites.byObject {
				if !undoneWrites && f.repeats.Repetitions > 0 {
					t.Errorf("%s: %d writes of %s count as repeated", name, f.repeats.Repetitions, k.ref)
				}
			}
		}
	}
}
