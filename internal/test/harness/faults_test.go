package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// shop has IngressClass "alb", and Namespace "shop" with Services "web" and "api".
const shop = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: 11111111-0000-4000-8000-000000000001}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop, uid: 11111111-0000-4000-8000-000000000002}
spec: {type: NodePort, selector: {app: api}, ports: [{port: 80, targetPort: 8080, nodePort: 30081}]}
`

// podAddresses are addresses of the ENIs of the three nodes, as "node-0", "node-1", "node-2", "node-0" and so on.
var podAddresses = []string{"10.0.132.10", "10.0.148.10", "10.0.164.10", "10.0.132.11", "10.0.148.11", "10.0.164.11"}

// newShop returns a harness whose nodes have podAddresses. Tests apply shop and other objects to it.
func newShop(t *testing.T) *Harness { return shopWith(t, Options{}) }

// newTaggedShop is newShop with a controller that finds load balancers through the Resource Groups Tagging API, with a
// delay of ten minutes.
func newTaggedShop(t *testing.T) *Harness { return shopWith(t, Options{TaggingLag: 10 * time.Minute}) }

func shopWith(t *testing.T, opt Options) *Harness {
	t.Helper()
	opt.Addresses = podAddresses
	r := New(t, opt)
	r.Emulator.Calls().Reset()
	return r
}

// readyPods returns ready pods and the EndpointSlice of a Service in namespace "shop". The pods are on the nodes that
// have their addresses. Pods with other addresses are distributed over the nodes.
func readyPods(service string, addresses ...string) string {
	var b strings.Builder
	for i, a := range addresses {
		node := i
		if of := slices.Index(podAddresses, a); of >= 0 {
			node = of % 3
		}
		fmt.Fprintf(&b, `
apiVersion: v1
kind: Pod
metadata: {name: %[1]s-%[2]d, namespace: shop, uid: %[1]s-%[2]d, labels: {app: %[1]s}}
spec: {nodeName: node-%[4]d, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: %[3]s, phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
---`, service, i, a, node)
	}
	fmt.Fprintf(&b, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints:`, service)
	for i, a := range addresses {
		fmt.Fprintf(&b, `
- {addresses: [%s], conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: %s-%d}}`, a, service, i)
	}
	return b.String() + "\n"
}

// webIngress returns Ingress "shop/web". annotations begins with a comma or is "". A path is "path=service".
func webIngress(annotations string, paths ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {alb.ingress.kubernetes.io/target-type: ip%s}
spec:
  ingressClassName: alb
  rules:
  - host: shop.example.com
    http:
      paths:`, annotations)
	for _, p := range paths {
		path, service, _ := strings.Cut(p, "=")
		fmt.Fprintf(&b, `
      - {path: %s, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}`, path, service)
	}
	return b.String() + "\n"
}

// ingressLifecycle creates, edits and deletes Ingress "shop/web", and returns State after each of the three steps.
func ingressLifecycle(t *testing.T, r *Harness) (states [][]string) {
	t.Helper()
	return ingressLifecycleWithState(t, r, r.State)
}

// ingressLifecycleWithState creates, edits and deletes Ingress "shop/web", and returns the result of state after each of the
// three steps.
func ingressLifecycleWithState(t *testing.T, r *Harness, state func() []string) (states [][]string) {
	t.Helper()
	act := func() {
		t.Helper()
		r.settleAndRecordRecovery(30 * time.Minute)
		states = append(states, state())
	}
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]),
		webIngress("", "/=web", "/api=api"))
	act()
	r.Apply(webIngress(`, alb.ingress.kubernetes.io/listen-ports: '[{"HTTP":80},{"HTTP":8080}]', alb.ingress.kubernetes.io/tags: team=a`,
		"/=api", "/new=web", "/api=api"))
	act()
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
		t.Fatal(err)
	}
	act()
	if left := r.Store.All(cluster.KindBinding); len(left) > 0 {
		t.Errorf("%d bindings are left after deletion", len(left))
	}
	if left := r.Store.All(cluster.KindIngress); len(left) > 0 {
		t.Errorf("the Ingress is left after deletion, with finalizers %v", left[0].GetFinalizers())
	}
	return states
}

// settleAndRecordRecovery runs the controller until nothing is due within the horizon, and starts it again after each kill.
// It records in recoveryTimes how long the last process made changes.
func (r *Harness) settleAndRecordRecovery(horizon time.Duration) {
	r.T.Helper()
	var started, changed time.Time
	defer r.Store.Watch(func(_, new cluster.Object) {
		if _, ok := new.(*corev1.Event); !ok {
			changed = time.Now()
		}
	})()
	for range 5 {
		failed := r.Settle(horizon)
		if !r.WasKilled() {
			if len(failed) > 0 {
				r.T.Fatalf("still failing: %v", failed)
			}
			break
		}
		r.Start()
		started = time.Now()
	}
	if started.IsZero() {
		return
	}
	for _, c := range r.Emulator.Calls().Entries() {
		if c.Mutating && c.Time.After(changed) {
			changed = c.Time
		}
	}
	r.recoveryTimes = append(r.recoveryTimes, max(0, changed.Sub(started)))
}

// logRecoveryTimes logs how long after its start a new process makes the last change that a killed process did not
// make.
func logRecoveryTimes(t *testing.T, when string, took []time.Duration) {
	t.Helper()
	slices.Sort(took)
	if len(took) == 0 {
		t.Fatal("no process was killed")
	}
	t.Logf("BENCH leader killed %s, %d times: nothing is lost, the next one makes its last change %s after its start (p50), %s at most. After a kill it starts when the lease is over, %s at most",
		when, len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), durations.LeaseDuration)
}

// runWithoutFaults runs the lifecycle without faults. It returns the state after each step, the numbers of AWS calls
// and mutating calls, and the state before the first step.
func runWithoutFaults(t *testing.T, build func(*testing.T) *Harness) (states [][]string, calls, mutations int, before []string) {
	synctest.Test(t, func(t *testing.T) {
		r := build(t)
		before = r.State()
		states = ingressLifecycle(t, r)
		calls, mutations = r.Emulator.Calls().Total(), r.Emulator.Calls().CountMutating()
	})
	return states, calls, mutations, before
}

func TestLifecycleLeavesNothing(t *testing.T) {
	t.Parallel()
	states, calls, mutations, before := runWithoutFaults(t, newShop)
	t.Logf("%d AWS calls, %d of them mutating", calls, mutations)
	if diff := cmp.Diff(before, states[2]); diff != "" {
		t.Errorf("deletion does not restore the initial state (-before +after):\n%s", diff)
	}
	for i, s := range states[:2] {
		if !slices.ContainsFunc(s, func(l string) bool { return strings.HasPrefix(l, "rule ") && strings.Contains(l, "tg:k8s-shop") }) {
			t.Errorf("after step %d no rule forwards to a target group:\n%s", i, strings.Join(s, "\n"))
		}
	}
}

func TestResyncAndRestartChangeNothing(t *testing.T) {
	t.Parallel()
	t.Run("own tags", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { checkResync(t, newShop(t)) }) })
	t.Run("tagging service", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { checkResync(t, newTaggedShop(t)) }) })
}

func checkResync(t *testing.T, r *Harness) {
	t.Helper()
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]), webIngress("", "/=web", "/api=api"))
	if failed := r.Settle(5 * time.Minute); len(failed) > 0 {
		t.Fatal(failed)
	}
	want := r.State()
	r.Emulator.Calls().Reset()
	r.process.enqueueExistingObjects()
	r.Settle(5 * time.Minute)
	if n := r.Emulator.Calls().CountMutating(); n > 0 {
		t.Errorf("a second pass made %d mutating calls: %v", n, r.Emulator.Calls().Counts())
	}
	r.Emulator.Calls().Reset()
	r.Start()
	r.Settle(2 * time.Hour)
	if n := r.Emulator.Calls().CountMutating(); n > 0 {
		t.Errorf("a restart made %d mutating calls: %v", n, r.Emulator.Calls().Counts())
	}
	if diff := cmp.Diff(want, r.State()); diff != "" {
		t.Errorf("the state has changed (-want +got):\n%s", diff)
	}
}

// runWithFaultAtEachCall runs the lifecycle with a fault at the n-th call, for every second n up to the limit, or for
// every n in long test runs. The states must be the same as without a fault. It returns the recovery times.
func runWithFaultAtEachCall(t *testing.T, build func(*testing.T) *Harness, limit int, hook func(r *Harness, n int) fault.Hook) (recovered []time.Duration) {
	t.Helper()
	want, _, _, _ := runWithoutFaults(t, build)
	for n := 1; n <= limit; n += seeds.Step(2) {
		synctest.Test(t, func(t *testing.T) {
			r := build(t)
			fired := false
			inner := hook(r, n)
			r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
				a := inner(c)
				fired = fired || a.Lose || a.Reset || a.Throttle || r.WasKilled()
				return a
			})
			got := ingressLifecycle(t, r)
			if !fired {
				t.Errorf("no fault happened at call %d", n)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fault at call %d ends in another state (-clean +fault):\n%s", n, diff)
			}
			recovered = append(recovered, r.recoveryTimes...)
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("faults at up to %d calls: each run ends in the state of the run without faults", limit)
	return recovered
}

func TestKilledAfterEachCall(t *testing.T) {
	t.Parallel()
	builds := map[string]func(*testing.T) *Harness{"own tags": newShop, "tagging service": newTaggedShop}
	for name, build := range builds {
		t.Run(name, func(t *testing.T) {
			_, calls, _, _ := runWithoutFaults(t, build)
			logRecoveryTimes(t, "after each call of AWS ("+name+")", runWithFaultAtEachCall(t, build, calls, func(r *Harness, n int) fault.Hook {
				return func(c fault.Call) fault.Action {
					if c.Sequence == n {
						r.Kill() // the call takes effect, its response is lost
					}
					return fault.Action{}
				}
			}))
		})
	}
}

func TestKilledBeforeEachCall(t *testing.T) {
	t.Parallel()
	_, calls, _, _ := runWithoutFaults(t, newShop)
	logRecoveryTimes(t, "before each call of AWS", runWithFaultAtEachCall(t, newShop, calls, func(r *Harness, n int) fault.Hook {
		return func(c fault.Call) fault.Action {
			if c.Sequence == n {
				r.Kill()
				return fault.Action{Reset: true}
			}
			return fault.Action{}
		}
	}))
}

func TestControllerSurvivesLostResponses(t *testing.T) {
	t.Parallel()
	_, _, mutations, _ := runWithoutFaults(t, newShop)
	runWithFaultAtEachCall(t, newShop, mutations, func(_ *Harness, n int) fault.Hook {
		return func(c fault.Call) fault.Action { return fault.Action{Lose: c.Mutation == n} }
	})
}

func TestControllerSurvivesThrottledCalls(t *testing.T) {
	t.Parallel()
	_, calls, _, _ := runWithoutFaults(t, newShop)
	runWithFaultAtEachCall(t, newShop, calls, func(_ *Harness, n int) fault.Hook {
		return func(c fault.Call) fault.Action { return fault.Action{Throttle: c.Sequence == n} }
	})
}
