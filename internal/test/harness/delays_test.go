package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// setDelaysOfAWS makes the emulated AWS as slow as AWS usually is: load balancers and targets take minutes, network
// interfaces and target groups stay in use for a while, and WAF knows a load balancer a minute after its creation.
func setDelaysOfAWS(r *Harness) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	w.Config.ELB.ProvisioningDelay, w.Config.ELB.RegistrationDelayNLB, w.Config.ELB.RegistrationDelayALB = 2*time.Minute, 90*time.Second, 10*time.Second
	w.Config.ELB.TargetGroupLinger, w.Config.Delays.InterfaceLinger = 20*time.Second, 100*time.Second
	w.Config.WAF.PropagationDelay, w.Config.WAF.ReadDelay = time.Minute, 15*time.Second
}

// TestDelaysOfAWSAreNoFailures checks that an Ingress and a Service are created, edited and deleted without warnings if AWS
// shows and applies changes as slowly as usual.
func TestDelaysOfAWSAreNoFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		setDelaysOfAWS(r)
		empty := r.State()
		addons := ingressAnnotations("wafv2-acl-name", "rig", "shield-advanced-protection", "true")
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), readyPods("mail", podAddresses[:3]...),
			webIngress(addons, "/=web", "/api=api"), nlbService("mail", ipTargets, "{port: 25, targetPort: 8080}"))
		t.Log(r.Settle(10 * time.Minute))
		if got := attachedAddons(r); !strings.HasPrefix(got, "acl rig, ") {
			t.Errorf("the load balancer has %s", got)
		}
		r.editIngress("web", func(ing *networkingv1.Ingress) {
			ing.Spec.Rules[0].HTTP.Paths = ing.Spec.Rules[0].HTTP.Paths[:1]
			ing.Annotations[annotationPrefix+"wafv2-acl-name"] = "none"
		})
		t.Log(r.Settle(10 * time.Minute))
		if got := attachedAddons(r); !strings.HasPrefix(got, "acl , ") {
			t.Errorf("after the edit the load balancer has %s", got)
		}
		if n := len(stateOfKinds(r, "target-group")); n != 2 {
			t.Errorf("%d target groups after the edit, want 2", n)
		}
		r.deleteObject(cluster.KindIngress, "shop", "web")
		r.deleteObject(cluster.KindService, "shop", "mail")
		t.Log(r.Settle(20 * time.Minute))
		if d := cmp.Diff(empty, r.State()); d != "" {
			t.Errorf("left behind (-before +after):\n%s", d)
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Errorf("warnings: %q", w)
		}
		codes := map[string]int{}
		for _, e := range r.Emulator.Calls().Entries() {
			if e.Code != "" {
				codes[e.Operation+" "+e.Code]++
			}
		}
		t.Log(codes)
	})
}
