package cost

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
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
	latency   = 30 * time.Millisecond // latency of each call to AWS
)

// shape describes the objects and the quotas of a cluster.
type shape struct {
	world    world.Options
	quotas   map[string]int // AWS quotas that differ from the defaults
	services int            // each has a target group
	pods     int
	spare    int    // number of addresses for pods that are created later
	objects  string // Services, and the objects that refer to them
}

// TestChurn measures a controller with a real API server while pods are replaced: 1,000 pods in 50 target groups.
// Each call to AWS takes 30 ms, and the documented rate limits of AWS apply.
func TestChurn(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a measurement of ten minutes; FULCRUM_BENCH=1 runs it")
	}
	const groups, pods = 50, 1000
	h := startCluster(t, shape{services: groups, pods: pods, spare: 6000, objects: services(groups) + ingresses(groups/2, 2)})
	t.Logf("BENCH %d pods, %d target groups: %.0f MiB resident", pods, groups, h.usage(t).resident/(1<<20))
	for _, rate := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d a second", rate), func(t *testing.T) {
			h.admin(t, http.MethodDelete, "calls", nil)
			before, duration := h.usage(t), duration(t)
			h.churn(t, rate, duration)
			after := h.usage(t)
			in, out := h.propagationTimes(t)
			t.Logf("BENCH %d pods replaced in %v: %.1f s of CPU, %.0f MiB resident", h.replaced, duration, after.cpu-before.cpu, after.resident/(1<<20))
			t.Logf("BENCH from EndpointSlice to RegisterTargets answered: %s; to DeregisterTargets answered: %s", quantiles(in), quantiles(out))
		})
	}
}

// duration returns how long a measurement takes.
func duration(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("FULCRUM_BENCH_DURATION"), "5m"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// startCluster starts a local world and a controller, and waits until all targets are registered and the controller
// is idle. From then on, AWS has its documented rate limits and a latency.
func startCluster(t *testing.T, of shape, flags ...string) *churnCluster {
	t.Helper()
	of.world.Processors = runtime.NumCPU()
	w := worldtest.Start(t, of.world)
	// From here on, only the test writes nodes, pods and EndpointSlices.
	for _, role := range []string{world.RoleControllerManager, world.RoleScheduler, world.RoleKwok, world.RoleAgent} {
		if err := w.Kill(role); err != nil {
			t.Fatal(err)
		}
	}
	h := newChurnCluster(t, w, of)
	h.admin(t, http.MethodPatch, "config", map[string]any{"Quotas": of.quotas})
	if err := w.StartController(worldtest.Controller(t), flags...); err != nil {
		t.Fatal(err)
	}
	if err := w.ControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.awaitTargets(t, of.pods)
	h.admin(t, http.MethodPut, "limits", map[string]any{"name": "documented", "factor": 1})
	h.admin(t, http.MethodPost, "faults", map[string]any{"Action": map[string]any{"Latency": latency}})
	h.awaitNoCalls(t)
	return h
}

// churnCluster is a local world with Services that have many pods each.
type churnCluster struct {
	*world.World
	pods      [][]pod    // by Service, oldest first
	free      [][]string // unused addresses of the ENIs, by node
	count     int
	replaced  int
	writtenAt map[string]time.Time // by address: when it was added to its EndpointSlice
	removedAt map[string]time.Time // by address: when it was removed from its EndpointSlice
}

type pod struct{ name, uid, address string }

func newChurnCluster(t *testing.T, w *world.World, of shape) *churnCluster {
	t.Helper()
	h := &churnCluster{World: w, pods: make([][]pod, of.services)}
	for _, n := range w.Layout().Nodes {
		h.free = append(h.free, h.assign(t, n.Interface, (of.pods+of.spare)/len(w.Layout().Nodes)+1))
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse([]byte(header + of.objects))
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	for i := range of.pods {
		h.add(t, i%of.services)
	}
	for g := range of.services {
		if _, err := w.Kube().DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), h.slice(g), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// header has the namespace and the classes.
const header = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + namespace + `}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: ` + namespace + `}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
`

// services returns Services of type ClusterIP.
func services(n int) string {
	text := ""
	for g := range n {
		text += fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: %s}
spec: {ports: [{port: 80, targetPort: 8080}]}
`, serviceName(g), namespace)
	}
	return text
}

// ingresses returns n Ingresses. Each refers to the next Services, as many as given by each.
func ingresses(n, each int) string {
	text := ""
	for i := range n {
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
`, i, namespace)
		for j := range each {
			text += fmt.Sprintf("      - {path: /%c, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}\n", 'a'+j, serviceName(each*i+j))
		}
	}
	return text
}

func serviceName(g int) string { return fmt.Sprintf("s%d", g) }

// assign assigns at least n addresses for pods to the ENI of a node.
func (h *churnCluster) assign(t *testing.T, eni string, n int) (out []string) {
	t.Helper()
	api := ec2.NewFromConfig(h.AWSConfig())
	for len(out) < n {
		got, err := api.AssignPrivateIpAddresses(t.Context(), &ec2.AssignPrivateIpAddressesInput{
			NetworkInterfaceId: aws.String(eni), SecondaryPrivateIpAddressCount: aws.Int32(500),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got.AssignedPrivateIpAddresses {
			out = append(out, aws.ToString(a.PrivateIpAddress))
		}
	}
	return out
}

// add creates a ready pod of a Service.
func (h *churnCluster) add(t *testing.T, g int) {
	t.Helper()
	node := h.count % len(h.free)
	address := h.free[node][0]
	h.free[node] = h.free[node][1:]
	h.count++
	pods := h.Kube().CoreV1().Pods(namespace)
	p, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", h.count), Labels: map[string]string{"app": serviceName(g)}},
		Spec: corev1.PodSpec{
			NodeName:                      h.Layout().Nodes[node].Name,
			TerminationGracePeriodSeconds: new(int64),
			AutomountServiceAccountToken:  new(bool),
			Containers:                    []corev1.Container{{Name: "c", Image: "app", Ports: []corev1.ContainerPort{{ContainerPort: 8080}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}},
	}
	if _, err := pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.pods[g] = append(h.pods[g], pod{name: p.Name, uid: string(p.UID), address: address})
}

// slice returns the EndpointSlice of a Service.
func (h *churnCluster) slice(g int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: serviceName(g) + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: serviceName(g)}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(string), Port: aws.Int32(8080), Protocol: new(corev1.ProtocolTCP)}},
	}
	for _, p := range h.pods[g] {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{p.address}, Conditions: discoveryv1.EndpointConditions{Ready: aws.Bool(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: p.name, UID: toUID(p.uid)},
		})
	}
	return s
}

// replace replaces the oldest pod of a Service with a new pod.
func (h *churnCluster) replace(t *testing.T, g int) {
	t.Helper()
	old := h.pods[g][0]
	h.pods[g] = h.pods[g][1:]
	h.add(t, g)
	h.replaced++
	h.removedAt[old.address], h.writtenAt[h.pods[g][len(h.pods[g])-1].address] = time.Now(), time.Now()
	if _, err := h.Kube().DiscoveryV1().EndpointSlices(namespace).Update(t.Context(), h.slice(g), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := h.Kube().CoreV1().Pods(namespace).Delete(t.Context(), old.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
}

// churn replaces pods of random Services at random times, with a mean rate per second. Then it waits until all new
// targets are registered and all old ones deregistered.
func (h *churnCluster) churn(t *testing.T, rate int, d time.Duration) {
	t.Helper()
	h.replaced, h.writtenAt, h.removedAt = 0, map[string]time.Time{}, map[string]time.Time{}
	random := rand.New(rand.NewPCG(1, 2))
	next := time.Now()
	for end := next.Add(d); next.Before(end); {
		next = next.Add(time.Duration(random.ExpFloat64() * float64(time.Second) / float64(rate)))
		time.Sleep(time.Until(next))
		h.replace(t, random.IntN(len(h.pods)))
	}
	if err := await.Success(t.Context(), 2*time.Minute, func(ctx context.Context) error {
		in, out, err := h.changedTargets(ctx)
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

// propagationTimes returns, in ascending order, the times from the update of the EndpointSlice until each new
// target was registered, and each old target deregistered.
func (h *churnCluster) propagationTimes(t *testing.T) (in, out []time.Duration) {
	t.Helper()
	registered, deregistered, err := h.changedTargets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for address, at := range h.writtenAt {
		in = append(in, registered[address].Sub(at))
	}
	for address, at := range h.removedAt {
		out = append(out, deregistered[address].Sub(at))
	}
	slices.Sort(in)
	slices.Sort(out)
	return in, out
}

// changedTargets returns when AWS responded to the calls that registered and deregistered the addresses, by
// address.
func (h *churnCluster) changedTargets(ctx context.Context) (in, out map[string]time.Time, err error) {
	var g errgroup.Group
	g.Go(func() (err error) { in, err = h.targets(ctx, "RegisterTargets", h.writtenAt); return err })
	g.Go(func() (err error) { out, err = h.targets(ctx, "DeregisterTargets", h.removedAt); return err })
	return in, out, g.Wait()
}
