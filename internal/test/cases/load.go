package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/cases/testdata"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// Names returns the names of the cases.
func Names(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(testdata.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(path.Base(f), ".yaml"))
	}
	return out
}

// LoadRecord returns the record of a case.
func LoadRecord(t *testing.T, name string) Record {
	t.Helper()
	raw, err := testdata.Files.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var out Record
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// PodsAnnotation is the annotation of a Service with the number of its ready pods.
const PodsAnnotation = "test.fulcrum/pods"

// Loader adds the objects of cases to a store. It also adds the fields and objects that an API server and other controllers
// add: node ports, cluster IPs, pods and EndpointSlices. Ports and addresses are unique, so several cases fit into one
// store.
type Loader struct {
	harness      *harness.Harness
	nodeENIs     []string // ENIs of the nodes
	nodePort     int32
	addressCount int // number of addresses of Services
	podCount     int
}

// NewLoader returns a Loader for the store of a harness.
func NewLoader(t *testing.T, r *harness.Harness) *Loader {
	t.Helper()
	l := &Loader{harness: r, nodePort: 30000, addressCount: 1}
	for _, instance := range r.Seeded.Instances {
		out, err := l.ec2().DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{instance.ID}})
		l.nodeENIs = append(l.nodeENIs, aws.ToString(must(t, out, err).Reservations[0].Instances[0].NetworkInterfaces[0].NetworkInterfaceId))
	}
	return l
}

// ApplyAll applies cases to one cluster. The case with fixed addresses is applied first, and its load balancer is
// created. Otherwise AWS could assign these addresses to pods and load balancers of other cases.
func (l *Loader) ApplyAll(t *testing.T, names []string) {
	t.Helper()
	const fixedAddresses = "service-private-ip"
	l.Apply(t, fixedAddresses)
	l.harness.Settle(time.Minute)
	for _, name := range names {
		if name != fixedAddresses {
			l.Apply(t, name)
		}
	}
}

func (l *Loader) ec2() *ec2.Client { return ec2.NewFromConfig(harness.AWSConfig(l.harness.Emulator)) }

// assignPodAddress assigns an unused private address to the ENI of a node, as the VPC CNI plugin does, and returns the
// address. The recordings do not contain the addresses of pods.
func (l *Loader) assignPodAddress(t *testing.T, node int) string {
	t.Helper()
	out, err := l.ec2().AssignPrivateIpAddresses(t.Context(), &ec2.AssignPrivateIpAddressesInput{
		NetworkInterfaceId: &l.nodeENIs[node], SecondaryPrivateIpAddressCount: aws.Int32(1),
	})
	return aws.ToString(must(t, out, err).AssignedPrivateIpAddresses[0].PrivateIpAddress)
}

// ManifestText returns the YAML of a case, with the IDs of the AWS resources that the harness has seeded.
func ManifestText(t *testing.T, name string, world harness.Seeded) []byte {
	t.Helper()
	raw, err := testdata.Files.ReadFile(name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := template.New(name).Option("missingkey=error").Parse(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := tmpl.Execute(&text, world); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Apply creates the objects of a case in the order of its file.
func (l *Loader) Apply(t *testing.T, name string) {
	t.Helper()
	loaded, err := cluster.LoadYAML(ManifestText(t, name, l.harness.Seeded))
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Skipped) > 0 {
		t.Fatalf("objects of unknown kinds: %v", loaded.Skipped)
	}
	l.createNamespace(t, name)
	for _, obj := range loaded.Objects {
		if ns := obj.GetNamespace(); ns != "" {
			l.createNamespace(t, ns)
		}
		svc, isService := obj.(*corev1.Service)
		if isService {
			l.allocateServiceFields(svc)
		}
		if _, err := l.harness.Store.Create(obj); err != nil {
			if _, class := cluster.KindOf(obj); class && obj.GetNamespace() == "" && obj.GetName() == "alb" {
				continue // many files contain the same class
			}
			t.Fatal(err)
		}
		if isService {
			l.createPods(t, svc)
		}
	}
}

// createNamespace creates a namespace unless it exists.
func (l *Loader) createNamespace(t *testing.T, name string) {
	t.Helper()
	ref := cluster.Ref{Kind: cluster.KindNamespace, Name: name}
	if have, err := l.harness.Store.Get(ref); err != nil || have != nil {
		return
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelMetadataName: name},
	}}
	if _, err := l.harness.Store.Create(ns); err != nil {
		t.Fatal(err)
	}
}

// allocateServiceFields sets the fields of a Service that an API server sets.
func (l *Loader) allocateServiceFields(svc *corev1.Service) {
	s := &svc.Spec
	if s.Type == corev1.ServiceTypeExternalName {
		return
	}
	if s.ClusterIP == "" {
		s.ClusterIP = fmt.Sprintf("10.96.%d.%d", l.addressCount/256, l.addressCount%256)
		l.addressCount++
	}
	s.ClusterIPs = []string{s.ClusterIP}
	if len(s.IPFamilies) == 0 {
		s.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if s.Type == corev1.ServiceTypeClusterIP {
		return
	}
	port := func() int32 { l.nodePort++; return l.nodePort - 1 }
	ofNumber := map[int32]int32{} // the API server allocates the same node port for TCP and UDP on one port
	for i := range s.Ports {
		if p := &s.Ports[i]; p.NodePort == 0 {
			p.NodePort = ofNumber[p.Port]
			if p.NodePort == 0 {
				p.NodePort = port()
			}
			ofNumber[p.Port] = p.NodePort
		}
	}
	if s.Type == corev1.ServiceTypeLoadBalancer && s.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && s.HealthCheckNodePort == 0 {
		s.HealthCheckNodePort = port()
	}
}

// namedPort is the container port for named target ports.
const namedPort = 8080

// createPods creates the ready pods and the EndpointSlice of a Service.
func (l *Loader) createPods(t *testing.T, svc *corev1.Service) {
	t.Helper()
	n, err := strconv.Atoi(svc.Annotations[PodsAnnotation])
	if err != nil {
		if svc.Annotations[PodsAnnotation] != "" {
			t.Fatal(err)
		}
		return
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: svc.Namespace, Name: svc.Name + "-1",
			Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	var containerPorts []corev1.ContainerPort
	for _, p := range svc.Spec.Ports {
		cp := corev1.ContainerPort{ContainerPort: p.TargetPort.IntVal, Protocol: p.Protocol}
		if p.TargetPort.Type == intstr.String {
			cp.Name, cp.ContainerPort = p.TargetPort.StrVal, namedPort
		}
		containerPorts = append(containerPorts, cp)
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &cp.ContainerPort, Protocol: &p.Protocol})
	}
	yes, no := true, false
	for i := range n {
		n := i % len(l.harness.Seeded.Instances)
		node, zone := fmt.Sprintf("node-%d", n), l.harness.Seeded.Instances[n].Zone
		name, address := fmt.Sprintf("%s-%d", svc.Name, i), l.assignPodAddress(t, n)
		l.podCount++
		ready := func(of corev1.PodConditionType) corev1.PodCondition {
			return corev1.PodCondition{Type: of, Status: corev1.ConditionTrue}
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: svc.Namespace, Name: name, Labels: svc.Spec.Selector,
				UID: types.UID(fmt.Sprintf("00000000-0000-4000-9000-%012d", l.podCount)),
			},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "c", Ports: containerPorts}}},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
				Conditions: []corev1.PodCondition{
					ready(corev1.PodScheduled), ready(corev1.PodInitialized), ready(corev1.ContainersReady), ready(corev1.PodReady),
				},
			},
		}
		if err := l.harness.Store.Put(pod); err != nil {
			t.Fatal(err)
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, NodeName: &node, Zone: &zone,
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: svc.Namespace, Name: name, UID: pod.UID},
		})
	}
	if _, err := l.harness.Store.Create(slice); err != nil {
		t.Fatal(err)
	}
}
