package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// unwatchedDrifts are the drifts that drift detection does not find. Only the comparison after a sync period reverts
// them.
var unwatchedDrifts = map[string]bool{"web ACL taken off": true}

// driftEvents returns "kind name: message" for each event with this reason.
func driftEvents(r *Harness, reason string) (out []string) {
	for _, o := range r.Store.All("Event") {
		if e := o.(*corev1.Event); e.Reason == reason {
			out = append(out, e.InvolvedObject.Kind+" "+e.InvolvedObject.Name+": "+e.Message)
		}
	}
	return out
}

// TestDriftIsFoundWithinAQuarterOfAnHour checks that drift is reverted and reported within a quarter of an hour.
func TestDriftIsFoundWithinAQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	for _, name := range seeds.SpreadKeys(2, drifts) {
		drift := drifts[name]
		if unwatchedDrifts[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSettledShop(t, Options{Drift: true, Workers: 3, Checkpoints: true})
				clean := r.fullState()
				r.advanceTime(40 * time.Minute)
				if diff := cmp.Diff(clean, r.fullState()); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
				if reported := append(driftEvents(r, "DriftRepaired"), driftEvents(r, "DriftFound")...); len(reported) > 0 {
					t.Fatalf("drift is reported without a change by another user: %q", reported)
				}
				drift(newExternalActor(t, r))
				r.advanceTime(15 * time.Minute)
				if isRecreated(r) {
					r.advanceTime(3 * time.Minute)
				}
				if diff := cmp.Diff(clean, r.fullState()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				reported := driftEvents(r, "DriftRepaired")
				t.Logf("%q", reported)
				if len(reported) == 0 {
					t.Error("nothing is reported")
				}
			})
		})
	}
}

// TestDriftReportModeChangesNothing checks that with --drift=report drift is reported but not reverted.
func TestDriftReportModeChangesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range seeds.SpreadKeys(2, drifts) {
		drift := drifts[name]
		if unwatchedDrifts[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSettledShop(t, Options{Drift: true, DriftMode: engine.ReportDrift, Workers: 3, Checkpoints: true})
				drift(newExternalActor(t, r))
				changed := r.fullState()
				r.Emulator.Calls().Reset()
				r.advanceTime(40 * time.Minute)
				if diff := cmp.Diff(changed, r.fullState()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d calls change something: %v", n, r.Emulator.Calls().Counts())
				}
				reported := driftEvents(r, "DriftFound")
				t.Logf("%q", reported)
				if len(reported) == 0 {
					t.Error("nothing is reported")
				}
			})
		})
	}
}

// TestEditRestoresReportedDrift checks that drift that was only reported is reverted by the next edits of the Ingress.
func TestEditRestoresReportedDrift(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"attribute of the load balancer changed", "rule deleted", "listener added", "tag of a target group changed"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSettledShop(t, Options{Drift: true, DriftMode: engine.ReportDrift, Workers: 3, Checkpoints: true})
				clean := r.fullState()
				drifts[name](newExternalActor(t, r))
				r.advanceTime(40 * time.Minute)
				r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api", "/v3=web"))
				r.advanceTime(5 * time.Minute)
				r.Apply(fullIngress(r, "/=web", "/api=api", "/v2=api"))
				r.advanceTime(5 * time.Minute)
				if diff := cmp.Diff(clean, r.fullState()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

// TestDriftOffRepairsOnlyAfterSyncPeriod checks that with --drift=off drift is reverted only after the sync period, and
// is never reported.
func TestDriftOffRepairsOnlyAfterSyncPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSettledShop(t, Options{DriftMode: engine.IgnoreDrift, Workers: 3, Checkpoints: true})
		newExternalActor(t, r).deleteRules(1)
		changed := r.fullState()
		r.Emulator.Calls().Reset()
		r.advanceTime(40 * time.Minute)
		if diff := cmp.Diff(changed, r.fullState()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if n := r.Emulator.Calls().Total(); n > 0 {
			t.Errorf("%d calls without a change", n)
		}
		r.advanceTime(10 * time.Hour)
		if cmp.Equal(changed, r.fullState()) {
			t.Error("the comparison after the sync period does not restore the rule")
		}
		if reported := strings.Join(append(driftEvents(r, "DriftFound"), driftEvents(r, "DriftRepaired")...), "\n"); reported != "" {
			t.Errorf("reported: %s", reported)
		}
	})
}
