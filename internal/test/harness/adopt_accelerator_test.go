package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestEndpointStaysDuringAdoption checks that an endpoint of type Ingress is kept while a Gateway owns the load
// balancer of the Ingress: through edits, a restart, and the return to the Ingress. If the Gateway is an endpoint too,
// the endpoint stays after the Ingress is deleted.
func TestEndpointStaysDuringAdoption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAdoptionHarness(t, Options{Accelerators: true})
		r.Apply(adoptedIngressGroup, adoptingRoutes)
		r.Settle(time.Hour)
		r.Apply(accelerator("shop", "front", listenerTo(`{type: Ingress, name: a}`)))
		r.Settle(time.Hour)
		before := acceleratorState(r.Harness)
		if len(acceleratorEndpoints(r.Harness)) != 1 {
			t.Fatalf("no endpoint: %v", before)
		}
		same := func(step string) {
			t.Helper()
			r.Settle(time.Hour)
			if d := cmp.Diff(before, acceleratorState(r.Harness)); d != "" {
				t.Errorf("%s (-before +after):\n%s", step, d)
			}
		}
		r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
		same("adopted")
		r.expectOwner(model.ALBGateway, "adopted")
		r.editIngress("a", func(o *networkingv1.Ingress) { o.Annotations["alb.ingress.kubernetes.io/group.order"] = "7" })
		same("an edit of the Ingress")
		r.Kill()
		r.Start()
		same("a restart")
		if got := strings.Join(eventsOf(r.Harness, "shop", "front"), "\n"); !strings.Contains(got, "the endpoint in AWS stays until ") || strings.Contains(got, "left out") {
			t.Errorf("events: %s", got)
		}
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
		same("given back")
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
		r.Apply(accelerator("shop", "front", listenerTo(`{type: Ingress, name: a}, {type: Gateway, name: edge}`)))
		same("the Gateway is an endpoint too")
		r.deleteObject("Ingress", "shop", "a")
		r.deleteObject("Ingress", "shop", "b")
		same("released")
	})
}
