package serving

import (
	"testing"
)

const workerPath = "/api/v1/namespaces/kube-system/configmaps/quic-server-id-worker-tracker"

// constantRandom is a random source that always returns the same number.
type constantRandom int

// IntN implements webhook.Random.
func (a constantRandom) IntN(int) int { return int(a) }

func TestWorkerNumbersAreClaimedOnce(t *testing.T) {
	a := newFakeAPIServer(t)
	maps := a.coreClient().ConfigMaps(WorkerNamespace)
	claim := func() uint32 {
		t.Helper()
		n, err := WorkerNumbers{maps, constantRandom(131070)}.Claim(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := claim(); n != 131070 {
		t.Errorf("the first is %d, not the random one", n)
	}
	if n := claim(); n != 0 {
		t.Errorf("after the last comes %d", n)
	}
	// Another process claims a number between the read and the write of this claim.
	var other uint32
	a.beforeWrite = func() { other = claim() }
	if n := claim(); n == other || n != 2 {
		t.Errorf("claimed %d after another claimed %d", n, other)
	}
	for _, text := range []string{"x", "-1", "131072"} {
		a.put(workerPath, map[string]any{"metadata": map[string]any{"name": "quic-server-id-worker-tracker"}, "data": map[string]any{"nextWorkerId": text}})
		if _, err := (WorkerNumbers{maps, constantRandom(0)}).Claim(t.Context()); err == nil {
			t.Errorf("%q, which is no worker number, is ignored", text)
		}
	}
}
