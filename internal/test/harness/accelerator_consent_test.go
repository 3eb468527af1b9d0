package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	accelerators "github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// TestConsentIsCheckedAfterARestart checks that an endpoint leaves the accelerator at once if consent is withdrawn while no
// process runs, or after a restart before the accelerator is compared with AWS.
func TestConsentIsCheckedAfterARestart(t *testing.T) {
	t.Parallel()
	for name, restartFirst := range map[string]bool{"withdrawn while no process runs": false, "withdrawn after the restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{Checkpoints: true})
				r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"), accelerator("edge", "front", listenerTo(fmt.Sprintf(`{type: EndpointID, endpointID: %q}`, albARN(r)))))
				r.Settle(20 * time.Minute)
				if got := acceleratorEndpoints(r); len(got) != 1 {
					t.Fatalf("%d endpoints with consent", len(got))
				}
				if restartFirst {
					r.Start()
					r.Settle(time.Second)
				}
				r.deleteObject(cluster.KindReferenceGrant, "shop", "edge")
				if !restartFirst {
					r.Start()
				}
				r.Settle(10 * time.Second)
				if got := acceleratorEndpoints(r); len(got) > 0 {
					t.Errorf("endpoints after consent was withdrawn: %v", got)
				}
			})
		})
	}
}

// TestEndpointLeavesWithTheMemberOfAnIngressGroup checks that a namespace loses its right to the load balancer of an
// IngressGroup as an endpoint when its last Ingress has left the IngressGroup.
func TestEndpointLeavesWithTheMemberOfAnIngressGroup(t *testing.T) {
	t.Parallel()
	leaves := map[string]func(*Harness){
		"it is deleted": func(r *Harness) { r.deleteObject(cluster.KindIngress, "edge", "web") },
		"it changes its group": func(r *Harness) {
			editIngressIn(r, "edge", "web", func(ing *networkingv1.Ingress) { ing.Annotations["alb.ingress.kubernetes.io/group.name"] = "own" })
		},
	}
	for name, leave := range leaves {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				r.Apply(edgeNamespace, edgeService, sharedMember("shop"), sharedMember("edge"))
				r.Settle(10 * time.Minute)
				r.Apply(accelerator("edge", "id", listenerTo(fmt.Sprintf(`{type: EndpointID, endpointID: %q}`, loadBalancerARNsByStack(r)["shared"]))))
				r.Settle(10 * time.Minute)
				if got := acceleratorEndpoints(r); len(got) != 1 {
					t.Fatalf("%d endpoints of a member", len(got))
				}
				leave(r)
				r.Settle(10 * time.Minute)
				if got := acceleratorEndpoints(r); len(got) > 0 {
					t.Errorf("endpoints after the member has left: %v", got)
				}
			})
		})
	}
}

// TestNamespaceThatJoinsIsAskedForConsent checks that in isolated tenancy a load balancer is no endpoint any more when a
// namespace without a ReferenceGrant joins its IngressGroup.
func TestNamespaceThatJoinsIsAskedForConsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{Accelerator: func(o *accelerators.Options) { o.IsolatedTenancy = true }})
		r.Apply(edgeNamespace, edgeService, sharedMember("shop"))
		r.Settle(10 * time.Minute)
		r.Apply(accelerator("shop", "front", listenerTo(`{type: Ingress, name: web}`)))
		r.Settle(10 * time.Minute)
		if got := acceleratorEndpoints(r); len(got) != 1 {
			t.Fatalf("%d endpoints of one namespace", len(got))
		}
		r.Apply(sharedMember("edge"))
		r.Settle(time.Minute)
		if got := acceleratorEndpoints(r); len(got) > 0 {
			t.Errorf("endpoints without the consent of the namespace that joined: %v", got)
		}
	})
}

// TestIngressWithoutTargetGroupIsAnEndpoint checks that an Ingress of an IngressGroup whose rules only redirect can be an
// endpoint, that it stays one after a restart, and that it is none any more when its namespace leaves the IngressGroup.
func TestIngressWithoutTargetGroupIsAnEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeNamespace, sharedMember("shop"), `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: old
  namespace: edge
  annotations:
    alb.ingress.kubernetes.io/group.name: shared
    alb.ingress.kubernetes.io/actions.to: '{"type":"redirect","redirectConfig":{"host":"shop.example","statusCode":"HTTP_301"}}'
spec: {ingressClassName: alb, rules: [{host: edge.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: to, port: {name: use-annotation}}}}]}}]}
`)
		r.Settle(10 * time.Minute)
		r.Apply(accelerator("edge", "front", listenerTo(`{type: Ingress, name: old}`)))
		r.Settle(10 * time.Minute)
		if got := acceleratorEndpoints(r); len(got) != 1 {
			t.Fatalf("endpoints %v, events %v", got, eventsOf(r, "edge", "front"))
		}
		r.Start()
		r.Settle(time.Hour)
		if got := acceleratorEndpoints(r); len(got) != 1 {
			t.Errorf("endpoints after a restart: %v", got)
		}
		editIngressIn(r, "edge", "old", func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = nil })
		r.Settle(10 * time.Minute)
		if got := acceleratorEndpoints(r); len(got) > 0 {
			t.Errorf("endpoints without the class: %v", got)
		}
	})
}

// TestGrantsOfOthersDoNotDelayEdits checks that a namespace that creates and deletes ReferenceGrants for another namespace
// does not delay edits of accelerators there.
func TestGrantsOfOthersDoNotDelayEdits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		front := func(weight string) string {
			return accelerator("edge", "front", listenerTo(fmt.Sprintf(`{type: EndpointID, endpointID: %q, weight: %s}`, albARN(r), weight)))
		}
		hostile := strings.NewReplacer("name: edge, namespace: shop", "name: hostile, namespace: other").Replace(grantTo("", "Service"))
		r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"), front("10"))
		r.Settle(20 * time.Minute)
		for range 20 {
			r.Apply(hostile)
			r.Settle(time.Second)
			r.deleteObject(cluster.KindReferenceGrant, "other", "hostile")
			r.Settle(time.Second)
		}
		r.Apply(front("20"))
		r.Settle(time.Second)
		if got := strings.Join(acceleratorState(r), "\n"); !strings.Contains(got, "weight=20") {
			t.Errorf("the edit is not made: %s, events %v", got, eventsOf(r, "edge", "front"))
		}
	})
}

// TestEndpointStaysWhileAMemberReplacesAnother checks that the load balancer of an IngressGroup stays an endpoint by ARN if its
// only Ingress is deleted at the moment when another one joins, which has no finalizer yet.
func TestEndpointStaysWhileAMemberReplacesAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{Workers: 3})
		r.Apply(sharedMember("shop"))
		r.advanceTime(10 * time.Minute)
		r.Apply(accelerator("shop", "id", listenerTo(fmt.Sprintf(`{type: EndpointID, endpointID: %q}`, loadBalancerARNsByStack(r)["shared"]))))
		r.advanceTime(10 * time.Minute)
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			if c.Service == "globalaccelerator" {
				return fault.Action{}
			}
			return fault.Action{Latency: time.Second} // so that the accelerator is planned before the finalizer is there
		})
		r.Apply(strings.Replace(sharedMember("shop"), "name: web, namespace", "name: next, namespace", 1))
		r.deleteObject(cluster.KindIngress, "shop", "web")
		for range 100 {
			if got := acceleratorEndpoints(r); len(got) != 1 {
				t.Fatalf("endpoints %v, events %v", got, eventsOf(r, "shop", "id"))
			}
			r.advanceTime(100 * time.Millisecond)
		}
	})
}
