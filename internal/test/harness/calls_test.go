package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// applyManyIngresses applies n Ingresses of one namespace. Each has a separate load balancer and two Services. Only
// the calls for the Ingresses are counted.
func applyManyIngresses(t *testing.T, r *Harness, n int) {
	t.Helper()
	r.Apply(shop)
	for i := range n {
		web, api := fmt.Sprintf("web%d", i), fmt.Sprintf("api%d", i)
		addresses := []string{fmt.Sprintf("10.0.133.%d", i+1), fmt.Sprintf("10.0.134.%d", i+1)}
		if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], addresses...); err != nil {
			t.Fatal(err)
		}
		for j, s := range []string{web, api} {
			r.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: shop, uid: uid-%[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080}]}
`, s), readyPods(s, addresses[j]))
		}
	}
	r.Emulator.Calls().Reset()
	for i := range n {
		doc := webIngress("", fmt.Sprintf("/=web%d", i), fmt.Sprintf("/api=api%d", i))
		r.Apply(strings.Replace(doc, "name: web\n", fmt.Sprintf("name: ing%d\n", i), 1))
	}
}

// logCalls logs the number of calls by operation. per is the number by which the total is divided.
func logCalls(t *testing.T, r *Harness, what string, per int) {
	t.Helper()
	counts := r.Emulator.Calls().Counts()
	t.Logf("%s: %d AWS calls, %d of them mutating; %.1f calls for each of %d", what,
		r.Emulator.Calls().Total(), r.Emulator.Calls().CountMutating(), float64(r.Emulator.Calls().Total())/float64(per), per)
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("  %4d %s", counts[op], op)
	}
}

// TestCalls checks that the number of AWS calls stays within its budget: 14 for each new Ingress, none for a pass
// without changes, and no mutating call after a restart. The counts are exact and do not depend on the machine.
func TestCalls(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 50} {
		t.Run(fmt.Sprintf("%d Ingresses", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := New(t, Options{})
				applyManyIngresses(t, r, n)
				if failed := r.Settle(10 * time.Minute); len(failed) > 0 {
					t.Fatal(failed)
				}
				logCalls(t, r, "creation", n)
				t.Logf("BENCH %d Ingresses created together: %.1f calls for each, goal 14 at fifty, of which 10 change something (36)", n, float64(r.Emulator.Calls().Total())/float64(n))
				if total := r.Emulator.Calls().Total(); n > 1 && total > 14*n {
					t.Errorf("the creation of %d Ingresses takes %d calls, the budget is 14 for each", n, total)
				}
				r.Emulator.Calls().Reset()
				r.process.enqueueExistingObjects()
				r.Settle(time.Minute)
				logCalls(t, r, "a pass without change", n)
				t.Logf("BENCH a pass over %d without change: %d calls, goal 0 (15 or more for each)", n, r.Emulator.Calls().Total())
				if total := r.Emulator.Calls().Total(); total > 0 {
					t.Errorf("a pass without change takes %d calls, the budget is none", total)
				}
				r.Emulator.Calls().Reset()
				r.Start()
				r.Settle(time.Minute)
				logCalls(t, r, "the first minute after a restart", n)
				if m := r.Emulator.Calls().CountMutating(); m > 0 {
					t.Errorf("a restart makes %d mutating calls", m)
				}
			})
		})
	}
}
