package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/config/iam"
	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// runLifecycleWithPolicies creates and changes an accelerator and removes its endpoints. The controller has the
// shipped policies for load balancers and the given policies.
func runLifecycleWithPolicies(t *testing.T, policies ...[]byte) *Harness {
	t.Helper()
	shipped, err := iam.PolicyForPartition("aws")
	if err != nil {
		t.Fatal(err)
	}
	r := newAcceleratorHarness(t, Options{Drift: true, Policies: append([][]byte{shipped, iam.OptionalPolicy}, policies...)})
	for _, doc := range acceleratorEdits {
		r.Apply(doc)
		r.Settle(20 * time.Minute)
	}
	r.Apply(edgeAccelerator(strings.Replace(webListener, "{type: Ingress, name: web}", "", 1)))
	r.Settle(20 * time.Minute)
	r.Apply(edgeAccelerator(webListener))
	r.Settle(20 * time.Minute)
	r.Apply(edgeAccelerator(strings.Replace(webListener, "{type: Ingress, name: web}", "", 1)))
	r.Settle(20 * time.Minute)
	r.Start()
	r.Settle(20 * time.Minute)
	return r
}

// TestMissingAcceleratorPermissionIsReported checks that, if the accelerator policy lacks a permission, an event names
// that permission. With all permissions no call is denied.
func TestMissingAcceleratorPermissionIsReported(t *testing.T) {
	t.Parallel()
	t.Run("with all", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := runLifecycleWithPolicies(t, iam.AcceleratorsPolicy)
			r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
			r.Settle(time.Hour)
			for denied := range r.Emulator.Denials() {
				t.Errorf("denied: %s", denied)
			}
			if acceleratorObject(r, "shop", "edge") != nil {
				t.Error("the object is still there")
			}
		})
	})
	for _, s := range rights.AcceleratorStatements {
		for _, a := range seeds.Spread(2, s.Actions) {
			t.Run(s.Sid+" "+a.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := runLifecycleWithPolicies(t, rights.AcceleratorPolicy(s.Sid, a.Name))
					r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
					r.Settle(time.Hour)
					texts := strings.Join(eventsOf(r, "shop", "edge"), "\n")
					if !strings.Contains(texts, a.Name) {
						t.Errorf("no event names %s:\n%s", a.Name, texts)
					}
				})
			})
		}
	}
}
