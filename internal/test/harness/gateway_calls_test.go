package harness

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// gatewayCallReasons has the AWS calls for the ALB of a Gateway that callReasons does not have, or has for another
// reason. floor is the minimum number of calls for a Gateway, and route that for each of its routes.
var gatewayCallReasons = map[string]struct {
	floor, route int
	why          string
}{
	"ec2:CreateSecurityGroup":                 {1, 0, "the security group of the load balancer; the first load balancer of a cluster also creates the backend security group"},
	"ec2:AuthorizeSecurityGroupIngress":       {1, 0, "rules for clients; the first target on a node also needs rules for its ports"},
	"elasticloadbalancing:CreateLoadBalancer": {1, 0, "the load balancer"},
	"elasticloadbalancing:CreateListener":     {1, 0, "the listener"},
	"elasticloadbalancing:CreateTargetGroup":  {0, 1, "one for each route: each has a different backend"},
	"elasticloadbalancing:CreateRule":         {0, 1, "one for each route: each has a different hostname"},
	"elasticloadbalancing:RegisterTargets":    {0, 1, "one for each target group"},
	"elasticloadbalancing:DescribeRules":      {0, 0, "to compare rules"},
}

// gatewayCallReason returns why a Gateway needs calls of an operation, or "" if no reason is known.
func gatewayCallReason(op string) string {
	if r, ok := gatewayCallReasons[op]; ok {
		return r.why
	}
	return callReasons[op].why
}

// numberedGateway returns Gateway "edge<i>".
func numberedGateway(i int) string {
	return strings.NewReplacer("name: edge", fmt.Sprintf("name: edge%d", i), "33333333-0000-4000-8000-000000000001", fmt.Sprintf("uid-edge%d", i)).Replace(edgeGateway)
}

// numberedRoute returns HTTPRoute "r<i>-<j>" of Gateway "edge<i>" for one path. Each route has a different hostname.
func numberedRoute(i, j int, path string) string {
	name := fmt.Sprintf("r%d-%d", i, j)
	rule := fmt.Sprintf("backendRefs: [{name: %s, port: 80}]", name)
	return strings.NewReplacer("name: edge}", fmt.Sprintf("name: edge%d}", i), "value: /}", "value: "+path+"}").Replace(routeOf(name, name+".example.com", rule))
}

// applyGateways creates n Gateways with the given number of routes each, and a Service with one pod for each route.
// Only the calls for the Gateways and routes are counted.
func applyGateways(t *testing.T, r *Harness, n, routes int) {
	t.Helper()
	var addresses []string
	for i := range n * routes {
		addresses = append(addresses, podAddress(i))
	}
	if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], addresses...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range routes {
			name := fmt.Sprintf("r%d-%d", i, j)
			r.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: shop, uid: uid-%[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080}]}
`, name), readyPods(name, podAddress(i*routes+j)))
		}
	}
	r.Emulator.Calls().Reset()
	for i := range n {
		docs := numberedGateway(i)
		for j := range routes {
			docs += numberedRoute(i, j, "/")
		}
		r.Apply(docs)
	}
}

// optionsCountingStatusWrites returns the options of a harness that counts status writes in writes.
func optionsCountingStatusWrites(writes *statusCountingAPI) Options {
	return Options{
		Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
		API:     func(api kube.API) kube.API { writes.API = api; return writes },
	}
}

// TestGatewayCalls limits the number of AWS calls and status writes for Gateways and their routes: at creation, in a
// pass without changes, and after edits of one route. A reason must be known for each call.
func TestGatewayCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ gateways, routes int }{{1, 10}, {measurementSize(50, 12), 2}} {
		t.Run(fmt.Sprintf("%d Gateways with %d routes", c.gateways, c.routes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkGatewayCalls(t, c.gateways, c.routes) })
		})
	}
}

func checkGatewayCalls(t *testing.T, n, routes int) {
	floor := 0
	for _, r := range gatewayCallReasons {
		floor += r.floor + routes*r.route
	}
	writes := &statusCountingAPI{}
	r := New(t, optionsCountingStatusWrites(writes))
	calls := r.Emulator.Calls()
	applyGateways(t, r, n, routes)
	if failed := r.Settle(10 * time.Minute); len(failed) > 0 {
		t.Fatal(failed)
	}
	logCalls(t, r, "creation", n)
	for op, times := range calls.Counts() {
		if gatewayCallReason(op) == "" {
			t.Errorf("no reason is known for the %d calls of %s", times, op)
		}
	}
	each := float64(calls.Total()) / float64(n)
	t.Logf("BENCH %d Gateways with %d routes created together: %.1f calls for each, of which %.1f change something; floor %d; %.1f status writes for each", n, routes, each, float64(calls.CountMutating())/float64(n), floor, float64(writes.n)/float64(n))
	if limit := float64(floor + 3); n > 1 && each > limit {
		t.Errorf("creation takes %.1f calls for each Gateway, the budget is %.0f", each, limit)
	}

	calls.Reset()
	writes.n = 0
	r.process.enqueueExistingObjects()
	r.Settle(time.Minute)
	t.Logf("BENCH a pass over %d Gateways without change: %d calls, %d status writes, goal 0 of both", n, calls.Total(), writes.n)
	if calls.Total() > 0 || writes.n > 0 {
		t.Errorf("a pass without change takes %d calls, %v, and %d status writes", calls.Total(), calls.Counts(), writes.n)
	}

	for _, e := range []struct {
		what, doc string
		budget    int // maximum of mutating calls
	}{
		// The rule changes, and its target group with one target is created or deleted.
		{"becomes a redirect", strings.Replace(numberedRoute(0, 1, "/"), "backendRefs: [{name: r0-1, port: 80}]", "filters: [{type: RequestRedirect, requestRedirect: {hostname: to.example.com}}]", 1), 3},
		{"gets its backend back", numberedRoute(0, 1, "/"), 3},
		// A longer path has a higher priority. The new rule is created before the old one is deleted, and other rules
		// move.
		{"gets a longer path", numberedRoute(0, 1, "/edited"), 4},
	} {
		calls.Reset()
		writes.n = 0
		r.Apply(e.doc)
		r.Settle(10 * time.Minute)
		logCalls(t, r, e.what, 1)
		t.Logf("BENCH one route of %d %s: %d calls, of which %d change something, budget %d; %d status writes", routes, e.what, calls.Total(), calls.CountMutating(), e.budget, writes.n)
		if m := calls.CountMutating(); m > e.budget {
			t.Errorf("a route that %s takes %d changes: %v", e.what, m, calls.Counts())
		}
		if writes.n > 1 {
			t.Errorf("a route that %s takes %d status writes", e.what, writes.n)
		}
	}
}

// TestGatewayRestart checks that a restart with many unchanged Gateways makes no mutating calls and status writes, and
// that the load balancers are compared within 46 minutes.
func TestGatewayRestart(t *testing.T) {
	t.Parallel()
	n := measurementSize(300, 40)
	synctest.Test(t, func(t *testing.T) {
		writes := &statusCountingAPI{}
		free := true
		opt := optionsCountingStatusWrites(writes)
		opt.Checkpoints, opt.Workers = true, 3
		opt.Cloud = func(c *cloud.Config) {
			if free {
				c.TokenBuckets = []ratelimit.TokenBucket{}
			}
		}
		r := New(t, opt)
		r.Emulator.Store().Lock()
		for _, quota := range []string{"application-load-balancers", "security-groups-per-region"} {
			r.Emulator.Store().Config.Quotas[quota] = 5000
		}
		r.Emulator.Store().Unlock()
		applyGateways(t, r, n, 1)
		r.runFor(15 * time.Minute)
		free = false
		r.Emulator.Faults().SetLimits(fault.DocumentedLimits(1))
		r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
		calls := r.Emulator.Calls()
		calls.Reset()
		writes.n = 0
		r.Start()
		time.Sleep(time.Minute)
		first := calls.Total()
		time.Sleep(45 * time.Minute)
		logCalls(t, r, "a restart, with all comparisons of its first 46 minutes", n)
		t.Logf("BENCH restart over %d Gateways: %d calls in the first minute, %d in 46 minutes, of which %d change something; %d status writes, goal 0", n, first, calls.Total(), calls.CountMutating(), writes.n)
		if calls.CountMutating() > 0 || writes.n > 0 {
			t.Errorf("a restart makes %d mutating calls and %d status writes", calls.CountMutating(), writes.n)
		}
		if looked := calls.Counts()["elasticloadbalancing:DescribeListeners"]; looked < n-5 {
			t.Errorf("only %d of %d load balancers were compared with AWS", looked, n)
		}
	})
}

// TestGatewayWithManyRoutes checks a Gateway with more routes than AWS permits rules. The first hundred routes are
// served, and the status of each other route reports that the quota is reached.
func TestGatewayWithManyRoutes(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Parallel() // but not in a measurement, because CPU time is that of the whole process
	}
	const rules = 100
	n := measurementSize(1000, 150)
	synctest.Test(t, func(t *testing.T) {
		writes := &statusCountingAPI{}
		r := New(t, optionsCountingStatusWrites(writes))
		docs := edgeGateway
		for i := range n {
			docs += routeOf(fmt.Sprintf("route-%04d", i), fmt.Sprintf("h%04d.example.com", i), "filters: [{type: RequestRedirect, requestRedirect: {hostname: to.example.com}}]")
		}
		r.Apply(docs)
		calls := r.Emulator.Calls()
		calls.Reset()
		runtime.GC()
		start := cpuTime(t, usageOfProcess)
		r.Settle(20 * time.Minute)
		used := cpuTime(t, usageOfProcess) - start
		logCalls(t, r, "creation", n)
		v := cluster.NewView(r.Store)
		refused := 0
		for i := range n {
			for _, p := range routeParents(v, fmt.Sprintf("route-%04d", i)) {
				if c := conditionNamed(p.Conditions, "Accepted"); c.Status != metav1.ConditionTrue && strings.Contains(c.Message, "quota") {
					refused++
				}
			}
		}
		served := len(rulesByPriority(r, 80))
		t.Logf("BENCH %d routes on one Gateway with a quota of %d rules: %d served, %d say that the quota is reached; %d calls, of which %d change something; %d status writes; %v of CPU with the emulator", n, rules, served, refused, calls.Total(), calls.CountMutating(), writes.n, used.Round(time.Millisecond))
		if served != rules || refused != n-rules {
			t.Errorf("%d routes are served and %d report the quota, want %d and %d", served, refused, rules, n-rules)
		}

		calls.Reset()
		writes.n = 0
		start = cpuTime(t, usageOfProcess)
		r.process.enqueueExistingObjects()
		r.Settle(time.Second)
		t.Logf("BENCH a pass over %d routes of one Gateway without change: %d calls, %d status writes, goal 0 of both; %v of CPU", n, calls.Total(), writes.n, (cpuTime(t, usageOfProcess) - start).Round(time.Millisecond))
		if calls.Total() > 0 || writes.n > 0 {
			t.Errorf("a pass without change takes %d calls, %v, and %d status writes", calls.Total(), calls.Counts(), writes.n)
		}
	})
}
