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
	namespace   = "shop"
	callLatency = 30 * time.Millisecond // latency of each call to AWS
)

// clusterShape describes the objects and the quotas of a cluster.
type clusterShape struct {
	worldOptions   world.Options
	quotas         map[string]int // AWS quotas that differ from the defaults
	services       int            // each has a target group
	pods           int
	spareAddresses int    // number of addresses for pods that are created later
	objects        string // Services, and the objects that refer to them
}

// TestChurn measures a controller with a real API server while pods are replaced: 1,000 pods in 50 target groups.
// Each call to AWS takes 30 ms, and the documented rate limits of AWS apply.
func TestChurn(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a measurement of ten minutes; FULCRUM_BENCH=1 runs it")
	}
	const groups, pods = 50, 1000
	h := startCluster(t, clusterShape{services: groups, pods: pods, spareAddresses: 6000, objects: serviceManifests(groups) + ingressManifests(groups/2, 2)})
	t.Logf("BENCH %d pods, %d target groups: %.0f MiB resident", pods, groups, h.readUsage(t).resident/(1<<20))
	for _, rate := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d a second", rate), func(t *testing.T) {
			h.callAdminAPI(t, http.MethodDelete, "calls", nil)
			before, duration := h.readUsage(t), measurementDuration(t)
			h.replaceRandomPods(t, rate, duration)
			after := h.readUsage(t)
			in, out := h.propagationTimes(t)
			t.Logf("BENCH %d pods replaced in %v: %.1f s of CPU, %.0f MiB resident", h.replacedCount, duration, after.cpu-before.cpu, after.resident/(1<<20))
			t.Logf("BENCH from EndpointSlice to RegisterTargets answered: %s; to DeregisterTargets answered: %s", formatQuantiles(in), formatQuantiles(out))
		})
	}
}

// measurementDuration returns how long a measurement takes.
func measurementDuration(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("FULCRUM_BENCH_DURATION"), "5m"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// startCluster starts a local world and a controller, and waits until all targets are registered and the controller
// is idle. From then on, AWS has its documented rate limits and a latency.
func startCluster(t *testing.T, of clusterShape, flags ...string) *churnCluster {
	t.Helper()
	of.worldOptions.ProcessorsPerRole = runtime.NumCPU()
	w := worldtest.Start(t, of.worldOptions)
	// From here on, only the test writes nodes, pods and EndpointSlices.
	for _, role := range []string{world.RoleControllerManager, world.RoleScheduler, world.RoleKwok, world.RoleAgent} {
		if err := w.Kill(role); err != nil {
			t.Fatal(err)
		}
	}
	h := newChurnCluster(t, w, of)
	h.callAdminAPI(t, http.MethodPatch, "config", map[string]any{"Quotas": of.quotas})
	if err := w.StartController(worldtest.ControllerPath(t), flags...); err != nil {
		t.Fatal(err)
	}
	if err := w.AwaitControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.awaitTargets(t, of.pods)
	h.callAdminAPI(t, http.MethodPut, "limits", map[string]any{"name": "documented", "factor": 1})
	h.callAdminAPI(t, http.MethodPost, "faults", map[string]any{"Action": map[string]any{"Latency": callLatency}})
	h.awaitNoCalls(t)
	return h
}

// churnCluster is a local world with Services that have many pods each.
type churnCluster struct {
	*world.World
	pods          [][]pod    // by Service, oldest first
	freeAddresses [][]string // unused addresses of the ENIs, by node
	podCount      int
	replacedCount int
	writtenAt     map[string]time.Time // by address: when it was added to its EndpointSlice
	removedAt     map[string]time.Time // by address: when it was removed from its EndpointSlice
}

type pod struct{ name, uid, address string }

func newChurnCluster(t *testing.T, w *world.World, of clusterShape) *churnCluster {
	t.Helper()
	h := &churnCluster{World: w, pods: make([][]pod, of.services)}
	for _, n := range w.Layout().Nodes {
		h.freeAddresses = append(h.freeAddresses, h.assignAddresses(t, n.ENI, (of.pods+of.spareAddresses)/len(w.Layout().Nodes)+1))
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse([]byte(baseManifest + of.objects))
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	for i := range of.pods {
		h.createPod(t, i%of.services)
	}
	for g := range of.services {
		if _, err := w.KubeClient().DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), h.endpointSlice(g), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// baseManifest contains the namespace, its service account and the IngressClass.
const baseManifest = `
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

// serviceManifests returns n Services of type ClusterIP, with the names of serviceName(0) to serviceName(n-1).
func serviceManifests(n int) string {
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

// ingressManifests returns n Ingresses. Each Ingress has one path for each of the next Services in order; each is the
// number of paths.
func ingressManifests(n, each int) string {
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

// assignAddresses assigns at least n addresses for pods to the ENI of a node.
func (h *churnCluster) assignAddresses(t *testing.T, eni string, n int) (out []string) {
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

// createPod creates a ready pod of a Service.
func (h *churnCluster) createPod(t *testing.T, g int) {
	t.Helper()
	node := h.podCount % len(h.freeAddresses)
	address := h.freeAddresses[node][0]
	h.freeAddresses[node] = h.freeAddresses[node][1:]
	h.podCount++
	pods := h.KubeClient().CoreV1().Pods(namespace)
	p, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", h.podCount), Labels: map[string]string{"app": serviceName(g)}},
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

// endpointSlice returns the EndpointSlice of a Service.
func (h *churnCluster) endpointSlice(g int) *discoveryv1.EndpointSlice {
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

// replaceOldestPod replaces the oldest pod of a Service with a new pod.
func (h *churnCluster) replaceOldestPod(t *testing.T, g int) {
	t.Helper()
	old := h.pods[g][0]
	h.pods[g] = h.pods[g][1:]
	h.createPod(t, g)
	h.replacedCount++
	h.removedAt[old.address], h.writtenAt[h.pods[g][len(h.pods[g])-1].address] = time.Now(), time.Now()
	if _, err := h.KubeClient().DiscoveryV1().EndpointSlices(namespace).Update(t.Context(), h.endpointSlice(g), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := h.KubeClient().CoreV1().Pods(namespace).Delete(t.Context(), old.name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
}

// replaceRandomPods replaces pods of random Services at random times, with a mean rate per second. Then it waits until all new
// targets are registered and all old ones deregistered.
func (h *churnCluster) replaceRandomPods(t *testing.T, rate int, d time.Duration) {
	t.Helper()
	h.replacedCount, h.writtenAt, h.removedAt = 0, map[string]time.Time{}, map[string]time.Time{}
	random := rand.New(rand.NewPCG(1, 2))
	next := time.Now()
	for end := next.Add(d); next.Before(end); {
		next = next.Add(time.Duration(random.ExpFloat64() * float64(time.Second) / float64(rate)))
		time.Sleep(time.Until(next))
		h.replaceOldestPod(t, random.IntN(len(h.pods)))
	}
	if err := await.Success(t.Context(), 2*time.Minute, func(ctx context.Context) error {
		in, out, err := h.targetChangeTimes(ctx)
		if err != nil {
			return err
		}
		if len(in) < h.replacedCount || len(out) < h.replacedCount {
			return fmt.Errorf("of %d pods %d are registered and %d deregistered", h.replacedCount, len(in), len(out))
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
	registered, deregistered, err := h.targetChangeTimes(t.Context())
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

// targetChangeTimes returns when AWS responded to the calls that registered and deregistered the addresses, by
// address.
func (h *churnCluster) targetChangeTimes(ctx context.Context) (in, out map[string]time.Time, err error) {
	var g errgroup.Group
	g.Go(func() (err error) { in, err = h.targetCallTimes(ctx, "RegisterTargets", h.writtenAt); return err })
	g.Go(func() (err error) { out, err = h.targetCallTimes(ctx, "DeregisterTargets", h.removedAt); return err })
	return in, out, g.Wait()
}
