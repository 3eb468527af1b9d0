package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// acceleratorFloor has the minimum number of calls by operation that create an accelerator with two listeners and one
// endpoint group for each listener. CreateEndpointGroup includes the endpoints.
var acceleratorFloor = map[string]int{"CreateAccelerator": 1, "CreateListener": 2, "CreateEndpointGroup": 2}

// secondIngress is Ingress "shop/api". It has a separate load balancer.
const secondIngress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: api, namespace: shop}
spec: {ingressClassName: alb, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: api, port: {number: 80}}}}]}}]}
`

// acceleratorWithThreeEndpoints returns a GlobalAccelerator in namespace "shop" with two listeners and three
// endpoints. weight is the weight of the first endpoint.
func acceleratorWithThreeEndpoints(name string, weight int) string {
	return accelerator("shop", name, fmt.Sprintf(`listeners: [
		{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Ingress, name: web, weight: %d}, {type: Ingress, name: api}]}]},
		{protocol: TCP, portRanges: [{fromPort: 443, toPort: 443}], endpointGroups: [{endpoints: [{type: Ingress, name: web}]}]}]`, weight))
}

// TestAcceleratorCalls limits the number of AWS calls for an accelerator with two listeners and three endpoints: when
// it is created and edited, and for 20 of them in a pass without change, after a restart, and in an hour of drift
// detection.
func TestAcceleratorCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{Checkpoints: true, Drift: true})
		r.Emulator.Store().Lock()
		r.Emulator.Store().Config.Quotas["standard-accelerators-per-account"] = 40
		r.Emulator.Store().Unlock()
		r.Apply(secondIngress)
		r.Settle(20 * time.Minute)
		calls := func() (total, changes int, text string) {
			counts := map[string]int{}
			for _, e := range r.Emulator.Calls().Entries() {
				if e.Service == "globalaccelerator" {
					counts[e.Operation]++
					if total++; e.Mutating {
						changes++
					}
				}
			}
			var list []string
			for _, op := range slices.Sorted(maps.Keys(counts)) {
				list = append(list, fmt.Sprintf("%s %d", op, counts[op]))
			}
			return total, changes, strings.Join(list, ", ")
		}
		floor := 0
		for _, n := range acceleratorFloor {
			floor += n
		}
		r.Emulator.Calls().Reset()
		r.Apply(acceleratorWithThreeEndpoints("a0", 128))
		r.Settle(2 * time.Minute)
		total, changes, text := calls()
		t.Logf("BENCH an accelerator with two listeners and three endpoints: %d calls until it is deployed, of which %d change something; floor %d (%s)", total, changes, floor, text)
		if changes != floor || total > floor+6 {
			t.Errorf("%d calls, of which %d change something: %s", total, changes, text)
		}
		time.Sleep(10 * time.Minute)
		r.Settle(time.Second)
		r.Emulator.Calls().Reset()
		r.Apply(acceleratorWithThreeEndpoints("a0", 64))
		r.Settle(2 * time.Minute)
		total, changes, text = calls()
		t.Logf("BENCH a weight of an accelerator is edited: %d calls until it is deployed, of which %d change something; floor 1 (%s)", total, changes, text)
		if changes != 1 || total > 9 {
			t.Errorf("%d calls, of which %d change something: %s", total, changes, text)
		}
		for i := 1; i < 20; i++ {
			r.Apply(acceleratorWithThreeEndpoints(fmt.Sprint("a", i), 128))
		}
		r.Settle(30 * time.Minute)
		if n := len(acceleratorsInAWS(r)); n != 20 {
			t.Fatalf("%d accelerators", n)
		}
		r.Emulator.Calls().Reset()
		r.process.enqueueExistingObjects()
		r.Settle(0)
		total, _, text = calls()
		t.Logf("BENCH a pass over 20 accelerators without change: %d calls, goal 0 (%s)", total, text)
		if total > 0 {
			t.Errorf("a pass without change takes %d calls: %s", total, text)
		}
		r.Emulator.Calls().Reset()
		r.Start()
		r.Settle(time.Minute)
		first, changes, text := calls()
		r.Settle(45 * time.Minute)
		total, more, all := calls()
		t.Logf("BENCH restart over 20 accelerators: %d calls in the first minute (%s), %d in 46 minutes (%s), of which %d change something", first, text, total, all, changes+more)
		if changes+more > 0 || first > 30 || total > 20*(2+2)*4+60 {
			t.Errorf("%d calls in the first minute, %d in 46 minutes, %d changes", first, total, changes+more)
		}
		r.Emulator.Calls().Reset()
		r.Settle(time.Hour)
		total, changes, text = calls()
		t.Logf("BENCH looking for drift of 20 accelerators with two listeners: %d calls in an hour (%s)", total, text)
		if changes > 0 || total > 15+5*20*4 {
			t.Errorf("%d calls in an hour: %s", total, text)
		}
	})
}
