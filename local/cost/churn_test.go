package cost

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/await"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

const (
	namespace = "shop"
	groups    = 50 // target groups, two to a load balancer
	podsEach  = 20
	latency   = 30 * time.Millisecond // of each call to AWS
)

// TestChurn measures one controller beside a real API server while pods are replaced: 1,000 pods
// behind 50 target groups, each call to AWS takes 30 ms, within the limits that AWS documents.
func TestChurn(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a measurement of ten minutes; FULCRUM_BENCH=1 runs it")
	}
	duration := 5 * time.Minute
	if d := os.Getenv("FULCRUM_BENCH_DURATION"); d != "" {
		var err error
		if duration, err = time.ParseDuration(d); err != nil {
			t.Fatal(err)
		}
	}
	w := worldtest.Start(t, world.Options{})
	// Nodes, pods and EndpointSlices are written by the test alone from here on.
	for _, role := range []string{world.RoleControllerManager, world.RoleScheduler, world.RoleKwok, world.RoleAgent} {
		if err := w.Kill(role); err != nil {
			t.Fatal(err)
		}
	}
	h := newHerd(t, w)
	if err := w.StartController(worldtest.Controller(t)); err != nil {
		t.Fatal(err)
	}
	if err := w.ControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.awaitTargets(t)
	h.admin(t, "PUT", "limits", map[string]any{"name": "documented", "factor": 1})
	h.admin(t, "POST", "faults", map[string]any{"Action": map[string]any{"Latency": latency}})
	h.rest(t)
	t.Logf("BENCH %d pods, %d target groups: %.0f MiB resident", groups*podsEach, groups, h.usage(t).resident/(1<<20))
	for _, rate := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d a second", rate), func(t *testing.T) {
			h.admin(t, "DELETE", "calls", nil)
			before := h.usage(t)
			h.churn(t, rate, duration)
			after := h.usage(t)
			in, out := h.answered(t)
			t.Logf("BENCH %d pods replaced in %v: %.1f s of CPU, %.0f MiB resident", h.replaced, duration, after.cpu-before.cpu, after.resident/(1<<20))
			t.Logf("BENCH from EndpointSlice to RegisterTargets answered: %s; to DeregisterTargets answered: %s", quantiles(in), quantiles(out))
		})
	}
}

// herd is Services with many pods each.
type herd struct {
	*world.World
	pods     [][]pod // by Service, oldest first
	next     netip.Addr
	count    int
	replaced int
	asked    map[string]time.Time // address: when its EndpointSlice was written
	left     map[string]time.Time // address: when its EndpointSlice had it no more
}

type pod struct{ name, uid, address string }

func newHerd(t *testing.T, w *world.World) *herd {
	t.Helper()
	h := &herd{World: w, pods: make([][]pod, groups), next: w.Layout().Nodes[0].Pods.Addr()}
	h.assign(t)
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse([]byte(frontends()))
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	for g := range groups {
		for range podsEach {
			h.add(t, g)
		}
		slice := h.slice(g)
		if _, err := w.Kube().DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// frontends is a namespace, its Services, and an Ingress for every two of them.
func frontends() string {
	text := fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: %[1]s}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
`, namespace)
	for g := range groups {
		text += fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {ports: [{port: 80, targetPort: 8080}]}
`, service(g), namespace)
	}
	for i := range groups / 2 {
		text += fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: i%d
  namespace: %s
  annotations:
    alb.ingress.kubernetes.io/target-type: ip
    alb.ingress.kubernetes.io/healthcheck-interval-seconds: "300"
spec:
  ingressClassName: alb
  rules:
  - http:
      paths:
      - {path: /a, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}
      - {path: /b, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}
`, i, namespace, service(2*i), service(2*i+1))
	}
	return text
}

func service(g int) string { return fmt.Sprintf("s%d", g) }

// addresses are enough for all pods that there will ever be.
const addresses = 2700

// assign adds the addresses of pods to the ENI of the first node.
func (h *herd) assign(t *testing.T) {
	t.Helper()
	api := ec2.NewFromConfig(h.AWSConfig())
	var all []string
	for a := h.next; len(all) < addresses; {
		a = following(a)
		all = append(all, a.String())
	}
	for part := range slices.Chunk(all, 500) {
		if _, err := api.AssignPrivateIpAddresses(t.Context(), &ec2.AssignPrivateIpAddressesInput{
			NetworkInterfaceId: aws.String(h.Layout().Nodes[0].Interface), PrivateIpAddresses: part,
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func following(a netip.Addr) netip.Addr {
	for a = a.Next(); a.As4()[3] == 0 || a.As4()[3] == 255; {
		a = a.Next()
	}
	return a
}

// add makes a pod that is ready.
func (h *herd) add(t *testing.T, g int) {
	t.Helper()
	h.next = following(h.next)
	h.count++
	pods := h.Kube().CoreV1().Pods(namespace)
	p, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", h.count), Labels: map[string]string{"app": service(g)}},
		Spec: corev1.PodSpec{
			NodeName:                      h.Layout().Nodes[0].Name,
			TerminationGracePeriodSeconds: new(int64),
			AutomountServiceAccountToken:  new(bool),
			Containers:                    []corev1.Container{{Name: "c", Image: "app", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: h.next.String(), PodIPs: []corev1.PodIP{{IP: h.next.String()}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
	}
	if _, err := pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.pods[g] = append(h.pods[g], pod{name: p.Name, uid: string(p.UID), address: h.next.String()})
}

// slice is the EndpointSlice of a Service.
func (h *herd) slice(g int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service(g) + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service(g)}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(string), Port: aws.Int32(8080), Protocol: new(corev1.ProtocolTCP)}},
	}
	for _, p := range h.pods[g] {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{p.address}, Conditions: discoveryv1.EndpointConditions{Ready: aws.Bool(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: p.name, UID: types(p.uid)},
		})
	}
	return s
}

// replace puts a new pod in the place of the oldest of a Service.
func (h *herd) replace(t *testing.T, g int) {
	t.Helper()
	old := h.pods[g][0]
	h.pods[g] = h.pods[g][1:]
	h.add(t, g)
	h.replaced++
	h.left[old.address], h.asked[h.next.String()] = time.Now(), time.Now()
	if _, err := h.Kube().DiscoveryV1().EndpointSlices(namespace).Update(t.Context(), h.slice(g), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := h.Kube().CoreV1().Pods(namespace).Delete(t.Context(), old.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
}

// churn replaces pods of Services at random, at random moments, at a mean rate per second, and then
// waits until AWS has heard of all of them.
func (h *herd) churn(t *testing.T, rate int, d time.Duration) {
	t.Helper()
	h.replaced, h.asked, h.left = 0, map[string]time.Time{}, map[string]time.Time{}
	random := rand.New(rand.NewPCG(1, 2))
	next := time.Now()
	for end := next.Add(d); next.Before(end); {
		next = next.Add(time.Duration(random.ExpFloat64() * float64(time.Second) / float64(rate)))
		time.Sleep(time.Until(next))
		h.replace(t, random.IntN(groups))
	}
	if err := await.True(t.Context(), 2*time.Minute, func(ctx context.Context) error {
		in, out, err := h.seen(ctx)
		if err != nil {
			return err
		}
		if len(in) < h.replaced || len(out) < h.replaced {
			return fmt.Errorf("of %d pods %d are registered and %d deregistered", h.replaced, len(in), len(out))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// answered returns how long after its EndpointSlice was written each new target was registered, and
// each old one deregistered, in ascending order.
func (h *herd) answered(t *testing.T) (in, out []time.Duration) {
	t.Helper()
	registered, deregistered, err := h.seen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for address, at := range h.asked {
		in = append(in, registered[address].Sub(at))
	}
	for address, at := range h.left {
		out = append(out, deregistered[address].Sub(at))
	}
	slices.Sort(in)
	slices.Sort(out)
	return in, out
}

// seen returns when AWS answered the calls that registered and deregistered the addresses of the
// churn.
func (h *herd) seen(ctx context.Context) (in, out map[string]time.Time, err error) {
	var g errgroup.Group
	g.Go(func() (err error) { in, err = h.targets(ctx, "RegisterTargets", h.asked); return err })
	g.Go(func() (err error) { out, err = h.targets(ctx, "DeregisterTargets", h.left); return err })
	return in, out, g.Wait()
}
