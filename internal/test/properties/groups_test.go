package properties

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Values for random Ingresses and Services. They are few, so conflicts are frequent.
var (
	namespaces   = []string{"shop", "shop-b"}
	ingressNames = []string{"web", "web-a", "a", "b"}
	serviceNames = []string{"web", "a-web", "api"}
	hosts        = []string{"", "", "a.example.com", "b.example.com", "*.example.com"}
	paths        = []string{"", "/", "/a", "/a/", "/a/x", "/b", "/a*", "/?", "/a/[0-9]+"}
	pathTypes    = []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific}
)

// annotationChoices are valid and invalid values of Ingress annotations. Keys are without the prefix. A key that occurs
// twice is chosen more often.
var annotationChoices = []struct {
	key    string
	values []string
}{
	{"listen-ports", []string{`[{"HTTP":80}]`, `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80},{"HTTP":8080}]`, `[{"HTTPS":443}]`, `[{"HTTP":"x"}]`, `[`}},
	{"listen-ports", []string{`[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80}]`}},
	{"certificate-arn", []string{"arn:aws:acm:us-west-2:1:certificate/1", "arn:aws:acm:us-west-2:1:certificate/2,arn:aws:acm:us-west-2:1:certificate/1"}},
	{"ssl-redirect", []string{"443", "8443", "x"}},
	{"ssl-policy", []string{"ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-2016-08"}},
	{"target-type", []string{"ip", "instance", "pod"}},
	{"target-type", []string{"ip", "instance"}},
	{"group.order", []string{"1", "-1", "7", "many"}},
	{"backend-protocol", []string{"HTTP", "HTTPS", "TCP"}},
	{"backend-protocol-version", []string{"GRPC", "HTTP2", "HTTP3"}},
	{"healthcheck-path", []string{"/up", "/ready"}},
	{"healthcheck-port", []string{"traffic-port", "9000", "http", "nowhere"}},
	{"healthcheck-interval-seconds", []string{"10", "ten"}},
	{"success-codes", []string{"200-299"}},
	{"target-group-attributes", []string{"stickiness.enabled=true", "slow_start.duration_seconds=30", "=", "x"}},
	{"tags", []string{"team=a", "team=b,env=prod", "aws:x=y", "elbv2.k8s.aws/cluster=mine", "ingress.k8s.aws/stack=mine", "k=" + textOfLength(300), "x"}},
	{"load-balancer-attributes", []string{"idle_timeout.timeout_seconds=30", "idle_timeout.timeout_seconds=40", "x"}},
	{"listener-attributes.HTTP-80", []string{"routing.http.response.server.enabled=false", "x"}},
	{"inbound-cidrs", []string{"10.0.0.0/8", "10.1.0.0/8, ::/0", "ten"}},
	{"security-group-prefix-lists", []string{"pl-1", "pl-1,pl-2"}},
	{"security-groups", []string{"sg-1", "sg-1,extra", "gone"}},
	{"manage-backend-security-group-rules", []string{"true", "yes please"}},
	{"subnets", []string{"subnet-a,subnet-b", "net-a,net-b", "net-a,gone"}},
	{"ip-address-type", []string{"dualstack", "ipv4", "ipv5"}},
	{"use-regex-path-match", []string{"true", "false", "maybe"}},
	{"actions.act", []string{
		`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"410"}}`,
		`{"type":"redirect","redirectConfig":{"host":"new.example.com","statusCode":"HTTP_301"}}`,
		`{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"443","statusCode":"HTTP_302"}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"web","servicePort":80,"weight":30},{"serviceName":"api","servicePort":"http","weight":70}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"arn:external"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupName":"external"}]}}`,
		`{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"gone","servicePort":80}]}}`,
		`{"type":"teleport"}`, `{`,
	}},
	{"actions.act", []string{`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"418"}}`}},
	{"conditions.web", []string{
		`[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["1"]}}]`,
		`[{"field":"host-header","hostHeaderConfig":{"values":["c.example.com"]}}]`,
		`[{"field":"source-ip","sourceIpConfig":{"values":["192.0.2.0/24"]}}]`,
		`[{"field":"mood"}]`, `[`,
	}},
	{"transforms.web", []string{`[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/a","replace":"/"}]}}]`, `[{"type":"sing"}]`}},
	{"auth-type", []string{"cognito", "oidc", "none", "magic"}},
	{"auth-idp-cognito", []string{`{"userPoolARN":"arn:aws:cognito-idp:us-west-2:1:userpool/p","userPoolClientID":"c","userPoolDomain":"d"}`, `{`}},
	{"jwt-validation", []string{`{"jwksEndpoint":"https://id.example.com/jwks","issuer":"https://id.example.com"}`, `{`}},
	{"wafv2-acl-arn", []string{"arn:aws:wafv2:us-west-2:1:regional/webacl/x/1", "none"}},
	{"wafv2-acl-name", []string{"acl", "gone"}},
	{"shield-advanced-protection", []string{"true", "false", "perhaps"}},
	{"mutual-authentication", []string{`[{"port":443,"mode":"passthrough"}]`, `[{"port":443,"mode":"verify","trustStore":"store"}]`, `[{"port":443,"mode":"verify","trustStore":"gone"}]`, `[`}},
	{"minimum-load-balancer-capacity", []string{"CapacityUnits=100", "CapacityUnits=x"}},
	{"load-balancer-name", []string{"mine", "yours", textOfLength(40)}},
	{"enable-frontend-nlb", []string{"true", "false", "maybe"}},
	{"frontend-nlb-listener-port-mapping", []string{"80=80", "9000=80", "x"}},
}

// textOfLength returns a text of n characters.
func textOfLength(n int) string { return strings.Repeat("abcdefghij", n/10+1)[:n] }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// ingressGroupShape has the properties that all versions of a random IngressGroup share.
type ingressGroupShape struct {
	ingressGroup string
	scheme       model.Scheme
	// hasLongNames reports that all names of objects have the maximum length.
	hasLongNames bool
}

func randomShape(r *rand.Rand) ingressGroupShape {
	s := ingressGroupShape{ingressGroup: "g", scheme: pick(r, []model.Scheme{model.Internal, model.InternetFacing}), hasLongNames: r.IntN(10) == 0}
	if s.hasLongNames {
		s.ingressGroup = "g." + textOfLength(61)
	}
	return s
}

func (s ingressGroupShape) id() model.StackID {
	return model.StackID{Kind: model.Ingress, Name: s.ingressGroup}
}

func (s ingressGroupShape) name(short string, limit int) string {
	if !s.hasLongNames {
		return short
	}
	return short + "-" + textOfLength(limit-1-len(short))
}

// newObjects returns the objects of a random version of an IngressGroup. The Ingresses already have their finalizers.
func (s ingressGroupShape) newObjects(r *rand.Rand) []cluster.Object {
	out := []cluster.Object{&networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: "alb"}, Spec: networkingv1.IngressClassSpec{Controller: "ingress.k8s.aws/alb"},
	}}
	for _, ns := range namespaces {
		ns = s.name(ns, 63)
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		for _, name := range serviceNames {
			out = append(out, s.newService(r, ns, name))
		}
	}
	taken := map[string]bool{}
	for range 1 + r.IntN(4) {
		ing := s.newIngress(r)
		if key := ing.Namespace + "/" + ing.Name; !taken[key] {
			taken[key] = true
			out = append(out, ing)
		}
	}
	return out
}

func (s ingressGroupShape) newService(r *rand.Rand, ns, name string) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: s.name(name, 63), UID: types.UID("uid-" + ns + "-" + name)},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: "10.96.0.1", Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, NodePort: 30080, TargetPort: intstr.FromInt32(8080), Protocol: corev1.ProtocolTCP},
			{Name: "admin", Port: 8081, NodePort: 30081, TargetPort: intstr.FromString("admin"), Protocol: corev1.ProtocolTCP},
		}},
	}
	switch r.IntN(12) {
	case 0:
		svc.Spec.Type = corev1.ServiceTypeClusterIP
		svc.Spec.Ports[0].NodePort, svc.Spec.Ports[1].NodePort = 0, 0
	case 1:
		svc.Annotations = map[string]string{settings.Prefix + "target-type": "ip"}
	case 2:
		svc.Annotations = map[string]string{settings.Prefix + "healthcheck-interval-seconds": "often"}
	case 3:
		svc.Annotations = map[string]string{settings.Prefix + "tags": "of=service"}
	}
	return svc
}

func (s ingressGroupShape) newIngress(r *rand.Rand) *networkingv1.Ingress {
	class := "alb"
	ing := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.name(pick(r, namespaces), 63), Name: s.name(pick(r, ingressNames), 253),
			Finalizers: []string{naming.Finalizer(s.id())},
			Annotations: map[string]string{
				settings.Prefix + "group.name": s.ingressGroup, settings.Prefix + "scheme": string(s.scheme),
				settings.Prefix + "certificate-arn": "arn:aws:acm:us-west-2:1:certificate/1",
				settings.Prefix + "listen-ports":    `[{"HTTP":80}]`,
			},
		},
		Spec: networkingv1.IngressSpec{IngressClassName: &class},
	}
	for range r.IntN(6) {
		a := pick(r, annotationChoices)
		ing.Annotations[settings.Prefix+a.key] = pick(r, a.values)
	}
	if r.IntN(6) == 0 {
		b := s.newBackend(r)
		ing.Spec.DefaultBackend = &b
	}
	for range 1 + r.IntN(3) {
		rule := networkingv1.IngressRule{Host: pick(r, hosts), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
		for range 1 + r.IntN(2) {
			kind := pick(r, pathTypes)
			rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: pick(r, paths), PathType: &kind, Backend: s.newBackend(r)})
		}
		ing.Spec.Rules = append(ing.Spec.Rules, rule)
	}
	return ing
}

func (s ingressGroupShape) newBackend(r *rand.Rand) networkingv1.IngressBackend {
	to := &networkingv1.IngressServiceBackend{Name: s.name(pick(r, serviceNames), 63)}
	switch r.IntN(10) {
	case 0:
		to.Name, to.Port.Name = "act", "use-annotation"
	case 1:
		to.Name, to.Port.Number = "gone", 80
	case 2:
		to.Port.Number = 81 // a port that the Service does not have
	case 3:
		to.Port.Name = "admin"
	case 4, 5:
		to.Port.Name = "http"
	default:
		to.Port.Number = 80
	}
	return networkingv1.IngressBackend{Service: to}
}

// newStore returns a store with the objects, added in the given order.
func newStore(t *testing.T, objs []cluster.Object) *cluster.Memory {
	t.Helper()
	m, err := cluster.NewMemory(nil)
	if err == nil {
		err = m.Put(objs...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// describeObjects returns the Ingresses among objs as text, for messages of failed tests. It leaves out other objects.
func describeObjects(objs []cluster.Object) string {
	var b strings.Builder
	for _, o := range objs {
		if svc, ok := o.(*corev1.Service); ok && len(svc.Annotations) > 0 {
			fmt.Fprintf(&b, "Service %s/%s %v %+v\n", svc.Namespace, svc.Name, svc.Annotations, svc.Spec)
		}
		if ing, ok := o.(*networkingv1.Ingress); ok {
			fmt.Fprintf(&b, "%s/%s %v\n", ing.Namespace, ing.Name, ing.Annotations)
			for _, rule := range ing.Spec.Rules {
				for _, p := range rule.HTTP.Paths {
					fmt.Fprintf(&b, "  %q %q %s -> %s:%s%d\n", rule.Host, p.Path, *p.PathType, p.Backend.Service.Name, p.Backend.Service.Port.Name, p.Backend.Service.Port.Number)
				}
			}
		}
	}
	return b.String()
}
