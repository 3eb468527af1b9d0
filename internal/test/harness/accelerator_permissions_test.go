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

// runLifecycleWithPolicies returns a harness with the given policies in which an accelerator was created, changed and emptied.
func runLifecycleWithPolicies(t *testing.T, policies ...[]byte) *Harness {
	t.Helper()
	shipped, err := iam.PolicyOf("aws")
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

// TestMissingAcceleratorPermissionIsReported checks that each permission of the table is needed: without it the
// lifecycle of an accelerator does not complete, or a finding names the permission. With all permissions no call is
// denied.
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
