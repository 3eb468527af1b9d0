package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestBindingWithoutCheckpointIsCompared checks that a TargetGroupBinding is compared with AWS within a minute after a
// user removes its checkpoint annotation.
func TestBindingWithoutCheckpointIsCompared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSettledShop(t, Options{})
		clean := r.fullState()
		drifts["target deregistered"](newExternalActor(t, r))
		drifts["rule of the nodes' security group revoked"](newExternalActor(t, r))
		for _, o := range r.Store.All(cluster.KindBinding) {
			o = o.DeepCopyObject().(cluster.Object)
			all := o.GetAnnotations()
			delete(all, targets.CheckpointAnnotation)
			o.SetAnnotations(all)
			if _, err := r.Store.Update(o, cluster.MainPart); err != nil {
				t.Fatal(err)
			}
		}
		r.advanceTime(time.Minute)
		if diff := cmp.Diff(clean, r.fullState()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
