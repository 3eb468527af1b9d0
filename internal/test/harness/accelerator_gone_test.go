package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	accelerators "github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// TestConsentCanBeWithdrawnFromOrphanedAccelerator checks that withdrawing consent removes an endpoint even if the
// deletion of its accelerator is held or the accelerator is an orphan.
func TestConsentCanBeWithdrawnFromOrphanedAccelerator(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*Harness){
		"deletion is held": func(r *Harness) {
			r.deleteObject(cluster.KindGlobalAccelerator, "edge", "front")
			r.Settle(time.Second)
		},
		"without finalizer": func(r *Harness) {
			obj := acceleratorObject(r, "edge", "front").DeepCopyObject().(cluster.Object)
			obj.SetFinalizers(nil)
			if err := r.Store.Put(obj); err != nil {
				t.Fatal(err)
			}
			r.deleteObject(cluster.KindGlobalAccelerator, "edge", "front")
			r.Settle(time.Minute)
			if got := r.Orphans(); len(got) != 1 {
				t.Errorf("orphans %v", got)
			}
		},
		"with a finalizer of another": func(r *Harness) {
			r.deleteObject(cluster.KindGlobalAccelerator, "edge", "front")
			obj := acceleratorObject(r, "edge", "front").DeepCopyObject().(cluster.Object)
			obj.SetFinalizers([]string{"other.example/finalizer"})
			if err := r.Store.Put(obj); err != nil {
				t.Fatal(err)
			}
			r.Settle(time.Minute)
			if got := r.Orphans(); len(got) != 1 {
				t.Errorf("orphans %v", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				doc := accelerator("edge", "front", listenerTo(`{type: Ingress, namespace: shop, name: web}`))
				r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"), doc)
				r.Settle(10 * time.Minute)
				obj := acceleratorObject(r, "edge", "front").DeepCopyObject().(cluster.Object)
				obj.SetAnnotations(map[string]string{"fulcrum.dev/accelerator-protection": "true"})
				if err := r.Store.Put(obj); err != nil {
					t.Fatal(err)
				}
				r.Settle(time.Minute)
				leave(r)
				if got := acceleratorEndpoints(r); len(got) != 1 {
					t.Fatalf("%d endpoints with consent", len(got))
				}
				r.deleteObject(cluster.KindReferenceGrant, "shop", "edge")
				r.Settle(time.Second)
				if got := acceleratorEndpoints(r); len(got) > 0 {
					t.Errorf("an endpoint after consent was withdrawn: %v", got)
				}
				if n := len(acceleratorsInAWS(r)); n != 1 || !acceleratorsInAWS(r)[0].Enabled || len(acceleratorsInAWS(r)[0].Listeners) != 1 {
					t.Errorf("%d accelerators: %v", n, acceleratorState(r))
				}
			})
		})
	}
}

// TestAcceleratorsStayWhenTheirCRDIsDeleted checks that the deletion of the GlobalAccelerator CRD, which deletes all
// objects at once, does not delete accelerators until an operator allows mass removal.
func TestAcceleratorsStayWhenTheirCRDIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		allowed := false
		r := newAcceleratorHarness(t, Options{Accelerator: func(o *accelerators.Options) { o.AllowMassRemoval = allowed }})
		r.Apply(edgeAccelerator(webListener), accelerator("shop", "second", listenerTo("{type: Ingress, name: web}")))
		r.Settle(10 * time.Minute)
		before := acceleratorState(r)
		r.Emulator.Calls().Reset()
		if err := r.Store.SetDefinition(cluster.KindGlobalAccelerator, cluster.Definition{MissingOrDeleting: true}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r.Settle(time.Hour)
			if calls := acceleratorMutations(r); len(calls) > 0 {
				t.Errorf("calls that change something: %v", calls)
			}
			if d := cmp.Diff(before, acceleratorState(r)); d != "" {
				t.Error(d)
			}
			r.Start()
		}
		if got := strings.Join(eventsOf(r, "shop", "edge"), "\n"); !strings.Contains(got, "RemovalNotTrusted") || !strings.Contains(got, "--allow-mass-removal") {
			t.Errorf("events: %s", got)
		}
		allowed = true
		r.Start()
		r.Settle(30 * time.Minute)
		if left := acceleratorState(r); len(left) > 0 {
			t.Errorf("accelerators left after the deletion: %v", left)
		}
		if all := r.Store.All(cluster.KindGlobalAccelerator); len(all) > 0 {
			t.Errorf("%d objects are still there", len(all))
		}
	})
}

// TestAcceleratorsStayWhenAllObjectsDisappear checks that accelerators are kept when all objects disappear without a
// deletion, for example because the cluster is restored. When the objects return after a restart, they use the same
// accelerators.
func TestAcceleratorsStayWhenAllObjectsDisappear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		docs := []string{edgeAccelerator(webListener), accelerator("shop", "second", listenerTo("{type: Ingress, name: web}"))}
		r.Apply(docs...)
		r.Settle(10 * time.Minute)
		before := acceleratorState(r)
		for _, o := range r.Store.All(cluster.KindGlobalAccelerator) {
			gone := o.DeepCopyObject().(cluster.Object)
			gone.SetFinalizers(nil)
			if err := r.Store.Put(gone); err != nil {
				t.Fatal(err)
			}
			r.deleteObject(cluster.KindGlobalAccelerator, o.GetNamespace(), o.GetName())
		}
		r.Emulator.Calls().Reset()
		r.Settle(time.Hour)
		r.Start()
		r.Settle(time.Hour)
		r.Apply(docs...)
		r.Settle(time.Hour)
		if calls := acceleratorMutations(r); len(calls) > 0 {
			t.Errorf("calls that change something: %v", calls)
		}
		if d := cmp.Diff(before, acceleratorState(r)); d != "" {
			t.Error(d)
		}
	})
}

// TestListenersStayWhenTheCRDDropsTheField checks that listeners are kept while an old version of the CRD without the
// field spec.listeners hides them. Once the API server serves the field again, listeners that a user removes are
// deleted.
func TestListenersStayWhenTheCRDDropsTheField(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		before := acceleratorState(r)
		r.Emulator.Calls().Reset()
		if err := r.Store.SetDefinition(cluster.KindGlobalAccelerator, cluster.Definition{SpecFields: []string{"name", "tags"}}); err != nil {
			t.Fatal(err)
		}
		r.Apply(accelerator("shop", "edge", ""))
		r.Settle(time.Hour)
		r.Start()
		r.Settle(time.Hour)
		if calls := acceleratorMutations(r); len(calls) > 0 {
			t.Errorf("calls that change something: %v", calls)
		}
		if got := strings.Join(eventsOf(r, "shop", "edge"), "\n"); !strings.Contains(got, "has no field spec.listeners") {
			t.Errorf("events: %s", got)
		}
		if err := r.Store.SetDefinition(cluster.KindGlobalAccelerator, cluster.Definition{SpecFields: []string{"listeners", "name", "tags"}}); err != nil {
			t.Fatal(err)
		}
		r.Apply(edgeAccelerator(webListener))
		r.Settle(time.Hour)
		if d := cmp.Diff(before, acceleratorState(r)); d != "" {
			t.Error(d)
		}
		r.Apply(accelerator("shop", "edge", ""))
		r.Settle(time.Hour)
		if left := acceleratorState(r); len(left) != 1 {
			t.Errorf("listeners that no object requests: %v", left)
		}
	})
}

// sourceWithoutGateways is a source that does not read Gateways if off is true.
type sourceWithoutGateways struct {
	cluster.Source
	off *bool
}

func (s sourceWithoutGateways) Installed(kind cluster.Kind) bool {
	return kind != cluster.KindGateway || !*s.off
}

func (s sourceWithoutGateways) Get(ref cluster.Ref) (cluster.Object, error) {
	if !s.Installed(ref.Kind) {
		return nil, nil
	}
	return s.Source.Get(ref)
}

// TestEndpointStaysWhileGatewaysAreNotServed checks that the load balancer of a Gateway stays an endpoint while the API
// server does not serve Gateways, and that no event says that the Gateway does not exist.
func TestEndpointStaysWhileGatewaysAreNotServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		off := false
		r := newAdoptionHarness(t, Options{Accelerators: true, Source: func(s cluster.Source) cluster.Source { return sourceWithoutGateways{s, &off} }})
		r.Apply(gatewayOf("shop", "edge", ""), adoptingRoutes)
		r.Settle(20 * time.Minute)
		r.Apply(accelerator("shop", "front", listenerTo(`{type: Gateway, name: edge}`)))
		r.Settle(20 * time.Minute)
		if got := acceleratorEndpoints(r.Harness); len(got) != 1 {
			t.Fatalf("endpoints %v", got)
		}
		off = true
		r.Start()
		r.Settle(time.Hour)
		if got := acceleratorEndpoints(r.Harness); len(got) != 1 {
			t.Errorf("endpoints %v", got)
		}
		if got := strings.Join(eventsOf(r.Harness, "shop", "front"), "\n"); !strings.Contains(got, "Gateway \"shop/edge\" cannot be read") || strings.Contains(got, "does not exist") {
			t.Errorf("events: %s", got)
		}
	})
}
