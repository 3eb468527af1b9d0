package targets_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

func ptr[T any](v T) *T { return &v }

func podEndpoint(ip string, port int32, ms int64) targets.Endpoint {
	return targets.Endpoint{ID: ip, Port: port, Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.UnixMilli(ms))}}}
}

func nodeEndpoint(id string, port int32, ms int64) targets.Endpoint {
	return targets.Endpoint{ID: id, Port: port, Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.UnixMilli(ms))}}}
}

// TestCheckpointEqualsCheckpointOfOtherControllers checks that Checkpoint returns the same texts as other controllers store
// in TargetGroupBindings with the same targets.
func TestCheckpointEqualsCheckpointOfOtherControllers(t *testing.T) {
	group := func(id string, port int) *elbv2.TargetGroupBindingNetworking {
		tcp, number := elbv2.NetworkingProtocolTCP, intstr.FromInt(port)
		return &elbv2.TargetGroupBindingNetworking{Ingress: []elbv2.NetworkingIngressRule{{
			From:  []elbv2.NetworkingPeer{{SecurityGroup: &elbv2.SecurityGroup{GroupID: id}}},
			Ports: []elbv2.NetworkingPort{{Protocol: &tcp, Port: &number}},
		}}}
	}
	echo := elbv2.TargetGroupBindingSpec{
		TargetGroupARN:          "arn:aws:elasticloadbalancing:us-east-1:565768096483:targetgroup/k8s-echoserv-echoserv-cc0122e143/6816b87346280ee7",
		MultiClusterTargetGroup: true, TargetType: ptr(elbv2.TargetTypeInstance),
		ServiceRef: elbv2.ServiceReference{Name: "echoserver", Port: intstr.FromInt(80)},
		Networking: group("sg-06a2bd7d790ac1d2e", 32197), IPAddressType: ptr(elbv2.TargetGroupIPAddressTypeIPv4), VpcID: "vpc-0a7ef5bd8943067a8",
	}
	svc1 := elbv2.TargetGroupBindingSpec{
		TargetGroupARN: "arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/k8s-ns1-svc1-0123456789/0123456789abcdef",
		TargetType:     ptr(elbv2.TargetTypeIP), TargetGroupProtocol: ptr(elbv2.ProtocolHTTP),
		ServiceRef: elbv2.ServiceReference{Name: "svc1", Port: intstr.FromString("http")},
		Networking: group("sg-0aaa", 8080), IPAddressType: ptr(elbv2.TargetGroupIPAddressTypeIPv4), VpcID: "vpc-0123456789abcdef0",
	}
	const none = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
	tests := []struct {
		name      string
		endpoints []targets.Endpoint
		spec      elbv2.TargetGroupBindingSpec
		want      string
	}{
		{"no endpoints, instance", nil, echo, none + "/_4kBy3Yg64qrXzjvIb2LlC3O__ex1qjozynsqHXmPgo"},
		{"pods in any order", []targets.Endpoint{podEndpoint("10.0.2.7", 8080, 1700000100000), podEndpoint("10.0.1.5", 8080, 1700000000000)}, svc1, "T6IyFK-RIg2L1_awFpv2bCEVYlspb8gPWQ46Ye8Nrwo/kkH_uPV8GbGgXYfzhyh3ISxEAvQGgjcp7wtdVAOJf6Y"},
		{"nodes", []targets.Endpoint{nodeEndpoint("i-0aaa", 30080, 1700000000000), nodeEndpoint("i-0bbb", 30080, 1700000000000)}, echo, "DodGLsRrijvrBDgDCuBhmWuM6RrA6R_IAtXlKxwvz7U/_4kBy3Yg64qrXzjvIb2LlC3O__ex1qjozynsqHXmPgo"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := targets.Checkpoint(tt.endpoints, tt.spec)
			if err != nil || got != tt.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	at := func(ips ...string) (out []targets.Endpoint) {
		for _, ip := range ips {
			out = append(out, podEndpoint(ip, 80, 0))
		}
		return out
	}
	target := func(s string) *observed.Target {
		ip, state, _ := strings.Cut(s, " ")
		return &observed.Target{ID: ip, Port: 80, State: state}
	}
	list := func(ss ...string) (out []*observed.Target) {
		for _, s := range ss {
			out = append(out, target(s))
		}
		return out
	}
	tests := []struct {
		name                    string
		want                    []targets.Endpoint
		have                    []*observed.Target
		limit                   int
		matched, register, drop string
		over                    int
	}{
		{
			name: "draining targets are not registered",
			want: at("10.0.0.1", "10.0.0.2"), have: list("10.0.0.1 healthy", "10.0.0.2 draining", "10.0.0.3 healthy", "10.0.0.4 draining"),
			matched: "10.0.0.1", register: "10.0.0.2", drop: "10.0.0.3",
		},
		{name: "duplicates are removed", want: at("10.0.0.1", "10.0.0.1"), register: "10.0.0.1"},
		{name: "unhealthy.draining", want: at("10.0.0.1"), have: list("10.0.0.1 unhealthy.draining"), register: "10.0.0.1"},
		{name: "addresses by value", want: at("2600:1f13::7"), have: list("2600:1f13:0::7 healthy"), matched: "2600:1f13::7"},
		{
			name: "draining targets count for the limit", limit: 3,
			want: at("10.0.0.1", "10.0.0.2", "10.0.0.3"), have: list("10.0.0.1 healthy", "10.0.0.9 draining"),
			matched: "10.0.0.1", register: "10.0.0.2", over: 1,
		},
		{name: "more targets than the limit", limit: 1, want: at("10.0.0.1"), have: list("10.0.0.8 healthy", "10.0.0.9 healthy"), drop: "10.0.0.8 10.0.0.9", over: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := targets.Compare(tt.want, tt.have, tt.limit)
			var matched, register, drop []string
			for _, m := range d.MatchedPairs {
				matched = append(matched, m.Endpoint.ID)
			}
			for _, e := range d.ToRegister {
				register = append(register, e.ID)
			}
			for _, x := range d.ToDeregister {
				drop = append(drop, x.ID)
			}
			got := []any{strings.Join(matched, " "), strings.Join(register, " "), strings.Join(drop, " "), len(d.OverCapacity)}
			if d := cmp.Diff([]any{tt.matched, tt.register, tt.drop, tt.over}, got); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestCanonicalIdentity(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.1:80":                         "10.0.0.1:80",
		"i-0aaa:30080":                        "i-0aaa:30080",
		"2600:1F13:0:0::7:8080":               "2600:1f13::7:8080",
		"10.0.0.1:80:0x1C717E8000001505":      "10.0.0.1:80:0x1c717e8000001505",
		"2600:1f13::7:443:0x1c717e8000001505": "2600:1f13::7:443:0x1c717e8000001505",
		"nonsense":                            "nonsense",
		"":                                    "",
	} {
		if got := targets.CanonicalIdentity(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestInstanceID(t *testing.T) {
	for in, want := range map[string]string{
		"aws:///us-west-2a/i-0123456789abcdef0":      "i-0123456789abcdef0",
		"i-0123":                                     "i-0123",
		"eks-hybrid:///us-west-2/my-cluster/mi-0a1b": "",
		"aws:///us-west-2a/fargate-ip-10-0-0-1":      "",
		"":                                           "",
	} {
		id, ok := targets.InstanceID(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: in}})
		if ok != (want != "") || ok && id != want {
			t.Errorf("%q: %q, %v", in, id, ok)
		}
	}
}

func TestConditionOf(t *testing.T) {
	open, closed := targets.ReadinessCondition{Status: "True", Message: "m"}, targets.ReadinessCondition{Status: "False", Reason: "R"}
	is := func(state, reason string) *observed.Target {
		return &observed.Target{State: state, Reason: reason, Description: "d"}
	}
	no := func(reason string) targets.ReadinessCondition {
		return targets.ReadinessCondition{Status: "False", Reason: reason, Message: "d"}
	}
	tests := []struct {
		in          *observed.Target
		shown, want targets.ReadinessCondition
	}{
		{&observed.Target{}, open, targets.ReadinessCondition{Status: "Unknown"}},
		{&observed.Target{State: "healthy"}, closed, targets.ReadinessCondition{Status: "True"}},
		{is("initial", "Elb.InitialHealthChecking"), open, open},
		{is("initial", "Elb.InitialHealthChecking"), closed, no("Elb.InitialHealthChecking")},
		{is("unhealthy", "Target.Timeout"), open, no("Target.Timeout")},
		{is("unused", "Target.NotInUse"), targets.ReadinessCondition{}, targets.ReadinessCondition{Status: "Unknown", Reason: "Target.NotInUse", Message: "d"}},
		{is("unused", "Target.NotInUse"), closed, targets.ReadinessCondition{Status: "Unknown", Reason: "Target.NotInUse", Message: "d"}},
		{is("unused", "Target.NotInUse"), open, open},
		{is("unused", "Target.NotInUse"), targets.NotInUseCondition, targets.NotInUseCondition},
		{is("initial", "Elb.RegistrationInProgress"), targets.NotInUseCondition, targets.NotInUseCondition},
		{is("unhealthy", "Target.Timeout"), targets.NotInUseCondition, no("Target.Timeout")},
		{is("healthy", ""), targets.NotInUseCondition, targets.ReadinessCondition{Status: "True", Message: "d"}},
		{is("unused", "Target.InvalidState"), open, no("Target.InvalidState")},
	}
	for _, tt := range tests {
		if got := targets.ConditionOf(tt.in, tt.shown); got != tt.want {
			t.Errorf("%v after %v: got %v", tt.in, tt.shown, got)
		}
	}
}
