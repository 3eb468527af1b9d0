package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Consent can be withdrawn from an accelerator whose deletion is held, and from one that no object asks for any more.
func TestConsentCountsWithoutAnObject(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*Harness){
		"deletion is held": func(r *Harness) {
			r.drop(cluster.KindGlobalAccelerator, "edge", "front")
			r.Settle(time.Second)
		},
		"without finalizer": func(r *Harness) {
			obj := acceleratorObject(r, "edge", "front").DeepCopyObject().(cluster.Object)
			obj.SetFinalizers(nil)
			if err := r.Store.Put(obj); err != nil {
				t.Fatal(err)
			}
			r.drop(cluster.KindGlobalAccelerator, "edge", "front")
			r.Settle(time.Minute)
			if got := r.Orphans(); len(got) != 1 {
				t.Errorf("orphans %v", got)
			}
		},
		"with a finalizer of another": func(r *Harness) {
			r.drop(cluster.KindGlobalAccelerator, "edge", "front")
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
				r := accelerated(t, Options{})
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
				if got := endpointsOf(r); len(got) != 1 {
					t.Fatalf("%d endpoints with consent", len(got))
				}
				r.drop(cluster.KindReferenceGrant, "shop", "edge")
				r.Settle(time.Second)
				if got := endpointsOf(r); len(got) > 0 {
					t.Errorf("an endpoint after consent was withdrawn: %v", got)
				}
				if n := len(live(r)); n != 1 || !live(r)[0].Enabled || len(live(r)[0].Listeners) != 1 {
					t.Errorf("%d accelerators: %v", n, acceleratorState(r))
				}
			})
		})
	}
}
