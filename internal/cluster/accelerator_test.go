package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
)

const acceleratorDoc = `
apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata:
  namespace: shop
  name: web
  labels: {team: a}
  finalizers: [aga.k8s.aws/resources, others/x]
  annotations: {fulcrum.dev/protect: "true", example.com/a: b}
spec:
  listeners:
  - endpointGroups:
    - endpoints: [{type: Ingress, name: front}, {type: Service, name: api, weight: 0, clientIPPreservationEnabled: false}]
    - {region: us-east-1, trafficDialPercentage: 0}
`

// TestAcceleratorsAreRead checks that a GlobalAccelerator gets the defaults of its CRD and is found by its finalizer. Reduce
// keeps the spec and removes labels and unused annotations.
func TestAcceleratorsAreRead(t *testing.T) {
	m, err := MemoryFromYAML(clocktesting.NewFakePassiveClock(time.Unix(100, 0)), []byte(acceleratorDoc))
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(m)
	ga, ok := Get[*aga.GlobalAccelerator](v, KindGlobalAccelerator, "shop", "web")
	if !ok {
		t.Fatal(v.Err())
	}
	endpoint := func(kind aga.EndpointType, name string, weight int32, preserve bool) aga.Endpoint {
		return aga.Endpoint{Type: kind, Name: name, Weight: &weight, ClientIPPreservationEnabled: &preserve}
	}
	want := aga.GlobalAcceleratorSpec{IPAddressType: "IPV4", Listeners: []aga.Listener{{ClientAffinity: "NONE", EndpointGroups: []aga.EndpointGroup{
		{TrafficDialPercentage: new(int32(100)), Endpoints: []aga.Endpoint{endpoint("Ingress", "front", 128, true), endpoint("Service", "api", 0, false)}},
		{Region: "us-east-1", TrafficDialPercentage: new(int32(0))},
	}}}}
	if d := cmp.Diff(want, ga.Spec); d != "" {
		t.Error(d)
	}
	if got := List[*aga.GlobalAccelerator](v, Query{Kind: KindGlobalAccelerator, Index: ByFinalizer, Value: "aga.k8s.aws/resources"}); len(got) != 1 {
		t.Errorf("%d GlobalAccelerators are found by finalizer, want 1", len(got))
	}
	reduced := Reduce(ga.DeepCopy(), "")
	if d := cmp.Diff(map[string]string{"fulcrum.dev/protect": "true"}, reduced.GetAnnotations()); d != "" || reduced.GetLabels() != nil {
		t.Error(d, reduced.GetLabels())
	}
	if d := cmp.Diff(want, reduced.(*aga.GlobalAccelerator).Spec); d != "" {
		t.Error(d)
	}
}

// TestTheStatusOfAnAcceleratorIsASubresource checks that a write to the object does not change the status, and that a write
// to the status does not increment the generation. A change of the status counts as a change of content, because another
// client may have written it.
func TestTheStatusOfAnAcceleratorIsASubresource(t *testing.T) {
	m, err := MemoryFromYAML(clocktesting.NewFakePassiveClock(time.Unix(100, 0)), []byte(acceleratorDoc))
	if err != nil {
		t.Fatal(err)
	}
	get := func() *aga.GlobalAccelerator {
		ga, _ := Get[*aga.GlobalAccelerator](NewView(m), KindGlobalAccelerator, "shop", "web")
		return ga
	}
	patch := func(part Part, data string) *aga.GlobalAccelerator {
		t.Helper()
		if _, err := m.Patch(get(), part, types.MergePatchType, []byte(data)); err != nil {
			t.Fatal(err)
		}
		return get()
	}
	was := get()
	if now := patch(MainPart, `{"status":{"acceleratorARN":"arn:x"}}`); now.Status.AcceleratorARN != "" {
		t.Error("a change of the object has written its status")
	}
	now := patch(StatusPart, `{"status":{"acceleratorARN":"arn:x"}}`)
	if now.Status.AcceleratorARN != "arn:x" || now.Generation != was.Generation || SameContent(was, now) || StatusOf(now).(*aga.GlobalAcceleratorStatus).AcceleratorARN != "arn:x" {
		t.Errorf("%+v", now)
	}
	if now := patch(MainPart, `{"spec":{"name":"other"}}`); now.Generation != was.Generation+1 || now.Status.AcceleratorARN != "arn:x" {
		t.Errorf("%+v", now)
	}
}

// TestReduceKeepsLoadBalancersOfServices checks that Reduce keeps the load balancer in the status of a Service of type
// LoadBalancer, and removes the rest of the status. The load balancer may be an endpoint of an accelerator, even if another
// controller created it.
func TestReduceKeepsLoadBalancersOfServices(t *testing.T) {
	shown := func(of corev1.ServiceType) *corev1.Service {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "api"}, Spec: corev1.ServiceSpec{Type: of}}
		svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "api.elb.amazonaws.com"}}
		svc.Status.Conditions = []metav1.Condition{{Type: "Theirs"}}
		return svc
	}
	for of, want := range map[corev1.ServiceType]int{corev1.ServiceTypeLoadBalancer: 1, corev1.ServiceTypeNodePort: 0} {
		status := Reduce(shown(of), "").(*corev1.Service).Status
		if len(status.LoadBalancer.Ingress) != want || len(status.Conditions) > 0 {
			t.Errorf("%s: %+v", of, status)
		}
	}
}
