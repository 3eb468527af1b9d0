package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// TestTenantWithManyLoadBalancersDelaysNoOther checks that the load balancer of a namespace is served within a minute
// although another namespace creates many load balancers at once. Namespaces share the rate limits of AWS equally,
// independent of their number of load balancers and IngressGroups.
func TestTenantWithManyLoadBalancersDelaysNoOther(t *testing.T) {
	t.Parallel()
	for _, groups := range []bool{false, true} {
		t.Run(fmt.Sprintf("IngressGroups %t", groups), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { createManyLoadBalancers(t, groups) })
		})
	}
}

// createManyLoadBalancers is TestTenantWithManyLoadBalancersDelaysNoOther for one way to create load balancers. groups reports
// whether each load balancer is that of an IngressGroup.
func createManyLoadBalancers(t *testing.T, groups bool) {
	r := New(t, Options{Workers: 3})
	r.Emulator.Store().Lock()
	r.Emulator.Store().Config.Quotas["application-load-balancers"] = 1000
	r.Emulator.Store().Config.Quotas["security-groups-per-region"] = 5000
	r.Emulator.Store().Unlock()
	r.Apply(shop)
	r.Emulator.Faults().SetLimits(fault.DocumentedLimits(1))
	r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
	many := measurementSize(150, 40)
	for i := range many {
		annotations := ""
		if groups {
			annotations = ingressAnnotations("group.name", fmt.Sprintf("many%d", i))
		}
		r.Apply(strings.Replace(webIngress(annotations, "/=web"), "name: web\n", fmt.Sprintf("name: many%d\n", i), 1))
	}
	time.Sleep(5 * time.Second)
	begun := time.Now()
	r.Apply(strings.ReplaceAll(shop, "shop", "other"),
		strings.NewReplacer("name: web\n", "name: single\n", "namespace: shop", "namespace: other").Replace(webIngress("", "/=web")))
	served := func(namespace string) (n int) {
		for _, line := range r.State() {
			if strings.HasPrefix(line, "rule ") && strings.Contains(line, "tg:k8s-"+namespace) {
				n++
			}
		}
		return n
	}
	var mine, theirs time.Duration
	for theirs == 0 && time.Since(begun) < time.Hour {
		time.Sleep(time.Second)
		if mine == 0 && served("other") > 0 {
			mine = time.Since(begun)
		}
		if served("shop") == many {
			theirs = time.Since(begun)
		}
	}
	t.Logf("the one load balancer is there after %s, the %d of the other tenant after %s", mine, many, theirs)
	if mine == 0 || mine > time.Minute {
		t.Error("the other load balancer is not served within a minute")
	}
}
