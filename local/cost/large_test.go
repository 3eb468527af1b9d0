package cost

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestLargeCluster measures a controller with 1,000 load balancers, 50,000 listener rules and 20,000 pods, with a
// real API server: its CPU time and memory when idle, and the duration of an edit and of a restart.
func TestLargeCluster(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a measurement of half an hour; FULCRUM_BENCH=1 runs it")
	}
	const balancers, rules, pods, edits = 1000, 50, 20000, 20
	flags := []string{"--default-target-type=ip", "--default-load-balancer-scheme=internet-facing",
		"--enable-leader-election=true", "--leader-election-namespace=kube-system", // without them, no state is kept over a restart
		"--profiling-bind-addr=" + os.Getenv("FULCRUM_BENCH_PROFILES")}
	start := time.Now()
	h := startCluster(t, clusterShape{
		worldOptions: world.Options{ActiveImmediately: true, WithoutTraffic: true},
		quotas:       map[string]int{"application-load-balancers": 2 * balancers, "security-groups": 5000},
		services:     balancers, pods: pods, objects: serviceManifests(balancers) + ingressManifestsWithPaths(balancers, rules),
		// With the documented rate limits of AWS, creating 50,000 rules takes hours.
	}, append(flags, "--aws-api-throttle=Elastic Load Balancing v2:.*=5000:5000,EC2:.*=5000:5000")...)
	t.Logf("BENCH %d load balancers with %d rules each, %d pods: made in %v, %.0f MiB resident", balancers, rules, pods, time.Since(start).Round(time.Second), h.readUsage(t).resident/(1<<20))

	restart := func(meanwhile func()) (started time.Time, ready time.Duration) {
		if err := h.StopController(); err != nil {
			t.Fatal(err)
		}
		h.callAdminAPI(t, http.MethodDelete, "calls", nil)
		meanwhile()
		started = time.Now()
		if err := h.StartController(worldtest.ControllerPath(t), flags...); err != nil {
			t.Fatal(err)
		}
		if err := h.AwaitControllerReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		return started, time.Since(started)
	}
	// From this restart on, the controller runs without --aws-api-throttle, which was only for the setup.
	restart(func() {})
	h.awaitNoCalls(t)
	for i := range 3 {
		path := fmt.Sprintf("/restart-%d", i)
		started, ready := restart(func() { h.editLastPath(t, 7*i, path) })
		carried := h.awaitRuleChange(t, path).Sub(started)
		h.awaitNoCalls(t)
		u := h.readUsage(t)
		t.Logf("BENCH restart: ready after %v, an edit that was made meanwhile is carried out after %v (goal: at most 5s); %d calls, %.1f s of CPU, %.0f MiB resident",
			ready.Round(time.Millisecond), carried.Round(time.Millisecond), h.countCalls(t), u.cpu, u.resident/(1<<20))
	}

	var took []time.Duration
	for i := range edits {
		path := fmt.Sprintf("/edit-%d", i)
		at := time.Now()
		h.editLastPath(t, 31*i, path)
		took = append(took, h.awaitRuleChange(t, path).Sub(at))
		time.Sleep(time.Second)
	}
	slices.Sort(took)
	t.Logf("BENCH %d edits, one a second, until AWS has answered: %s (goal: at most 300ms)", edits, formatQuantiles(took))

	d := measurementDuration(t)
	h.awaitNoCalls(t)
	h.callAdminAPI(t, http.MethodDelete, "calls", nil)
	before := h.readUsage(t)
	time.Sleep(d)
	after := h.readUsage(t)
	t.Logf("BENCH at rest for %v: %.1f s of CPU, %.0f MiB resident (goal: at most 400), %d calls", d, after.cpu-before.cpu, after.resident/(1<<20), h.countCalls(t))
}

// ingressManifestsWithPaths returns n Ingresses, each with its own load balancer and many paths that forward to one
// Service.
func ingressManifestsWithPaths(n, paths int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: i%d
  namespace: %s
  annotations: {alb.ingress.kubernetes.io/healthcheck-interval-seconds: "300"}
spec:
  ingressClassName: alb
  rules:
  - http:
      paths:
`, i, namespace)
		for j := range paths {
			fmt.Fprintf(&b, "      - {path: /%d, pathType: Exact, backend: {service: {name: %s, port: {number: 80}}}}\n", j, serviceName(i))
		}
	}
	return b.String()
}

// editLastPath changes the last path of an Ingress.
func (h *churnCluster) editLastPath(t *testing.T, i int, path string) {
	t.Helper()
	api := h.KubeClient().NetworkingV1().Ingresses(namespace)
	ing, err := api.Get(t.Context(), fmt.Sprintf("i%d", i), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	paths := ing.Spec.Rules[0].HTTP.Paths
	exact := networkingv1.PathTypeExact
	paths[len(paths)-1].Path, paths[len(paths)-1].PathType = path, &exact
	if _, err := api.Update(t.Context(), ing, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitRuleChange waits for the call that creates a rule with a path, or changes a rule to have the path, and returns
// when AWS responded to the call.
func (h *churnCluster) awaitRuleChange(t *testing.T, path string) (at time.Time) {
	t.Helper()
	if err := await.Success(t.Context(), 5*time.Minute, func(ctx context.Context) error {
		for _, operation := range []string{"ModifyRule", "CreateRule"} {
			var log struct {
				Calls []struct {
					Time  time.Time
					Code  string
					Input struct {
						Conditions []struct{ PathPatternConfig struct{ Values []string } }
					}
				}
			}
			if err := h.requestAdminJSON(ctx, http.MethodGet, "calls?operation="+operation, nil, &log); err != nil {
				return err
			}
			for _, c := range log.Calls {
				for _, x := range c.Input.Conditions {
					if c.Code == "" && slices.Contains(x.PathPatternConfig.Values, path) {
						at = c.Time.Add(callLatency)
						return nil
					}
				}
			}
		}
		return fmt.Errorf("no rule was created for %s", path)
	}); err != nil {
		t.Fatal(err)
	}
	return at
}
