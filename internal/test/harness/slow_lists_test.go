package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// TestSlowlyReadListsAreUsed checks that an edit takes effect within two hours if AWS takes 50 seconds for each call
// and a list has eleven pages. A list must not expire before the other reads are complete, because it would then be
// read again and again.
func TestSlowlyReadListsAreUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Workers: 3})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		for i := range 20 {
			r.Apply(strings.Replace(webIngress("", "/=web"), "name: web\n", fmt.Sprintf("name: more%d\n", i), 1))
		}
		r.advanceTime(20 * time.Minute)
		s := r.Emulator.Store()
		s.Lock()
		s.Config.PageSize = 2
		s.Unlock()
		r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: 50 * time.Second} })
		r.Emulator.Calls().Reset()
		r.Start()
		r.advanceTime(time.Minute)
		r.Apply(webIngress("", "/=web", "/new=web"))
		begun := time.Now()
		for !hasRule(r.State(), "/new") && time.Since(begun) < 4*time.Hour {
			r.advanceTime(time.Minute)
		}
		took := time.Since(begun)
		r.advanceTime(4*time.Hour - took)
		calls := r.Emulator.Calls().Counts()
		t.Logf("BENCH an edit takes %s where each page takes 50s; %v", took, calls)
		if n := calls["elasticloadbalancing:DescribeLoadBalancers"]; took > 2*time.Hour || n > 5*11 {
			t.Errorf("the edit took %s, and the load balancers were listed in %d calls", took, n)
		}
	})
}

// TestGatewaysAndServicesAreServedWithSlowAWS checks that Gateways and Services are served if AWS takes 50 seconds for
// each call, and that a route of a Gateway is no longer served after its permission is withdrawn.
func TestGatewaysAndServicesAreServedWithSlowAWS(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]struct {
		docs     []string
		withdraw func(r *Harness)
	}{
		"Gateway":         {httpScenario.docs(t), withdrawals["ReferenceGrant"]},
		"network Gateway": {tcpScenario.docs(t), withdrawals["ReferenceGrant"]},
		"Service": {docs: []string{readyPods("web", podAddresses[:3]...), `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, annotations: {service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip}}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const slow = 50 * time.Second
				r := New(t, Options{Workers: 3, Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }})
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: slow} })
				until := func(what string, most time.Duration, is func() bool) {
					t.Helper()
					for begun := time.Now(); !is(); r.advanceTime(5 * time.Second) {
						if time.Since(begun) > most {
							t.Fatalf("not %s after %s: %v, warnings %v", what, most, r.Emulator.Calls().Counts(), warningsByObject(r))
						}
					}
				}
				r.Apply(w.docs...)
				until("served", 30*slow, func() bool { return len(r.activeTargetHealth()) == 3 })
				if w.withdraw == nil {
					return
				}
				w.withdraw(r)
				until("given up", 10*slow, func() bool { return len(targetGroupsForHost(80, "team.example.com")(r)) == 0 })
			})
		})
	}
}
