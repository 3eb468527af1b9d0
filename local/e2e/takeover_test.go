package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/scenario"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// servedBefore is what another controller serves before the take-over.
const servedBefore = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: echo, ports: [{containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: default
  annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/scheme: internet-facing}
spec:
  ingressClassName: alb
  rules:
  - host: web.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {name: http}}}}]}
---
apiVersion: v1
kind: Service
metadata:
  name: tcp
  namespace: default
  annotations: {service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip}
spec:
  type: LoadBalancer
  loadBalancerClass: service.k8s.aws/nlb
  allocateLoadBalancerNodePorts: false
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

// TestTakeOverRehearsal follows docs/takeover.md in a local world: the plan says that there is nothing to do, the
// swap and the start after a roll-back make no call that changes AWS, and what the other controller finds after
// the roll-back is what it has left.
//
// What is found was made by Fulcrum, and then lost all that only Fulcrum leaves. That it is what the other
// controller leaves, for each recorded case, is for internal/takeover and internal/cases to prove.
func TestTakeOverRehearsal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldtest.Start(t, world.Options{Cluster: "takeover", Nodes: 2, ActiveAtOnce: true})
	t.Cleanup(func() {
		if t.Failed() && w.Started(world.RoleController) {
			t.Log("the end of the controller's log:\n" + w.LogTail(world.RoleController, 40))
		}
	})
	s := &stage{ctx: t.Context()}
	var err error
	if s.Scenario, err = scenario.New(w); err != nil {
		t.Fatal(err)
	}
	if s.applier, err = manifest.NewApplier(w.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse([]byte(servedBefore))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	election := []string{"--enable-leader-election=true", "--leader-election-namespace=kube-system"}
	start := func() {
		t.Helper()
		if err := w.StartController(worldtest.Controller(t), election...); err != nil {
			t.Fatal(err)
		}
		if err := w.ControllerReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	start()
	worldtest.Eventually(t, 2*time.Minute, func(ctx context.Context) error {
		return firstError(s.HealthyTargets(ctx, "default", "web", 2), s.HealthyTargets(ctx, "default", "tcp", 2))
	})
	worldtest.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, err := s.Hostname(ctx, "default", "web")
		return err
	})
	if err := w.StopController(); err != nil {
		t.Fatal(err)
	}
	asFound(t, s)
	aws, kubernetes := found(t, s)

	planNothing(t, w)
	for _, when := range []string{"swap", "start after the roll-back"} {
		asFound(t, s) // after the roll-back, too: the other controller has run meanwhile
		if _, err := s.calls([]string{"reset"}); err != nil {
			t.Fatal(err)
		}
		start()
		untouched(t, s, when)
		if err := w.StopController(); err != nil {
			t.Fatal(err)
		}
		nowAWS, nowKubernetes := found(t, s)
		if d := cmp.Diff(aws, nowAWS); d != "" {
			t.Errorf("%s: AWS changed:\n%s", when, d)
		}
		if d := cmp.Diff(kubernetes, nowKubernetes); d != "" {
			t.Errorf("%s: objects changed:\n%s", when, d)
		}
	}
	planNothing(t, w)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// asFound removes what only Fulcrum leaves: its Secrets, its lease, and checkpoints that it can read.
func asFound(t *testing.T, s *stage) {
	t.Helper()
	kube := s.World.Kube()
	for _, name := range []string{"fulcrum-checkpoints", "fulcrum-memberships"} {
		if err := kube.CoreV1().Secrets("kube-system").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	if err := kube.CoordinationV1().Leases("kube-system").Delete(t.Context(), "aws-load-balancer-controller-leader", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	for _, b := range bindings(t, s) {
		patch := fmt.Sprintf(`{apiVersion: elbv2.k8s.aws/v1beta1, kind: TargetGroupBinding, metadata: {name: %s, namespace: default, annotations: {elbv2.k8s.aws/checkpoint: c29tZXRoaW5nIGVsc2U, elbv2.k8s.aws/checkpoint-timestamp: "1700000000"}}}`, b.GetName())
		objects, err := manifest.Parse([]byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.applier.Apply(t.Context(), objects); err != nil {
			t.Fatal(err)
		}
	}
}

func bindings(t *testing.T, s *stage) []unstructured.Unstructured {
	t.Helper()
	list := listDefault(t, s, schema.GroupVersionResource{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"})
	if len(list) != 2 {
		t.Fatalf("%d bindings", len(list))
	}
	return list
}

// listDefault lists the objects of the namespace default.
func listDefault(t *testing.T, s *stage, kind schema.GroupVersionResource) []unstructured.Unstructured {
	t.Helper()
	client, err := dynamic.NewForConfig(s.World.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(kind).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// found is what AWS has, and what objects show of it.
func found(t *testing.T, s *stage) ([]string, map[string]any) {
	t.Helper()
	inventory, err := s.Inspector.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	add := func(items []unstructured.Unstructured) {
		for _, u := range items {
			notes := u.GetAnnotations()
			maps.DeleteFunc(notes, func(key, _ string) bool { return strings.HasPrefix(key, "elbv2.k8s.aws/checkpoint") })
			out[manifest.Name(&u)] = []any{u.GetUID(), u.GetFinalizers(), u.GetLabels(), notes, u.Object["spec"], u.Object["status"]}
		}
	}
	add(bindings(t, s))
	add(listDefault(t, s, schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}))
	add(listDefault(t, s, schema.GroupVersionResource{Version: "v1", Resource: "services"}))
	return slices.Sorted(slices.Values(inventory)), out
}

// untouched waits until the controller has compared all with AWS, and then sees that it changes nothing.
func untouched(t *testing.T, s *stage, when string) {
	t.Helper()
	worldtest.Eventually(t, time.Minute, func(context.Context) error {
		text, err := s.calls(nil)
		if err == nil && (!strings.Contains(text, "DescribeRules") || strings.Count(text, "DescribeTargetHealth") < 2) {
			err = fmt.Errorf("not everything was compared yet:\n%s", text)
		}
		return err
	})
	err := await.True(t.Context(), 10*time.Second, func(context.Context) error {
		text, err := s.calls([]string{"-mutating"})
		if err == nil && text == "sum 0\n" {
			return errHolds
		}
		t.Errorf("%s: calls change AWS: %s, %v", when, text, err)
		return nil
	})
	if err == nil {
		t.Fail()
	}
}

// planNothing runs the command of docs/takeover.md.
func planNothing(t *testing.T, w *world.World) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), worldtest.Controller(t), "plan", "--all", "--cluster-name="+w.Layout().Cluster, "--aws-vpc-id="+w.Layout().VPC)
	cmd.Env = append(os.Environ(), w.Environment()...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("fulcrum plan --all: %v\n%s", err, out)
	}
}
