package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/cases"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/takeover"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// recordedCases are test cases for which the resources that aws-load-balancer-controller creates are recorded. The tests in
// internal/test/takeover take over each case alone; here, all cases are in one cluster with a real API server. They cover
// every kind of object and of target. The first case requests a node port. It comes first because the API server could
// otherwise allocate this port to another Service.
var recordedCases = []string{
	"service-traffic-local",
	"gateway-cross-namespace", "gateway-http-matches", "gateway-http-weights", "gateway-https", "gateway-listener-set",
	"gateway-target-config", "gateway-tcp", "gateway-udp",
	"ingress-action-fixed-response", "ingress-action-weighted", "ingress-attributes", "ingress-auth-oidc",
	"ingress-class-params", "ingress-default-backend", "ingress-frontend-nlb", "ingress-group-namespaces",
	"ingress-group-order", "ingress-inbound-cidrs", "ingress-minimal", "ingress-name", "ingress-path-types",
	"ingress-security-groups", "ingress-ssl-redirect", "ingress-subnets", "ingress-target-port-name", "ingress-wafv2",
	"service-eip", "service-health-check", "service-ip-targets", "service-minimal", "service-tcp-udp", "service-tls",
}

// readClientSecretRole allows the controllers, which use the same account in a local world, to read the Secret of the OIDC
// client in case "ingress-auth-oidc".
const readClientSecretRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: oidc, namespace: ingress-auth-oidc}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [oidc], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: oidc, namespace: ingress-auth-oidc}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: oidc}
subjects: [{kind: ServiceAccount, name: fulcrum, namespace: kube-system}]
`

// recordedStateBuilder creates the state of a local world in which aws-load-balancer-controller has served the recorded cases.
type recordedStateBuilder struct {
	t       *testing.T
	world   *world.World
	applier *manifest.Applier
	client  crclient.Client
	objects *cluster.Memory
	pods    map[string]int // number of ready pods, by NAMESPACE/NAME of the Service
}

// createRecordedState creates the objects of the recorded cases in a local world, and the resources and status that the
// other controller has created for them. It returns the number of stacks and bindings.
func createRecordedState(t *testing.T, w *world.World) int {
	t.Helper()
	p := newRecordedStateBuilder(t, w)
	seeded := p.seedResources()
	p.applyAll(seeded)
	before := p.readObjects()
	takeover.Build(t, takeover.Site{AWS: w.AWSConfig(), Seeded: seeded, Objects: p.objects}, recordedCases...)
	p.writeChanges(before)
	return countRecordedStacksAndBindings(t)
}

// countRecordedStacksAndBindings returns the number of stacks and bindings in the recorded cases.
func countRecordedStacksAndBindings(t *testing.T) int {
	t.Helper()
	n := 0
	for _, name := range recordedCases {
		n += len(cases.LoadRecord(t, name)["LoadBalancers"]) + len(cases.LoadRecord(t, name)["Bindings"])
	}
	return n
}

func newRecordedStateBuilder(t *testing.T, w *world.World) *recordedStateBuilder {
	t.Helper()
	p := &recordedStateBuilder{t: t, world: w, pods: map[string]int{}}
	var err error
	p.objects, err = cluster.NewMemory(clock.RealClock{})
	p.requireNoError(err)
	p.applier, err = manifest.NewApplier(w.RESTConfig())
	p.requireNoError(err)
	quiet := w.RESTConfig()
	quiet.WarningHandler = rest.NoWarnings{}
	p.client, err = crclient.New(quiet, crclient.Options{Scheme: p.objects.Scheme()})
	p.requireNoError(err)
	return p
}

// applyAll applies the objects of the recorded cases, and waits until their pods are ready endpoints. The manifests refer to
// the resources in seeded.
func (p *recordedStateBuilder) applyAll(seeded harness.Seeded) {
	p.t.Helper()
	for _, name := range recordedCases {
		p.apply(name, cases.ManifestText(p.t, name, seeded))
	}
	role, err := manifest.Parse([]byte(readClientSecretRole))
	p.requireNoError(err)
	p.requireNoError(p.applier.Apply(p.t.Context(), role))
	worldtest.Eventually(p.t, 2*time.Minute, p.checkPodsReady)
}

func (p *recordedStateBuilder) requireNoError(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// seedResources creates the AWS resources to which the manifests of the cases refer, such as certificates. It returns their
// IDs.
func (p *recordedStateBuilder) seedResources() harness.Seeded {
	p.t.Helper()
	l := p.world.Layout()
	network := harness.Seeded{VPC: l.VPC, NodeSG: l.NodeSecurityGroup, Certs: l.Certificates}
	for i := range l.PublicSubnets {
		network.Public = append(network.Public, l.PublicSubnets[i].ID)
		network.Private = append(network.Private, l.PrivateSubnets[i].ID)
	}
	for _, n := range l.Nodes {
		network.Instances = append(network.Instances, harness.Instance{ID: n.Instance, Zone: n.Zone, Address: n.Address.String()})
	}
	seeded, err := harness.SeedAddons(p.t.Context(), p.world.AWSConfig(), network)
	p.requireNoError(err)
	return seeded
}

// apply applies the objects of a case and their namespaces. It creates pods for each Service with cases.PodsAnnotation.
func (p *recordedStateBuilder) apply(name string, text []byte) {
	p.t.Helper()
	objects, err := manifest.Parse(text)
	p.requireNoError(err)
	p.createNamespace(name)
	for _, o := range objects {
		if o.GetNamespace() != "" {
			p.createNamespace(o.GetNamespace())
		}
	}
	for _, o := range objects {
		p.requireNoError(setNodePorts(o))
	}
	p.requireNoError(p.applier.Apply(p.t.Context(), objects))
	for _, o := range objects {
		n, err := strconv.Atoi(o.GetAnnotations()[cases.PodsAnnotation])
		if o.GetKind() != "Service" || err != nil {
			continue
		}
		var service corev1.Service
		p.requireNoError(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &service))
		p.pods[service.Namespace+"/"+service.Name] = n
		for i := range n {
			_, err := p.world.KubeClient().CoreV1().Pods(service.Namespace).Create(p.t.Context(), newPodOfService(&service, i), metav1.CreateOptions{})
			p.requireNoError(err)
		}
	}
}

// setNodePorts sets the node ports of all ports of a Service with spec.healthCheckNodePort. Otherwise the API server
// allocates node ports for them first, and might, very rarely, allocate the requested port. The ports that setNodePorts uses
// are among the first 86 node ports, which the API server allocates only when no other node port is free.
func setNodePorts(o *unstructured.Unstructured) error {
	if _, found, err := unstructured.NestedInt64(o.Object, "spec", "healthCheckNodePort"); o.GetKind() != "Service" || !found || err != nil {
		return err
	}
	ports, _, err := unstructured.NestedSlice(o.Object, "spec", "ports")
	for i := range ports {
		port, ok := ports[i].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: port %d is not an object", manifest.KindAndName(o), i)
		}
		port["nodePort"] = int64(30001 + i)
	}
	return errors.Join(err, unstructured.SetNestedSlice(o.Object, ports, "spec", "ports"))
}

func (p *recordedStateBuilder) createNamespace(name string) {
	p.t.Helper()
	_, err := p.world.KubeClient().CoreV1().Namespaces().Create(p.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		p.requireNoError(err)
	}
}

// newPodOfService returns pod number i of a Service, with the target ports of the Service as container ports.
func newPodOfService(service *corev1.Service, i int) *corev1.Pod {
	c := corev1.Container{Name: "c", Image: "echo"}
	for _, port := range service.Spec.Ports {
		to := corev1.ContainerPort{ContainerPort: port.TargetPort.IntVal, Protocol: port.Protocol}
		if port.TargetPort.Type == intstr.String {
			to.Name, to.ContainerPort = port.TargetPort.StrVal, 8080
		}
		c.Ports = append(c.Ports, to)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", service.Name, i), Labels: service.Spec.Selector},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{c}},
	}
}

// checkPodsReady returns an error unless all pods are ready endpoints of their Services.
func (p *recordedStateBuilder) checkPodsReady(ctx context.Context) error {
	slices, err := p.world.KubeClient().DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	have := map[string]int{}
	for _, s := range slices.Items {
		service := s.Namespace + "/" + s.Labels["kubernetes.io/service-name"]
		for _, e := range s.Endpoints {
			if p.pods[service] > 0 && e.Conditions.Ready != nil && *e.Conditions.Ready {
				have[service]++
			}
		}
	}
	if d := cmp.Diff(p.pods, have); d != "" {
		return fmt.Errorf("endpoints of Services are missing (-pods +endpoints):\n%s", d)
	}
	return nil
}

// readObjects returns all objects in the API server of the kinds in cluster.Types, and stores them in p.objects.
func (p *recordedStateBuilder) readObjects() map[cluster.Ref]cluster.Object {
	p.t.Helper()
	out := map[cluster.Ref]cluster.Object{}
	for _, typ := range cluster.Types() {
		list := typ.NewList()
		p.requireNoError(p.client.List(p.t.Context(), list))
		p.requireNoError(meta.EachListItem(list, func(o runtime.Object) error {
			obj, ok := o.(cluster.Object)
			if !ok {
				return fmt.Errorf("%T is not a cluster.Object", o)
			}
			out[cluster.Ref{Kind: typ.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}] = obj
			return p.objects.Put(obj)
		}))
	}
	return out
}

// writeChanges writes the objects of p.objects that differ from before to the API server: new objects, and changed
// finalizers and status.
func (p *recordedStateBuilder) writeChanges(before map[cluster.Ref]cluster.Object) {
	p.t.Helper()
	for _, typ := range cluster.Types() {
		for _, obj := range p.objects.All(typ.Kind) {
			was := before[cluster.RefOf(obj)]
			if was == nil {
				made, _ := obj.DeepCopyObject().(crclient.Object)
				made.SetResourceVersion("")
				made.SetUID("")
				made.SetManagedFields(nil)
				p.requireNoError(p.client.Create(p.t.Context(), made))
			} else if !cmp.Equal(was.GetFinalizers(), obj.GetFinalizers()) {
				target, patch := p.patch(obj, "metadata", map[string]any{"finalizers": obj.GetFinalizers()})
				p.requireNoError(p.client.Patch(p.t.Context(), target, patch))
			}
			if status := p.status(obj); status != nil && (was == nil || !cmp.Equal(p.status(was), status)) {
				target, patch := p.patch(obj, "status", status)
				if err := p.client.Status().Patch(p.t.Context(), target, patch); err != nil {
					p.t.Fatalf("the status of %s: %v", cluster.RefOf(obj), err)
				}
			}
		}
	}
}

func (p *recordedStateBuilder) patch(obj cluster.Object, field string, value any) (crclient.Object, crclient.Patch) {
	p.t.Helper()
	data, err := json.Marshal(map[string]any{field: value})
	p.requireNoError(err)
	target, _ := obj.DeepCopyObject().(crclient.Object) // the client overwrites it with the response of the API server
	return target, crclient.RawPatch(types.MergePatchType, data)
}

// status returns the status of an object as decoded JSON, or nil if it has none.
func (p *recordedStateBuilder) status(obj cluster.Object) any {
	p.t.Helper()
	data, err := json.Marshal(obj)
	p.requireNoError(err)
	var out struct {
		Status any `json:"status"`
	}
	p.requireNoError(json.Unmarshal(data, &out))
	return out.Status
}
