package controller

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// syncedMemory is a syncedSource whose cache is always complete.
type syncedMemory struct{ *cluster.Memory }

// Synced implements syncedSource.
func (syncedMemory) Synced() bool { return true }

// BenchmarkObjectCounts scrapes the metrics of clusters with different numbers of TargetGroupBindings.
func BenchmarkObjectCounts(b *testing.B) {
	for _, n := range []int{500, 5000} {
		b.Run(fmt.Sprintf("%d bindings", n), func(b *testing.B) {
			m, err := cluster.NewMemory(nil)
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				err := m.Put(&elbv2.TargetGroupBinding{
					ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint(i), Labels: map[string]string{"ingress.k8s.aws/stack": "g"}},
					Spec:       elbv2.TargetGroupBindingSpec{TargetGroupARN: fmt.Sprintf("arn:aws:x:1:targetgroup/t/%d", i)},
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			r := prometheus.NewRegistry()
			if err := r.Register(objectCounts{syncedMemory{m}}); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := r.Gather(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
