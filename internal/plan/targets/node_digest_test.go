package targets

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// TestDigestOfAChangedNodeListEqualsFullDigest adds and removes nodes at random, and compares the digests for several
// node ports with digests that are computed from all endpoints.
func TestDigestOfAChangedNodeListEqualsFullDigest(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 5))
		l, present := newNodeList("", nil), map[string]bool{}
		come := func(n int) (out []nodeTarget) {
			for range n {
				node := &corev1.Node{}
				node.Name = fmt.Sprintf("n%d", r.IntN(2000))
				if !present[node.Name] {
					present[node.Name] = true
					out = append(out, newNodeTarget("i-"+node.Name, node))
				}
			}
			return out
		}
		for step := range 60 {
			gone := map[string]bool{}
			for range r.IntN(3) {
				if l.Len() > 0 {
					_, n := l.At(r.IntN(l.Len()))
					gone[n.Name] = true
				}
			}
			some := 3
			if step%20 == 0 {
				some = 500
			}
			added := come(r.IntN(some + 1))
			for name := range gone {
				delete(present, name)
			}
			l = l.withChanges(gone, added)
			for port := range int32(4) {
				if r.IntN(3) == 0 {
					continue
				}
				var spec elbv2.TargetGroupBindingSpec
				want, err := Checkpoint(l.endpointsAt(30000+port), spec)
				if err != nil {
					t.Fatal(err)
				}
				got, err := Resolution{Nodes: l, NodePort: 30000 + port}.Checkpoint(spec)
				if err != nil || got != want {
					t.Fatalf("seed %d, step %d, port %d of %d nodes: got %s, %v; want %s", seed, step, port, l.Len(), got, err, want)
				}
			}
		}
	}
}
