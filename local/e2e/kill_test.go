package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/inspect"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

const killTestApp = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: web, image: echo, ports: [{name: http, containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: v1
kind: Service
metadata: {name: new, namespace: default}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
`

const killTestIngress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: default
  annotations:
    alb.ingress.kubernetes.io/scheme: internet-facing
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/target-group-attributes: deregistration_delay.timeout_seconds=1
    alb.ingress.kubernetes.io/healthcheck-interval-seconds: "5"
    alb.ingress.kubernetes.io/healthcheck-timeout-seconds: "2"
spec:
  ingressClassName: alb
  rules:
  - host: web.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}
`

// webhooksOffFlag is the flag that disables the webhooks, which TestKilledBetweenCalls does not need.
const webhooksOffFlag = "--webhooks=off"

// killTestEditedIngress is killTestIngress with another path, and thus another target group.
const killTestEditedIngress = killTestIngress + `      - {path: /new, pathType: Exact, backend: {service: {name: new, port: {name: http}}}}
`

// killPoints contains the operations after which the controller is killed: while the Ingress is created, while it is
// replaced by killTestEditedIngress, while that is undone, and while it is deleted. If replacing is empty, the Ingress is not
// replaced.
type killPoints struct{ creating, replacing, undoing, deleting string }

// TestKilledBetweenCalls kills the controller with SIGKILL while it creates the load balancer of an Ingress, while it
// applies an edit, and while it deletes the load balancer. Each time, another AWS call has just taken effect and its
// response is lost. After a restart, AWS must have the same resources as without a kill. The test edits the Ingress as
// `kubectl replace` does, which removes its finalizers, while the controller runs and while it does not run.
func TestKilledBetweenCalls(t *testing.T) {
	t.Parallel()
	// The controller waits after each restart, so the two halves of the test run in parallel.
	for name, points := range map[string][]killPoints{
		"first": {
			{"CreateSecurityGroup", "CreateTargetGroup", "DeleteRule", "DeleteLoadBalancer"},
			{"AuthorizeSecurityGroupIngress", "RegisterTargets", "DeregisterTargets", "DeleteTargetGroup"},
		},
		"second": {
			{"CreateTargetGroup", "CreateRule", "DeleteTargetGroup", "DeleteSecurityGroup"},
			{"CreateLoadBalancer", "", "", "DeregisterTargets"},
			{"CreateListener", "", "", "RevokeSecurityGroupIngress"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killBetweenCalls(t, points)
		})
	}
}

func killBetweenCalls(t *testing.T, points []killPoints) {
	controller := worldtest.ControllerPath(t)
	w := worldPool.AcquireForTest(t, world.Options{})
	see, err := scenario.New(w)
	if err != nil {
		t.Fatal(err)
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	k := &killTest{t: t, w: w, scenario: see, applier: applier, controller: controller}
	k.apply(killTestApp, `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
`)
	empty := k.inventory()

	k.startController()
	k.apply(killTestIngress)
	k.awaitServed()
	want := k.inventory()
	k.replace(killTestEditedIngress)
	k.awaitStableInventory(want)
	edited := k.inventory()
	k.delete(killTestIngress)
	k.awaitInventory(empty)
	k.stopController()

	for _, p := range points {
		t.Run("creating after "+p.creating, func(t *testing.T) {
			k := k.withTest(t)
			k.killAfterCall(p.creating, func() { k.apply(killTestIngress) })
			k.startController()
			k.awaitServed()
			k.awaitInventory(want)
		})
		if p.replacing != "" {
			t.Run(fmt.Sprintf("replacing after %s and %s", p.replacing, p.undoing), func(t *testing.T) {
				k := k.withTest(t)
				k.killAfterCall(p.replacing, func() { k.replace(killTestEditedIngress) })
				k.startController()
				k.awaitServed()
				k.awaitInventory(edited)
				k.awaitRule("/new")
				k.killAfterCall(p.undoing, func() { k.replace(killTestIngress) })
				k.replace(killTestEditedIngress)
				k.replace(killTestIngress)
				k.startController()
				k.awaitServed()
				k.awaitInventory(want)
				k.awaitFinalizer()
			})
		}
		t.Run("deleting after "+p.deleting, func(t *testing.T) {
			k := k.withTest(t)
			k.killAfterCall(p.deleting, func() { k.delete(killTestIngress) })
			k.startController()
			k.awaitIngressDeleted()
			k.awaitInventory(empty)
			k.stopController()
		})
	}
	t.Run("API server restarted", func(t *testing.T) { k.withTest(t).checkAPIServerRestart(want, edited) })
}

// checkAPIServerRestart kills the API server while the controller runs, starts it again, edits the Ingress at once, and logs
// how long the edit takes to reach AWS. before and after are the resources in AWS before and after the edit.
func (k *killTest) checkAPIServerRestart(before, after inspect.Inventory) {
	k.startController()
	k.apply(killTestIngress)
	k.awaitServed()
	k.awaitInventory(before)
	k.requireNoError(k.w.Kill(world.RoleAPIServer))
	down := time.Now()
	ctx, cancel := context.WithTimeout(k.t.Context(), world.StartTimeout)
	defer cancel()
	k.requireNoError(k.w.StartRole(ctx, world.RoleAPIServer))
	back := time.Now()
	k.apply(killTestEditedIngress)
	ended := ""
	worldtest.Eventually(k.t, defaultWaitLimit, func(ctx context.Context) error {
		if !k.w.IsAlive(world.RoleController) { // it ends if it cannot renew its lease; restart it as kubelet does
			ended = ", with a restart of the controller"
			if err := k.w.StartController(k.controller, webhooksOffFlag); err != nil {
				return err
			}
		}
		return k.checkInventory(ctx, after)
	})
	k.t.Logf("BENCH API server killed, ready again after %s: an edit is in AWS %s after that%s", back.Sub(down).Round(time.Millisecond), time.Since(back).Round(time.Millisecond), ended)
	k.awaitServed()
	// If a TargetGroupBinding is deleted before it has its finalizer, its security group rules remain for a minute, so the
	// test waits for healthy targets first.
	worldtest.Eventually(k.t, defaultWaitLimit, func(ctx context.Context) error { return k.scenario.CheckHealthyTargets(ctx, "default", "new", 2) })
	k.delete(killTestIngress)
	k.awaitDeletedWithin(defaultWaitLimit)
}

// killTest implements the steps and checks of TestKilledBetweenCalls.
type killTest struct {
	t          *testing.T
	w          *world.World
	scenario   *scenario.Scenario
	applier    *manifest.Applier
	controller string
}

func (k *killTest) withTest(t *testing.T) *killTest {
	c := *k
	c.t = t
	return &c
}

func (k *killTest) requireNoError(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *killTest) apply(texts ...string) {
	k.t.Helper()
	for _, text := range texts {
		objects, err := manifest.Parse([]byte(text))
		k.requireNoError(err)
		k.requireNoError(k.applier.Apply(k.t.Context(), objects))
	}
}

func (k *killTest) delete(text string) {
	k.t.Helper()
	objects, err := manifest.Parse([]byte(text))
	k.requireNoError(err)
	k.requireNoError(k.applier.Delete(k.t.Context(), objects))
}

// replace updates the Ingress as `kubectl replace` does: it removes fields that text does not contain, such as finalizers.
func (k *killTest) replace(text string) {
	k.t.Helper()
	ing := &networkingv1.Ingress{}
	k.requireNoError(yaml.UnmarshalStrict([]byte(text), ing))
	_, err := k.w.KubeClient().NetworkingV1().Ingresses("default").Update(k.t.Context(), ing, metav1.UpdateOptions{})
	k.requireNoError(err)
}

// awaitFinalizer waits until the Ingress has its finalizer again.
func (k *killTest) awaitFinalizer() {
	k.t.Helper()
	worldtest.Eventually(k.t, defaultWaitLimit, func(ctx context.Context) error {
		ing, err := k.w.KubeClient().NetworkingV1().Ingresses("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && len(ing.Finalizers) == 0 {
			err = errors.New("the Ingress has no finalizer")
		}
		return err
	})
}

// awaitStableInventory waits until the resources in AWS differ from before, and two successive reads of them are equal.
func (k *killTest) awaitStableInventory(before inspect.Inventory) {
	k.t.Helper()
	last := before
	worldtest.Eventually(k.t, defaultWaitLimit, func(ctx context.Context) error {
		lines, err := k.scenario.Inspector.Inventory(ctx)
		if err != nil {
			return err
		}
		now := withoutGeneratedParts(lines)
		if slices.Equal(now, before) || !slices.Equal(now, last) {
			last = now
			return errors.New("the edit is not complete")
		}
		return nil
	})
}

func (k *killTest) startController() {
	k.t.Helper()
	if k.w.IsAlive(world.RoleController) {
		return
	}
	k.requireNoError(k.w.StartController(k.controller, webhooksOffFlag))
	ctx, cancel := context.WithTimeout(k.t.Context(), world.StartTimeout)
	defer cancel()
	k.requireNoError(k.w.AwaitControllerReady(ctx))
}

func (k *killTest) stopController() {
	k.t.Helper()
	k.requireNoError(k.w.StopController())
}

// awaitServed waits until both targets are healthy and a request to the Ingress reaches a pod.
func (k *killTest) awaitServed() {
	k.t.Helper()
	worldtest.Eventually(k.t, defaultWaitLimit, func(ctx context.Context) error {
		if err := k.scenario.CheckHealthyTargets(ctx, "default", "web", 2); err != nil {
			return err
		}
		host, err := k.scenario.Hostname(ctx, "default", "web")
		if err != nil {
			return err
		}
		r, err := scenario.Get(ctx, k.w.HTTPClient(host), "http://web.example.com/", nil)
		if err == nil && r.Pod == nil {
			err = fmt.Errorf("no pod responded: %s", r)
		}
		return err
	})
}

// awaitRule waits until a load balancer has a rule for a path. The controller creates rules last, so all other resources
// exist then.
func (k *killTest) awaitRule(path string) {
	k.t.Helper()
	worldtest.Eventually(k.t, defaultWaitLimit, func(ctx context.Context) error {
		lbs, err := k.w.LoadBalancers(ctx)
		if err != nil {
			return err
		}
		for _, lb := range lbs {
			if slices.ContainsFunc(lb.Rules, func(r world.Rule) bool { return slices.Contains(r.Paths, path) }) {
				return nil
			}
		}
		return fmt.Errorf("no load balancer has a rule for %s", path)
	})
}

// awaitIngressDeleted waits until the finalizer of the deleted Ingress is removed, and the Ingress no longer exists.
func (k *killTest) awaitIngressDeleted() {
	k.t.Helper()
	k.awaitDeletedWithin(defaultWaitLimit)
}

func (k *killTest) awaitDeletedWithin(d time.Duration) {
	k.t.Helper()
	worldtest.Eventually(k.t, d, func(ctx context.Context) error {
		_, err := k.w.KubeClient().NetworkingV1().Ingresses("default").Get(ctx, "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("the Ingress still exists")
		}
		return err
	})
}

// generatedParts matches the parts of inventory lines that differ if the Ingress is created again: IDs in AWS, and parts of
// names that depend on the UID of the object.
var generatedParts = regexp.MustCompile(`-[0-9a-f]{10}\b|\bsg-[0-9a-f]+|/[0-9a-f]{16}\b`)

func (k *killTest) inventory() inspect.Inventory {
	k.t.Helper()
	lines, err := k.scenario.Inspector.Inventory(k.t.Context())
	k.requireNoError(err)
	return withoutGeneratedParts(lines)
}

func withoutGeneratedParts(lines inspect.Inventory) inspect.Inventory {
	var out inspect.Inventory
	for _, l := range lines {
		out = append(out, generatedParts.ReplaceAllString(l, "#"))
	}
	slices.Sort(out)
	return out
}

// awaitInventory waits until the resources in AWS are exactly those in want.
func (k *killTest) awaitInventory(want inspect.Inventory) {
	k.t.Helper()
	worldtest.Eventually(k.t, defaultWaitLimit, func(ctx context.Context) error { return k.checkInventory(ctx, want) })
}

func (k *killTest) checkInventory(ctx context.Context, want inspect.Inventory) error {
	lines, err := k.scenario.Inspector.Inventory(ctx)
	if err != nil {
		return err
	}
	if got := withoutGeneratedParts(lines); !slices.Equal(got, want) {
		return fmt.Errorf("AWS has\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	return nil
}

// killAfterCall starts the controller unless it runs, and calls begin. It polls the log of AWS calls, and kills the
// controller when a call of operation has taken effect. AWS closes the connection instead of responding to such calls.
func (k *killTest) killAfterCall(operation string, begin func()) {
	k.t.Helper()
	k.startController()
	k.callAdminAPI(http.MethodDelete, "calls", nil)
	k.callAdminAPI(http.MethodPost, "faults", map[string]any{
		"Operation": operation, "Action": map[string]any{"Lose": true},
	})
	begin()
	k.requireNoError(await.Success(k.t.Context(), defaultWaitLimit, func(ctx context.Context) error {
		if !k.hasCalled(operation) {
			return fmt.Errorf("%s has not been called", operation)
		}
		return k.w.KillController()
	}))
	k.callAdminAPI(http.MethodDelete, "faults", nil)
}

func (k *killTest) hasCalled(operation string) bool {
	k.t.Helper()
	var log struct{ Calls []struct{ Operation string } }
	k.requireNoError(json.Unmarshal(k.callAdminAPI(http.MethodGet, "calls?operation="+operation, nil), &log))
	return len(log.Calls) > 0
}

// callAdminAPI calls the admin API of the emulator.
func (k *killTest) callAdminAPI(method, path string, body any) []byte {
	k.t.Helper()
	return callEmulatorAdmin(k.t, k.w, method, path, body)
}

// callEmulatorAdmin calls the admin API of a local world's emulator.
func callEmulatorAdmin(t *testing.T, w *world.World, method, path string, body any) []byte {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if body != nil {
		check(json.NewEncoder(&b).Encode(body))
	}
	req, err := http.NewRequestWithContext(t.Context(), method, w.AWSEndpoint()+"/_fulcrum/"+path, &b)
	check(err)
	res, err := http.DefaultClient.Do(req)
	check(err)
	defer res.Body.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(res.Body)
	check(err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s: %s", method, path, res.Status, out.String())
	}
	return out.Bytes()
}
