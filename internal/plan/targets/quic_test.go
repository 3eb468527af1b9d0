package targets_test

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

func containerWithServerID(name, id string, ports ...int32) corev1.Container {
	c := corev1.Container{Name: name}
	for _, p := range ports {
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: p})
	}
	if id != "" {
		c.Env = []corev1.EnvVar{{Name: "OTHER", Value: "AAAA"}, {Name: "AWS_LBC_QUIC_SERVER_ID", Value: id}}
	}
	return c
}

func TestServerIDsAreReadFromThePod(t *testing.T) {
	const a, b = "HHF+gAAAFQU=", "HHF+gAAAFQY="
	const hexA, hexB = "0x1c717e8000001505", "0x1c717e8000001506"
	always := corev1.ContainerRestartPolicyAlways
	from := containerWithServerID("c", a, 8080)
	from.Env[1].Value, from.Env[1].ValueFrom = "", &corev1.EnvVarSource{}
	sidecar := containerWithServerID("s", b, 8080)
	sidecar.RestartPolicy = &always
	tests := map[string]struct {
		spec     corev1.PodSpec
		without  bool // without the annotation
		protocol elbv2.Protocol
		variable string
		want     string
	}{
		"of the container with the port":          {corev1.PodSpec{Containers: []corev1.Container{containerWithServerID("x", a, 9090), containerWithServerID("c", b, 8080)}}, false, elbv2.ProtocolQUIC, "", hexB},
		"the first for a port that none declares": {corev1.PodSpec{Containers: []corev1.Container{containerWithServerID("x", a, 9090), containerWithServerID("c", b)}}, false, elbv2.ProtocolTCPQUIC, "", hexA},
		"a sidecar after the containers":          {corev1.PodSpec{Containers: []corev1.Container{containerWithServerID("x", "", 9090)}, InitContainers: []corev1.Container{sidecar}}, false, elbv2.ProtocolQUIC, "", hexB},
		"not of an init container":                {corev1.PodSpec{InitContainers: []corev1.Container{containerWithServerID("i", a, 8080)}}, false, elbv2.ProtocolQUIC, "", ""},
		"none without the annotation":             {corev1.PodSpec{Containers: []corev1.Container{containerWithServerID("c", a, 8080)}}, true, elbv2.ProtocolQUIC, "", ""},
		"none from valueFrom":                     {corev1.PodSpec{Containers: []corev1.Container{from}}, false, elbv2.ProtocolQUIC, "", ""},
		"none that is not base64":                 {corev1.PodSpec{Containers: []corev1.Container{containerWithServerID("c", "%", 8080)}}, false, elbv2.ProtocolQUIC, "", ""},
		"from the variable that the operator set": {corev1.PodSpec{Containers: []corev1.Container{containerWithServerID("c", a, 8080)}}, false, elbv2.ProtocolQUIC, "OTHER", "0x000000"},
		"none if the target group is not QUIC":    {corev1.PodSpec{Containers: []corev1.Container{containerWithServerID("c", a, 8080)}}, false, elbv2.ProtocolUDP, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store, err := cluster.NewMemory(nil)
			if err != nil {
				t.Fatal(err)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: tt.spec, Status: corev1.PodStatus{PodIP: "10.0.0.1"}}
			if !tt.without {
				pod.Annotations = map[string]string{targets.QUICAnnotation: "c"}
			}
			slice := &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}, AddressType: discoveryv1.AddressTypeIPv4,
				Ports:     []discoveryv1.EndpointPort{{Port: ptr(int32(8080))}},
				Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "p"}}},
			}
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			if err := store.Put(cluster.Reduce(pod, cmp.Or(tt.variable, targets.DefaultQUICVariable)), slice, svc); err != nil {
				t.Fatal(err)
			}
			b := &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b"}}
			b.Spec.TargetType, b.Spec.TargetGroupProtocol = ptr(elbv2.TargetTypeIP), &tt.protocol
			b.Spec.ServiceRef = elbv2.ServiceReference{Name: "web", Port: intstr.FromInt32(80)}
			r := targets.Resolve(cluster.NewView(store), b, targets.Options{QUICVariable: tt.variable})
			if len(r.Endpoints()) != 1 {
				t.Fatalf("endpoints %v", r.Endpoints())
			}
			if got := r.Endpoints()[0].ServerID; got != tt.want {
				t.Errorf("want %q, got %q", tt.want, got)
			}
		})
	}
}

func TestQUICTargetIdentities(t *testing.T) {
	for given, want := range map[string]string{
		"10.0.0.1:80":                         "10.0.0.1:80",
		"10.0.0.1:80:0x1c717e8000001505":      "10.0.0.1:80:0x1c717e8000001505",
		"2600:1f13:0::7:8080":                 "2600:1f13::7:8080",
		"2600:1f13::7:8080:0xab":              "2600:1f13::7:8080:0xab",
		"i-0aaa:30080":                        "i-0aaa:30080",
		"nothing that controllers would keep": "nothing that controllers would keep",
	} {
		if got := targets.CanonicalIdentity(given); got != want {
			t.Errorf("%s: want %s, got %s", given, want, got)
		}
	}
	if got := targets.IdentityOf(&observed.Target{ID: "2600:1f13::7", Port: 8080, ServerID: "0xab"}); got != "2600:1f13::7:8080:0xab" {
		t.Errorf("got %s", got)
	}
}
