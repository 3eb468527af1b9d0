package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestGatewayStatusIsCorrectDuringReturn checks that the Gateway status does not report requests as not answered while
// a load balancer is adopted or returned, which takes minutes if AWS is slow.
func TestGatewayStatusIsCorrectDuringReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, watch := newWatchedAdoption(t, Options{Workers: 3})
		r.Apply(adoptedIngressGroup, adoptingRoutes)
		r.advanceTime(10 * time.Minute)
		watch.setOn(true)
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			if c.Mutating {
				return fault.Action{Latency: 4 * time.Second}
			}
			return fault.Action{}
		})
		r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
		truth := func(step string) {
			t.Helper()
			for range 600 {
				time.Sleep(time.Second)
				if text := strings.Join(gatewayConditionMessages(r.Harness, "edge"), "\n"); strings.Contains(text, "not answered") && len(r.stateWithTag(naming.StackTag(model.ALBGateway))) > 0 {
					t.Fatalf("%s: %s", step, text)
				}
			}
		}
		truth("adopt")
		r.expectOwner(model.ALBGateway, "adopt")
		if !strings.Contains(r.eventTexts(), "Gateway shop/edge: LoadBalancerAdopted") {
			t.Errorf("the Gateway does not report the adoption:\n%s", r.eventTexts())
		}
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
		truth("back")
		r.expectOwner(model.Ingress, "back")
	})
}
