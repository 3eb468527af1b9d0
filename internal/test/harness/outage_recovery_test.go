package harness

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// editForFiveMinutes creates, edits and deletes Ingresses, and replaces pods, within five minutes.
func editForFiveMinutes(r *Harness) {
	named := func(name, path string) string {
		return strings.Replace(webIngress("", path), "name: web\n", "name: "+name+"\n", 1)
	}
	r.Apply(named("created", "/created=web"))
	r.advanceTime(time.Minute)
	r.Apply(webIngress("", "/=web", "/edited=api"))
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "deleted"}); err != nil {
		r.T.Fatal(err)
	}
	r.advanceTime(time.Minute)
	r.Apply(readyPods("web", podAddresses[1:4]...), readyPods("api", podAddresses[4:6]...))
	r.advanceTime(3 * time.Minute)
}

// newOutageTest returns a harness with workers and drift detection, and with Ingresses "web" and "deleted" that are
// served.
func newOutageTest(t *testing.T) *Harness {
	r := shopWith(t, Options{Workers: 3, Checkpoints: true, Drift: true})
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:5]...), webIngress("", "/=web"),
		strings.Replace(webIngress("", "/deleted=api"), "name: web\n", "name: deleted\n", 1))
	r.advanceTime(10 * time.Minute)
	return r
}

// TestEditsDuringAnOutageTakeEffectAfterIt checks that all edits during an outage of AWS of five minutes take effect
// within 30 minutes after it, and that no drift is reported.
func TestEditsDuringAnOutageTakeEffectAfterIt(t *testing.T) {
	t.Parallel()
	var want []string
	synctest.Test(t, func(t *testing.T) {
		r := newOutageTest(t)
		editForFiveMinutes(r)
		r.advanceTime(20 * time.Minute)
		want = r.State()
	})
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newOutageTest(t)
				var out atomic.Bool
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action {
					if out.Load() {
						return outage
					}
					return fault.Action{}
				})
				out.Store(true)
				editForFiveMinutes(r)
				if cmp.Equal(want, r.State()) {
					t.Fatal("the edits took effect during the outage")
				}
				out.Store(false)
				end := time.Now()
				for !cmp.Equal(want, r.State()) && time.Since(end) < 30*time.Minute {
					r.advanceTime(time.Second)
				}
				if diff := cmp.Diff(want, r.State()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				t.Logf("BENCH AWS does not answer for 5 minutes (%s): all edits have taken effect %s after the end", name, time.Since(end))
				if reported := driftEvents(r, "DriftRepaired"); len(reported) > 0 {
					t.Errorf("drift reported without a change outside the controller: %q", reported)
				}
			})
		})
	}
}
