package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
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
		r.Settle(10 * time.Minute)
		if got := attachedAddons(r); !strings.HasPrefix(got, "acl rig, ") {
			t.Errorf("the load balancer has %s", got)
		}
		r.editIngress("web", func(ing *networkingv1.Ingress) {
			ing.Spec.Rules[0].HTTP.Paths = ing.Spec.Rules[0].HTTP.Paths[:1]
			ing.Annotations[annotationPrefix+"wafv2-acl-name"] = "none"
		})
		r.Settle(10 * time.Minute)
		if got := attachedAddons(r); !strings.HasPrefix(got, "acl , ") {
			t.Errorf("after the edit the load balancer has %s", got)
		}
		if n := len(stateOfKinds(r, "target-group")); n != 2 {
			t.Errorf("%d target groups after the edit, want 2", n)
		}
		r.deleteObject(cluster.KindIngress, "shop", "web")
		r.deleteObject(cluster.KindService, "shop", "mail")
		r.Settle(20 * time.Minute)
		if d := cmp.Diff(empty, r.State()); d != "" {
			t.Errorf("left behind (-before +after):\n%s", d)
		}
		if w := warningsByObject(r); len(w) > 0 {
			t.Errorf("warnings: %q", w)
		}
	})
}

// unknownNewResources are calls that AWS may refuse for some seconds, because it does not know a resource that was just
// created, with the codes of the errors.
var unknownNewResources = map[string][]string{
	"CreateLoadBalancer":           {"InvalidSecurityGroup", "InvalidGroup.NotFound"},
	"CreateListener":               {"LoadBalancerNotFound", "TargetGroupNotFound"},
	"CreateRule":                   {"ListenerNotFound", "TargetGroupNotFound"},
	"ModifyLoadBalancerAttributes": {"LoadBalancerNotFound"},
	"ModifyTargetGroupAttributes":  {"TargetGroupNotFound"},
	"ModifyListenerAttributes":     {"ListenerNotFound"},
	"AddListenerCertificates":      {"ListenerNotFound"},
	"AssociateWebACL":              {"WAFNonexistentItemException", "WAFUnavailableEntityException"},
}

// refuseFor makes AWS refuse an operation with an error code, from its next call on for a duration.
func refuseFor(r *Harness, operation, code string, d time.Duration) {
	var first time.Time
	r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if c.Operation != operation {
			return fault.Action{}
		}
		if first.IsZero() {
			first = c.Time
		}
		if c.Time.Sub(first) > d {
			return fault.Action{}
		}
		return fault.Action{Error: &store.Error{Code: code, Status: 400, Message: "no"}}
	})
}

// TestNewResourcesAreAwaited checks that a new Ingress and a new Service are served soon and without warnings if AWS does
// not know a new resource for eight seconds.
func TestNewResourcesAreAwaited(t *testing.T) {
	t.Parallel()
	serve := func(r *Harness) {
		settings := ingressAnnotations("wafv2-acl-name", "rig", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"]+","+r.Seeded.Certs["app.test"],
			"load-balancer-attributes", "idle_timeout.timeout_seconds=90", "target-group-attributes", "slow_start.duration_seconds=40", "listener-attributes.HTTP-80", "routing.http.response.server.enabled=false")
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("mail", podAddresses[3:]...), webIngress(settings, "/=web"), nlbService("mail", ipTargets, "{port: 25, targetPort: 8080}"))
		r.Settle(time.Minute)
	}
	var want []string
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		serve(r)
		want = append(r.State(), attachedAddons(r))
	})
	for operation, codes := range unknownNewResources {
		for _, code := range codes {
			t.Run(operation+"/"+code, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					refuseFor(r, operation, code, 8*time.Second)
					serve(r)
					if r.Emulator.Calls().Count(operation) == 0 {
						t.Error("the operation is not called")
					}
					if d := cmp.Diff(want, append(r.State(), attachedAddons(r))); d != "" {
						t.Errorf("after a minute (-want +got):\n%s", d)
					}
					if w := warningsByObject(r); len(w) > 0 {
						t.Errorf("warnings: %q", w)
					}
				})
			})
		}
	}
}
