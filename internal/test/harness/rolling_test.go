package harness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// startFleet returns a harness with Ingress "shop/web", and the fleet of its three pods, whose targets are healthy.
func startFleet(t *testing.T) (*Harness, *fleet) {
	t.Helper()
	r := New(t, Options{Emulator: slowChecks()})
	f := newFleet(t, r, 3)
	r.Apply(shop, webIngress("", "/=web"))
	healthy := func() bool {
		n := 0
		for _, state := range r.activeTargetHealth() {
			if state == "healthy" {
				n++
			}
		}
		return n == 3
	}
	if !f.runUntil(10*time.Minute, func() {}, healthy) {
		t.Fatalf("the targets do not become healthy: %v", r.activeTargetHealth())
	}
	return r, f
}

// gateOfBinding returns the condition type of the readiness gate for the only binding.
func gateOfBinding(t *testing.T, r *Harness) corev1.PodConditionType {
	t.Helper()
	all := r.Store.All(cluster.KindBinding)
	if len(all) != 1 {
		t.Fatalf("there are %d bindings", len(all))
	}
	return corev1.PodConditionType(targets.ReadinessGatePrefix + all[0].GetName())
}

// TestRollingUpdateAlwaysHasHealthyTarget checks that at least three targets are registered during a rolling update. If
// Kubernetes waits for the health of new pods, at least one of the targets has been healthy. At the end, only the new
// pods are registered.
func TestRollingUpdateAlwaysHasHealthyTarget(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		gated    bool
		minReady time.Duration
		// compared is true if Kubernetes waits until new pods are healthy in AWS, so that the health is checked.
		compared bool
	}{
		"readiness gates":                        {gated: true, compared: true},
		"pods that have to be ready for a while": {minReady: 20 * time.Second, compared: true},
		"pods that are trusted at once":          {},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, f := startFleet(t)
				if c.gated {
					f.gate = gateOfBinding(t, r)
				}
				f.version, f.minReady = 2, c.minReady
				w := r.watchTargets(3, c.compared)
				w.checkTargets("start")
				start := time.Now()
				early := map[string]bool{}
				each := func() {
					w.checkTargets("time")
					f.rollOneStep()
					for _, m := range f.remainingPods() {
						if m.gate != "" && !m.readySince.IsZero() && !w.everHealthy[m.ip] {
							early[m.name] = true
						}
					}
				}
				if !f.runUntil(20*time.Minute, each, f.isRolledOut) {
					t.Fatalf("the update does not end: %v", r.activeTargetHealth())
				}
				t.Logf("rolled in %s", time.Since(start))
				f.runUntil(2*time.Minute, each, func() bool { return false })
				for _, b := range w.violations {
					t.Error(b)
				}
				if len(early) > 0 {
					t.Errorf("pods that were ready before their targets were healthy: %v", early)
				}
				want := map[string]bool{}
				for _, m := range f.remainingPods() {
					want[m.ip] = true
				}
				for ip, state := range r.activeTargetHealth() {
					if !want[ip] || state != "healthy" {
						t.Errorf("at the end %s is %s", ip, state)
					}
				}
				if len(r.activeTargetHealth()) != 3 {
					t.Errorf("at the end there are %d targets", len(r.activeTargetHealth()))
				}
			})
		})
	}
}

// TestBlueGreenSwitchKeepsOldPodsUntilNewAreHealthy checks that old pods stay registered until the new pods are healthy
// if a Service switches to another Deployment in one step, as in a blue-green release.
func TestBlueGreenSwitchKeepsOldPodsUntilNewAreHealthy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := startFleet(t)
		w := r.watchTargets(3, true)
		w.checkTargets("start")
		old := f.pods
		f.version, f.pods = 2, nil
		for range f.size {
			f.createPod()
		}
		// The new pods already run before the switch. One write changes all endpoints of the EndpointSlice.
		for _, m := range f.pods {
			m.creationTime = time.Now().Add(-time.Minute)
		}
		each := func() { w.checkTargets("time") }
		f.runUntil(5*time.Minute, each, func() bool { return false })
		for _, b := range w.violations {
			t.Error(b)
		}
		for _, m := range old {
			if _, ok := r.activeTargetHealth()[m.ip]; ok {
				t.Errorf("old target %s is still there", m.ip)
			}
		}
	})
}

// TestReadinessGatesAreRemovedWithTheirIngress checks that the readiness gates of all pods are true after the Ingress
// is deleted.
func TestReadinessGatesAreRemovedWithTheirIngress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := startFleet(t)
		f.gate, f.version = gateOfBinding(t, r), 2
		if !f.runUntil(20*time.Minute, f.rollOneStep, f.isRolledOut) {
			t.Fatal("the update does not end")
		}
		// Another pod is starting when the Ingress is deleted.
		f.createPod()
		f.runUntil(5*time.Second, func() {}, func() bool { return false })
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
			t.Fatal(err)
		}
		gone := func() bool {
			return len(r.Store.All(cluster.KindBinding)) == 0 && len(r.Store.All(cluster.KindIngress)) == 0
		}
		if !f.runUntil(10*time.Minute, func() {}, gone) {
			t.Fatal("the Ingress is not deleted")
		}
		for _, m := range f.remainingPods() {
			c, _ := f.gateCondition(m)
			if got := fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message); got != "True  Target Group Binding is deleted" {
				t.Errorf("gate of %s: %s", m.name, got)
			}
		}
		if left := r.activeTargetHealth(); len(left) > 0 {
			t.Errorf("targets are left: %v", left)
		}
	})
}

// TestPodsStayReadyWhileTheirTargetGroupIsReplaced checks that ready pods stay ready if their target group is replaced
// during a rolling update. AWS reports no health for the old target group, because no rule uses it.
func TestPodsStayReadyWhileTheirTargetGroupIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := startFleet(t)
		f.gate, f.version = gateOfBinding(t, r), 2
		if !f.runUntil(20*time.Minute, f.rollOneStep, f.isRolledOut) {
			t.Fatal("the update does not end")
		}
		r.Apply(webIngress(", alb.ingress.kubernetes.io/backend-protocol: HTTPS", "/=web"))
		f.version = 3
		ready := map[string]bool{}
		bad := map[string]string{}
		each := func() {
			f.rollOneStep()
			for _, m := range f.remainingPods() {
				c, _ := f.gateCondition(m)
				if m.readySince.IsZero() && ready[m.name] {
					bad[m.name] = fmt.Sprintf("%s %s", c.Status, c.Reason)
				}
				ready[m.name] = ready[m.name] || !m.readySince.IsZero()
			}
		}
		if !f.runUntil(20*time.Minute, each, f.isRolledOut) {
			t.Fatal("the second update does not end")
		}
		f.runUntil(5*time.Minute, each, func() bool { return false })
		if len(bad) > 0 {
			t.Errorf("pods that are no longer ready: %v", bad)
		}
	})
}
