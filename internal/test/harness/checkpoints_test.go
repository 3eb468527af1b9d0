package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// shopWithCheckpoints returns a harness with checkpoints, an Ingress and its load balancer.
func shopWithCheckpoints(t *testing.T) *Harness {
	t.Helper()
	r := New(t, Options{Checkpoints: true})
	if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], podAddresses[0]); err != nil {
		t.Fatal(err)
	}
	r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
	r.runFor(time.Minute)
	return r
}

func checkpointsOf(r *Harness) map[string][]byte {
	for _, o := range r.Store.All(cluster.KindSecret) {
		if m, ok := o.(*corev1.Secret); ok && m.Name == kube.CheckpointsName {
			return m.Data
		}
	}
	return nil
}

// TestStartReconcilesChangedObjectsFirst checks that changes that were made while no controller ran cause calls in the
// first minute after a start, and that unchanged objects cause none.
func TestStartReconcilesChangedObjectsFirst(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		meanwhile func(r *Harness)
		calls     bool
	}{
		"nothing": {func(*Harness) {}, false},
		"an annotation": {func(r *Harness) {
			r.Apply(webIngress(", alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=77", "/=web"))
		}, true},
		"a Service that the Ingress names": {func(r *Harness) {
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "web"}); err != nil {
				t.Error(err)
			}
		}, true},
		"a deletion": {func(r *Harness) {
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
				t.Error(err)
			}
		}, true},
		"a binding that a user deletes": {func(r *Harness) {
			for _, o := range r.Store.All(cluster.KindBinding) {
				o = o.DeepCopyObject().(cluster.Object)
				o.SetFinalizers(nil)
				if _, err := r.Store.Update(o, cluster.MainPart); err != nil {
					t.Error(err)
				}
				if err := r.Store.DeleteObject(o); err != nil {
					t.Error(err)
				}
			}
		}, true},
		"the checkpoints": {func(r *Harness) {
			for _, o := range r.Store.All(cluster.KindSecret) {
				if err := r.Store.DeleteObject(o); err != nil {
					t.Error(err)
				}
			}
		}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWithCheckpoints(t)
				r.process.saveCheckpoints()
				r.Kill()
				c.meanwhile(r)
				r.Emulator.Calls().Reset()
				r.Start()
				r.runFor(50 * time.Second)
				if total := r.Emulator.Calls().Total(); total > 0 != c.calls {
					t.Errorf("%d calls in the first minute", total)
				}
			})
		})
	}
}

// TestCheckpointsDoNotChangeTheResult checks that the final state is the same with and without checkpoints if
// processes are killed between edits.
func TestCheckpointsDoNotChangeTheResult(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, checkpoints bool) (state []string) {
		synctest.Test(t, func(t *testing.T) {
			r := New(t, Options{Checkpoints: checkpoints})
			if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], podAddresses[0]); err != nil {
				t.Fatal(err)
			}
			r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
			for i := range 6 {
				r.runFor(time.Duration(i*17) * time.Second)
				if i%2 == 0 {
					r.Kill()
				}
				r.Apply(webIngress("", []string{"/=web", "/a=web", "/b=web"}[i%3]))
				r.Start()
			}
			r.runFor(time.Hour)
			state = r.State()
		})
		return state
	}
	if diff := cmp.Diff(run(t, false), run(t, true)); diff != "" {
		t.Error(diff)
	}
}

func TestCheckpointsAreHashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWithCheckpoints(t)
		r.process.saveCheckpoints()
		text := string(checkpointsOf(r)["v1"])
		if len(text) == 0 || len(text) > 60 {
			t.Errorf("stored: %q", text)
		}
	})
}
