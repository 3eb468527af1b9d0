package targets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestServingPodAtEqualsScan checks that ServingPodAt, which uses an index, has the same result as a scan of all pods of the
// namespace.
func TestServingPodAtEqualsScan(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	addresses := []string{"10.0.0.1", "10.0.0.2", "fd00::1"}
	for range 200 {
		store, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: []string{"a", "b"}[r.IntN(2)], Name: fmt.Sprintf("p%d", i)}}
			p.Spec.HostNetwork = r.IntN(3) == 0
			p.Status.PodIPs = []corev1.PodIP{{IP: addresses[r.IntN(3)]}}
			p.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodFailed}[r.IntN(3)]
			if r.IntN(3) > 0 {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			if err := store.Put(p); err != nil {
				t.Fatal(err)
			}
		}
		for _, ns := range []string{"a", "b"} {
			for _, ip := range addresses {
				v := cluster.NewView(store)
				got := ServingPodAt(v, ns, ip)
				var want *corev1.Pod
				for _, p := range cluster.List[*corev1.Pod](v, cluster.Query{Kind: cluster.KindPod, Namespace: ns}) {
					if isServing(p) && slices.Contains(cluster.PodAddresses(p), ip) {
						want = p
					}
				}
				if got != want || v.Err() != nil {
					t.Fatalf("address %s in namespace %s: got %v, want %v, error %v", ip, ns, got, want, v.Err())
				}
			}
		}
	}
}
