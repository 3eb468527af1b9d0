package properties

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// randomServiceCount is the number of random Services for a test.
const randomServiceCount = 700

// serviceAnnotations are valid and invalid values of Service annotations. Keys are without the prefix
// "service.beta.kubernetes.io/". A key that occurs twice is chosen more often.
var serviceAnnotations = []struct {
	key    string
	values []string
}{
	{"aws-load-balancer-nlb-target-type", []string{"ip", "instance", "pod"}},
	{"aws-load-balancer-nlb-target-type", []string{"ip", "ip", "instance"}},
	{"aws-load-balancer-scheme", []string{"internal", "internet-facing", "both"}},
	{"aws-load-balancer-name", []string{"mine", "yours", textOfLength(40)}},
	{"aws-load-balancer-ip-address-type", []string{"ipv4", "dualstack", "ipv5"}},
	{"aws-load-balancer-subnets", []string{"subnet-a,subnet-b", "net-a", "gone"}},
	{"aws-load-balancer-eip-allocations", []string{"eip-1,eip-2", "eip-1"}},
	{"aws-load-balancer-private-ipv4-addresses", []string{"10.0.1.9,10.0.2.9", "10.0.9.9", "x"}},
	{"aws-load-balancer-enable-prefix-for-ipv6-source-nat", []string{"on", "off", "perhaps"}},
	{"aws-load-balancer-disable-nlb-sg", []string{"true", "false", "x"}},
	{"aws-load-balancer-security-groups", []string{"sg-1", "sg-1,extra", "gone"}},
	{"aws-load-balancer-manage-backend-security-group-rules", []string{"true", "false", "x"}},
	{"load-balancer-source-ranges", []string{"10.0.0.0/8", "10.1.0.0/16,::/0", "ten"}},
	{"aws-load-balancer-security-group-prefix-lists", []string{"pl-1", ""}},
	{"aws-load-balancer-enable-icmp-for-path-mtu-discovery", []string{"on", "x"}},
	{"aws-load-balancer-inbound-sg-rules-on-private-link-traffic", []string{"on", "off", "x"}},
	{"aws-load-balancer-attributes", []string{"load_balancing.cross_zone.enabled=true", "x"}},
	{"aws-load-balancer-minimum-load-balancer-capacity", []string{"CapacityUnits=100", "Units=1"}},
	{"aws-load-balancer-ssl-cert", []string{"arn:aws:acm:us-west-2:1:certificate/1", "arn:aws:acm:us-west-2:1:certificate/2,arn:aws:acm:us-west-2:1:certificate/1"}},
	{"aws-load-balancer-ssl-ports", []string{"443", "a", "nowhere"}},
	{"aws-load-balancer-backend-protocol", []string{"ssl", "tcp"}},
	{"aws-load-balancer-alpn-policy", []string{"HTTP2Only", "None", "x"}},
	{"aws-load-balancer-enable-tcp-udp-listener", []string{"true", "false", "x"}},
	{"aws-load-balancer-quic-enabled-ports", []string{"53", "80"}},
	{"aws-load-balancer-listener-attributes.TCP-80", []string{"tcp.idle_timeout.seconds=60", "x"}},
	{"aws-load-balancer-target-group-attributes", []string{"preserve_client_ip.enabled=true", "stickiness.enabled=true", "="}},
	{"aws-load-balancer-proxy-protocol", []string{"*", "80"}},
	{"aws-load-balancer-healthcheck-protocol", []string{"http", "TCP", "ftp"}},
	{"aws-load-balancer-healthcheck-port", []string{"traffic-port", "9000", "a", "nowhere"}},
	{"aws-load-balancer-healthcheck-interval", []string{"30", "ten"}},
	{"aws-load-balancer-additional-resource-tags", []string{"team=a,env=prod", "aws:x=y", "service.k8s.aws/stack=mine", "k=" + textOfLength(300), "x"}},
	{"actions.TCP-80", []string{
		`{"type":"forward","forwardConfig":{"baseServiceWeight":1,"targetGroups":[{"serviceName":"other","servicePort":80,"weight":9}]}}`,
		`{"type":"forward","forwardConfig":{"baseServiceWeight":0,"targetGroups":[{"targetGroupARN":"arn:external","weight":1}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"gone","servicePort":80,"weight":1}]}}`, `{"type":"redirect"}`, `{`,
	}},
}

// randomService returns a Service "web" with an NLB and random settings, and a Service "other" to which it may forward.
func randomService(r *rand.Rand) []cluster.Object {
	svc := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: types.UID("uid-web"), Annotations: map[string]string{}, Finalizers: []string{"service.k8s.aws/resources"},
	}}
	for range r.IntN(9) {
		a := serviceAnnotations[r.IntN(len(serviceAnnotations))]
		svc.Annotations["service.beta.kubernetes.io/"+a.key] = pick(r, a.values)
	}
	class := service.DefaultClass
	svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class, Selector: map[string]string{"app": "web"}}
	for _, number := range []int32{80, 443, 53} {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
			if r.IntN(3) > 0 && !(number == 80 && protocol == corev1.ProtocolTCP) {
				continue
			}
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{
				Name: pick(r, []string{"a", "b", "c", "d"}) + fmt.Sprint(len(svc.Spec.Ports)), Port: number, Protocol: protocol,
				TargetPort: pick(r, []intstr.IntOrString{intstr.FromInt32(8080), intstr.FromString("http")}), NodePort: 30000 + number,
			})
		}
	}
	if r.IntN(4) == 0 {
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 32001
	}
	other := svc.DeepCopy()
	other.Name, other.UID, other.Annotations, other.Finalizers = "other", "uid-other", nil, nil
	other.Spec.Type, other.Spec.LoadBalancerClass = corev1.ServiceTypeNodePort, nil
	other.Spec.Ports = []corev1.ServicePort{{Name: "a", Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: 31080, Protocol: corev1.ProtocolTCP}}
	return []cluster.Object{svc, other}
}

var randomServiceID = model.StackID{Kind: model.Service, Namespace: "shop", Name: "web"}

// translateService translates the random Service as the engine does: while settings are contested, it answers the
// questions of the stack in have and translates again with have.
func translateService(t *testing.T, src cluster.Source, have *observed.Stack) (model.Stack, finding.List) {
	t.Helper()
	f := service.New(service.Options{Options: assemble.Options{Cluster: "rig"}})
	v := cluster.NewView(&cluster.ReducedSource{Source: src})
	s, found := f.Translate(v, randomServiceID, nil)
	for range 6 {
		if !s.Contested {
			break
		}
		answerQuestions(have, s.Questions(), alwaysHealthy)
		s, found = f.Translate(v, randomServiceID, have)
	}
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return s, found
}

func TestTranslationOfServicesIsDeterministic(t *testing.T) {
	t.Parallel()
	seeds.Each(t, randomServiceCount, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 11))
		objs := randomService(r)
		src, have, again := newStore(t, objs), emptyState(), emptyState()
		want, found := translateService(t, src, &have)
		twice, foundAgain := translateService(t, enginetest.NewShuffledSource(src, r.Uint64()), &again)
		if d := cmp.Diff(goldentest.Dump(want), goldentest.Dump(twice)); d != "" {
			t.Errorf("seed %d: the stack differs:\n%s\n%s", seed, d, describeObjects(objs))
		}
		if d := cmp.Diff(found, foundAgain); d != "" {
			t.Errorf("seed %d: the findings differ:\n%s\n%s", seed, d, describeObjects(objs))
		}
		for _, f := range found {
			if f.Object.Name != "web" || f.Field == "" || f.Reason == "" || f.Message == "" || f.Fix == "" {
				t.Errorf("seed %d: %s\n%s", seed, f, describeObjects(objs))
			}
		}
	})
}

// TestEveryStepOfServicesIsValidInAWS checks plans that create a random Service and then change it to another version. AWS
// must accept the listeners after each step, and all names and tags at the end.
func TestEveryStepOfServicesIsValidInAWS(t *testing.T) {
	t.Parallel()
	seeds.Each(t, randomServiceCount, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 12))
		have := emptyState()
		for range 2 {
			objs := randomService(r)
			want, _ := translateService(t, newStore(t, objs), &have)
			end, moments := converge(t, want, have, pick(r, []string{"", "/web", "/other"}))
			checkNamesAndTags(t, seed, want, end)
			for _, m := range moments {
				if fault := listenerRejection(m.have); fault != "" {
					t.Errorf("seed %d: %s after %s of\n%s\n%s", seed, fault, m.step, m.plan.Text(), describeObjects(objs))
					return
				}
			}
			have = end
		}
	})
}

// forwardProtocols are the target group protocols to which an NLB listener may forward, by listener protocol.
var forwardProtocols = map[string][]string{
	"TCP": {"TCP", "TCP_UDP"}, "TLS": {"TCP", "TLS"}, "UDP": {"UDP", "TCP_UDP"}, "TCP_UDP": {"TCP_UDP"}, "QUIC": {"QUIC", "TCP_QUIC"}, "TCP_QUIC": {"TCP_QUIC"},
}

// listenerRejection returns why AWS would reject the listeners of the NLBs in have, or "" if AWS would accept them.
func listenerRejection(have observed.Stack) string {
	protocols := map[string]string{}
	for _, g := range have.TargetGroups {
		protocols[g.ARN] = g.Protocol
	}
	for _, lb := range have.LoadBalancers {
		for _, l := range lb.Listeners {
			to, ok := l.Default[0].(model.Forward)
			if !ok {
				return fmt.Sprintf("port %d does not forward", l.Port)
			}
			first := ""
			for _, g := range to.Groups {
				p, own := protocols[g.Group.ARN]
				if !own {
					continue
				}
				if !slices.Contains(forwardProtocols[l.Protocol], p) || first != "" && p != first {
					return fmt.Sprintf("port %d with %s forwards to %s besides %q", l.Port, l.Protocol, p, first)
				}
				first = p
			}
			if (l.Protocol == "TLS") != (l.Certificate != "") {
				return fmt.Sprintf("port %d with %s has certificate %q", l.Port, l.Protocol, l.Certificate)
			}
		}
	}
	return ""
}
