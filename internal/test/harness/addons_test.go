package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// attachedAddons returns the web ACL and the Shield protections of the only ALB, or "no load balancer".
func attachedAddons(r *Harness) string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for arn, lb := range p.ELB.LoadBalancers {
		if !lb.IsALB() {
			continue
		}
		out := "acl " + strings.ReplaceAll(p.WAFv2.Associations[arn], r.Seeded.WebACL, "rig")
		for _, x := range w.Partition(Account, "us-east-1").Shield.Protections {
			if x.Resource == arn {
				out += ", " + x.Name
			}
		}
		return out
	}
	return "no load balancer"
}

func settleWithoutErrors(t *testing.T, r *Harness) {
	t.Helper()
	if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
		t.Fatalf("still failing: %v", failed)
	}
}

const annotationPrefix = "alb.ingress.kubernetes.io/"

func ingressAnnotations(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, `, %s%s: '%s'`, annotationPrefix, pairs[i], pairs[i+1])
	}
	return b.String()
}

func TestWebACLAndShieldProtectionFollowAnnotations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...))
		for _, act := range []struct{ annotations, want string }{
			{ingressAnnotations("wafv2-acl-name", "rig", "shield-advanced-protection", "true"), "acl rig, managed by aws-load-balancer-controller"},
			{"", "acl rig, managed by aws-load-balancer-controller"}, // without the annotations nothing changes
			{ingressAnnotations("wafv2-acl-name", "none", "shield-advanced-protection", "false"), "acl "},
			{ingressAnnotations("wafv2-acl-arn", r.Seeded.WebACL), "acl rig"},
		} {
			r.Apply(webIngress(act.annotations, "/=web"))
			settleWithoutErrors(t, r)
			if got := attachedAddons(r); got != act.want {
				t.Errorf("with %q want %q, got %q", act.annotations, act.want, got)
			}
		}
		r.Emulator.Calls().Reset()
		r.Start()
		settleWithoutErrors(t, r)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("a restart made %d mutating calls: %v", n, r.Emulator.Calls().Counts())
		}
	})
}

func TestNoCallsToUnconfiguredServices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		settleWithoutErrors(t, r)
		for op := range r.Emulator.Calls().Counts() {
			if strings.HasPrefix(op, "waf") || strings.HasPrefix(op, "shield") {
				t.Errorf("%s was called", op)
			}
		}
	})
}

// TestWAFFailureDoesNotStopTraffic checks that other changes of an existing load balancer are applied while WAF fails
// or denies calls. A new load balancer is not opened yet. When WAF answers again, the missing changes are
// applied.
func TestWAFFailureDoesNotStopTraffic(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]fault.Action{
		"denied": {Error: &store.Error{Code: "AccessDeniedException", Message: "no", Status: 400}},
		"broken": {Error: &store.Error{Code: "WAFInternalErrorException", Message: "no", Status: 500}},
	} {
		for _, live := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, live %t", name, live), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
					if live {
						r.Apply(webIngress("", "/=web"))
						settleWithoutErrors(t, r)
					}
					r.Emulator.Faults().Add(fault.Rule{Service: "waf*", Action: action})
					r.Apply(webIngress(ingressAnnotations("wafv2-acl-arn", r.Seeded.WebACL), "/=web", "/api=api"))
					r.Settle(10 * time.Minute)
					if got := hasRule(r.State(), "/api"); got != live {
						t.Errorf("served: %t", got)
					}
					if !live && len(statusHostnames(r, "web")) > 0 {
						t.Errorf("the status shows a load balancer without its web ACL: %v", statusHostnames(r, "web"))
					}
					if len(warningsByObject(r)["web"]) == 0 {
						t.Error("no warning")
					}
					r.Emulator.Faults().Reset()
					settleWithoutErrors(t, r)
					if got := attachedAddons(r); got != "acl rig" || !hasRule(r.State(), "/api") {
						t.Errorf("after WAF answers again: %s", got)
					}
				})
			})
		}
	}
}

// statusHostnames returns the hostnames in the status of an Ingress in namespace "shop".
func statusHostnames(r *Harness, name string) (out []string) {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: name})
	if err != nil {
		r.T.Fatal(err)
	}
	for _, e := range obj.(*networkingv1.Ingress).Status.LoadBalancer.Ingress {
		out = append(out, e.Hostname)
	}
	return out
}

// TestLoadBalancerWithMissingWebACLARNIsNotOpened checks a web ACL ARN that does not exist: a new load balancer gets
// no listener, even after a restart, and an existing load balancer keeps its web ACL.
func TestLoadBalancerWithMissingWebACLARNIsNotOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		missing := strings.Replace(r.Seeded.WebACL, "/rig/", "/missing/", 1)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("wafv2-acl-arn", missing), "/=web"))
		r.Settle(10 * time.Minute)
		r.Start()
		r.Settle(10 * time.Minute)
		if state := r.State(); hasRule(state, "/*") || len(statusHostnames(r, "web")) > 0 || len(linesWith(state, "listener ")) > 0 {
			t.Errorf("the load balancer serves without its web ACL: %v", state)
		}
		if w := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(w, "WebACLNotFound: wafv2-acl-arn: AWS refuses \""+missing+"\": no such web ACL exists in this region; the load balancer is not opened") {
			t.Errorf("warnings: %s", w)
		}
		r.Apply(webIngress(ingressAnnotations("wafv2-acl-arn", r.Seeded.WebACL), "/=web"))
		settleWithoutErrors(t, r)
		if got := attachedAddons(r); got != "acl rig" || !hasRule(r.State(), "/*") || len(statusHostnames(r, "web")) != 1 {
			t.Errorf("after the correction: %s, status %v", got, statusHostnames(r, "web"))
		}
		r.Apply(webIngress(ingressAnnotations("wafv2-acl-arn", missing), "/=web"))
		r.Settle(10 * time.Minute)
		if got := attachedAddons(r); got != "acl rig" || !hasRule(r.State(), "/*") {
			t.Errorf("a live load balancer loses its web ACL: %s", got)
		}
	})
}

func TestLoadBalancerWithMissingWebACLNameIsNotCreated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("wafv2-acl-name", "missing"), "/=web"))
		r.Settle(10 * time.Minute)
		if got := attachedAddons(r); got != "no load balancer" {
			t.Errorf("want none, got one with %s", got)
		}
		if w := strings.Join(warningsByObject(r)["web"], ""); !strings.Contains(w, "WebACLNotFound") {
			t.Errorf("warnings: %s", w)
		}
		r.Apply(webIngress(ingressAnnotations("wafv2-acl-name", "rig"), "/=web"))
		settleWithoutErrors(t, r)
		r.Apply(webIngress(ingressAnnotations("wafv2-acl-name", "missing"), "/=web"))
		r.Settle(10 * time.Minute)
		if got := attachedAddons(r); got != "acl rig" {
			t.Errorf("a live load balancer loses its web ACL: %s", got)
		}
	})
}

func TestMissingShieldSubscriptionDoesNotStopLoadBalancer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		w := r.Emulator.Store()
		w.Lock()
		w.Partition(Account, "us-east-1").Shield.Subscribed = time.Time{}
		w.Unlock()
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(ingressAnnotations("shield-advanced-protection", "true"), "/=web"))
		settleWithoutErrors(t, r)
		if got := attachedAddons(r); got != "acl " {
			t.Errorf("got %s", got)
		}
		if w := strings.Join(warningsByObject(r)["web"], ""); !strings.Contains(w, "ServiceUnavailable") {
			t.Errorf("warnings: %s", w)
		}
	})
}

func TestTrustStoresAreFoundByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		client := elb.NewFromConfig(AWSConfig(r.Emulator))
		verify := func(store string) string {
			return ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"],
				"mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"`+store+`"}]`)
		}
		for _, name := range []string{"two,names", "clients"} { // AWS accepts no comma in a name
			r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress(verify(name), "/=web"))
			r.Settle(2 * time.Minute)
			if got := attachedAddons(r); got != "no load balancer" {
				t.Errorf("the load balancer exists without its trust store: %s", got)
			}
			if w := strings.Join(warningsByObject(r)["web"], ""); !strings.Contains(w, `TrustStoreNotFound: alb.ingress.kubernetes.io/mutual-authentication: no trust store is named "`+name+`"`) {
				t.Errorf("trust store %q: warnings: %s", name, w)
			}
		}
		out, err := client.CreateTrustStore(t.Context(), &elb.CreateTrustStoreInput{
			Name: aws.String("clients"), CaCertificatesBundleS3Bucket: aws.String("bucket"), CaCertificatesBundleS3Key: aws.String("ca.pem"),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := *out.TrustStores[0].TrustStoreArn
		store := func() string {
			w := r.Emulator.Store()
			w.Lock()
			defer w.Unlock()
			for _, l := range w.Partition(Account, Region).ELB.Listeners {
				if l.Mutual != nil && l.Mutual.TrustStoreArn != nil {
					return *l.Mutual.TrustStoreArn
				}
			}
			return ""
		}
		// No event reports that a trust store was created, so the controller reads it again after some time.
		settleWithoutErrors(t, r)
		if got := store(); got != want {
			t.Fatalf("want trust store %s, got %q", want, got)
		}
		r.Apply(webIngress(verify("elsewhere"), "/=web"))
		r.Settle(2 * time.Minute)
		if got := store(); got != want {
			t.Errorf("an unknown name changes the trust store to %q", got)
		}
		r.Apply(webIngress(verify("clients"), "/=web"))
		settleWithoutErrors(t, r)
		r.Emulator.Calls().Reset()
		r.Start()
		settleWithoutErrors(t, r)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("a restart made %d mutating calls: %v", n, r.Emulator.Calls().Counts())
		}
	})
}

func TestTooLargeRuleHoldsOnlyItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]),
			webIngress(ingressAnnotations("conditions.api", `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8","11.0.0.0/8","12.0.0.0/8","13.0.0.0/8"]}}]`), "/=web", "/api=api"))
		settleWithoutErrors(t, r)
		state := strings.Join(r.State(), "\n")
		if !hasRule(r.State(), "/*") || !strings.Contains(state, `"/api"`) || !strings.Contains(state, "503") {
			t.Errorf("want the rule for /, and a 503 for the rule that is too large:\n%s", state)
		}
		if w := strings.Join(warningsByObject(r)["web"], ""); !strings.Contains(w, "RuleTooLarge") {
			t.Errorf("warnings: %s", w)
		}
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
			t.Fatal(err)
		}
		settleWithoutErrors(t, r)
	})
}

// TestAddOnsOfGatewaysFollowTheConfiguration checks the annotations that record which add-ons a Gateway has: an add-on that
// leaves the configuration is switched off and recorded, even if AWS denies the calls for a while. An add-on that another
// client has switched on stays.
func TestAddOnsOfGatewaysFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newGatewayHarness(t, Options{})
		configure := func(spec string) {
			r.Apply("apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: c, namespace: shop}\nspec: {" + spec + "}\n")
		}
		state := func() string {
			a := edgeGatewayObject(r).Annotations
			return fmt.Sprintf("%s, %d units, records %q %q %q", attachedAddons(r), reservedCapacity(r),
				a["gateway.k8s.aws.addon.wafv2"], a["gateway.k8s.aws.addon.shield"], a["gateway.k8s.aws.addon.provisionedcapacity"])
		}
		check := func(when, want string) {
			t.Helper()
			r.Settle(30 * time.Minute)
			if got := state(); got != want {
				t.Errorf("%s:\n%s, want\n%s", when, got, want)
			}
		}
		all := "wafV2: {webACL: '" + r.Seeded.WebACL + "'}, shieldConfiguration: {enabled: true}, minimumLoadBalancerCapacity: {capacityUnits: 500}"
		configure(all)
		r.Apply(strings.Replace(edgeGatewayOfClass(albClass, "{name: l, port: 80, protocol: HTTP}", edgeRoute("HTTPRoute", "")), "  listeners:",
			"  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: c}}\n  listeners:", 1), readyPods("web", podAddresses[:2]...))
		const on = `acl rig, managed by aws-load-balancer-controller, 500 units, records "true" "true" "true"`
		check("configured", on)
		for _, of := range []fault.Rule{{Service: "waf*"}, {Service: "shield"}, {Operation: "*CapacityReservation"}} {
			of.Action = fault.Action{Error: &store.Error{Code: "AccessDeniedException", Message: "denied", Status: 400}}
			r.Emulator.Faults().Add(of)
		}
		configure("")
		check("denied", on)
		r.Emulator.Faults().Reset()
		check("removed", `acl , 0 units, records "false" "false" "false"`)
		w := r.Emulator.Store()
		w.Lock()
		for arn, lb := range w.Partition(Account, Region).ELB.LoadBalancers {
			w.Partition(Account, Region).WAFv2.Associations[arn], lb.Capacity.Units = r.Seeded.WebACL, 100
		}
		w.Unlock()
		r.Start()
		check("switched on by another client", `acl rig, 100 units, records "false" "false" "false"`)
	})
}
