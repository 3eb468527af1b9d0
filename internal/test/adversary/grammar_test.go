//lint:file-ignore SA1019 Endpoints objects can still be written.

package adversary

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// grammar generates the moves of the attacker: all objects that the API server accepts from a user with write access
// to one namespace.
type grammar struct {
	*rand.Rand
	access access
	rows   []settings.Row
	// isAddressReused is set if the address of the pod that the victims' rollout replaced may belong to a pod of the
	// attacker.
	isAddressReused bool
}

func pick[T any](g *grammar, of ...T) T { return of[g.IntN(len(of))] }

func (g *grammar) chance(percent int) bool { return g.IntN(100) < percent }

// waitsBetweenMoves are the times between moves.
var waitsBetweenMoves = []time.Duration{0, 0, 0, 200 * time.Millisecond, time.Second, 5 * time.Second, 5 * time.Second, 20 * time.Second, time.Minute, 3 * time.Minute}

// move returns a random move.
func (g *grammar) move() move {
	m := move{wait: pick(g, waitsBetweenMoves...), removesFinalizers: g.chance(5)}
	switch n := g.IntN(100); {
	case n < 36:
		m.object = g.ingress()
	case n < 48:
		m.object = g.serviceWithNLB()
	case n < 56:
		m.object = g.service()
	case n < 66:
		m.object = g.endpointSlice()
	case n < 74:
		m.object = g.pod()
	case n < 82:
		m.object = g.binding()
	case n < 85:
		m.object = g.secret()
	case n < 88 && g.access == classOwner:
		m.object = g.ingressClass()
	case n < 96 && g.access == classOwner, n < 87:
		if g.access == classOwner {
			m.object = g.parameters()
			break
		}
		m.object = g.endpoints()
	default:
		m.deletedRef, m.removesFinalizers = g.objectToDelete(), false
		return m
	}
	return m
}

func (g *grammar) objectToDelete() cluster.Ref {
	kind := pick(g, cluster.KindIngress, cluster.KindIngress, cluster.KindService, cluster.KindPod, cluster.KindEndpointSlice, cluster.KindBinding, cluster.KindSecret)
	name := map[cluster.Kind]string{cluster.KindIngress: g.ingressName(), cluster.KindService: g.serviceName(), cluster.KindPod: g.podName(),
		cluster.KindEndpointSlice: g.serviceName() + "-1", cluster.KindBinding: g.bindingName(), cluster.KindSecret: "login"}[kind]
	return cluster.Ref{Kind: kind, Namespace: attackerNamespace, Name: name}
}

func (g *grammar) ingressName() string { return fmt.Sprintf("i%d", g.IntN(5)) }
func (g *grammar) serviceName() string { return fmt.Sprintf("s%d", g.IntN(3)) }
func (g *grammar) podName() string     { return fmt.Sprintf("p%d", g.IntN(4)) }
func (g *grammar) bindingName() string { return fmt.Sprintf("b%d", g.IntN(3)) }

func (g *grammar) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: attackerNamespace, Name: name}
}

// acceptableAnnotations returns annotations of an Ingress that is likely to be accepted and served.
func (g *grammar) acceptableAnnotations() map[string]string {
	out := map[string]string{}
	set := func(percent int, key string, values ...string) {
		if g.chance(percent) {
			out[annotationPrefix+key] = pick(g, values...)
		}
	}
	set(75, "group.name", "open", "open", "open", "vault", "vault", "own")
	set(60, "group.order", "-1000", "1000", "15", "25", "0", "10")
	set(80, "target-type", "ip", "ip", "instance")
	set(60, "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80},{"HTTPS":443}]`, `[{"HTTP":80}]`, `[{"HTTPS":443}]`, `[{"HTTP":8080}]`)
	set(40, "scheme", "internal")
	set(40, "certificate-arn", "$CERT")
	set(6, "group.order", annotationChoices["group.order"].invalidValues...)
	set(5, "tags", manyTags)
	if g.chance(8) { // these annotations need each other
		out[annotationPrefix+"auth-type"] = "oidc"
		out[annotationPrefix+"auth-idp-oidc"] = pick(g, append(annotationChoices["auth-idp-oidc"].validValues, annotationChoices["auth-idp-oidc"].invalidValues...)...)
	}
	return out
}

// annotate adds up to n random annotations of the settings tables, with valid or invalid values. If service is set, it adds
// only annotations that Services may have.
func (g *grammar) annotate(to map[string]string, n int, service bool) {
	for range n {
		r := g.rows[g.IntN(len(g.rows))]
		if service && !r.Service {
			continue
		}
		c := choiceFor(r)
		value := pick(g, c.validValues...)
		if g.chance(30) {
			value = pick(g, c.invalidValues...)
		}
		to[fullKey(r.Key, g.placeholderValue(r.Key))] = value
	}
	if g.chance(3) { // the API server allows 256 KiB of annotations in total
		r := g.rows[g.IntN(len(g.rows))]
		to[fullKey(r.Key, g.placeholderValue(r.Key))] = strings.Repeat(pick(g, "x", ",", "a=b,", "[", "\\", "é"), 30000)
	}
}

// placeholderValue returns the value for the variable part of a key.
func (g *grammar) placeholderValue(key string) string {
	switch {
	case strings.HasPrefix(key, "listener-attributes."):
		return pick(g, "HTTPS-443", "HTTP-80", "HTTP-443", "HTTPS-8443", "x")
	case strings.HasPrefix(key, "target-control-port."):
		return pick(g, "s0.80", "s1.80", "x")
	}
	return pick(g, "act", "act", "s0", "s1")
}

var (
	victimHosts    = []string{"shop.example.com", "blog.example.com", "extra.example.com", "vault.app.test", "blog.app.test", "extra.app.test", "solo.example.com"}
	evilHosts      = []string{"evil.example.com", "evil.app.test", "*.example.com", "*.app.test", "", "*.com", strings.Repeat("a", 63) + ".example.com"}
	paths          = []string{"/", "/", "/new", "/new/", "/api", "/post/1", "/evil", "/a/b/c/d/e/f", "/" + strings.Repeat("p", 120), "/" + strings.Repeat("p", 200)}
	irregularPaths = []string{"/*", "", "*", "/n?w", "^/.*$", "(", "/[a-z]+", "/a b", "/%2e%2e/", "/" + strings.Repeat("*", 6), "//", "/☃"}
)

func (g *grammar) ingress() cluster.Object {
	switch n := g.IntN(100); {
	case n < 2:
		return g.largestIngress()
	case n < 8:
		return g.imitatingIngress()
	}
	ing := &networkingv1.Ingress{ObjectMeta: g.meta(g.ingressName())}
	ing.Annotations = map[string]string{}
	if g.chance(85) {
		ing.Annotations = g.acceptableAnnotations()
	}
	g.annotate(ing.Annotations, pick(g, 0, 1, 1, 2, 3, 5), false)
	classes := []string{"alb", "alb", "alb", "alb", "alb", "pinned", "pinned", "nginx", "none"}
	if g.access == classOwner {
		classes = append(classes, attackerClass, attackerClass, attackerClass, attackerClass)
	}
	if g.chance(92) {
		class := pick(g, classes...)
		ing.Spec.IngressClassName = &class
	}
	if g.chance(6) {
		ing.Annotations["kubernetes.io/ingress.class"] = pick(g, "alb", "nginx", "", "pinned")
	}
	if g.chance(25) {
		for range 1 + g.IntN(2) {
			ing.Finalizers = append(ing.Finalizers, pick(g, finalizerOf("open"), finalizerOf("vault"), finalizerOf("vault"), finalizerOf("own"), naming.ImplicitFinalizer))
		}
	}
	if g.chance(15) {
		b := g.backend()
		ing.Spec.DefaultBackend = &b
	}
	rules := pick(g, 0, 1, 1, 1, 2, 4)
	if g.chance(3) {
		rules = 40
	}
	for range rules {
		ing.Spec.Rules = append(ing.Spec.Rules, g.rule())
	}
	if len(ing.Spec.Rules) == 0 && ing.Spec.DefaultBackend == nil { // the API server requires one of them
		ing.Spec.Rules = append(ing.Spec.Rules, g.rule())
	}
	g.addReferencedAction(ing)
	if g.chance(10) {
		ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{Hosts: []string{pick(g, "shop.example.com", "evil.example.com", "nowhere.invalid")}, SecretName: pick(g, "", "login")})
	}
	if g.chance(5) {
		ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: pick(g, "evil.example.com", "internal-k8s-open-2cc30f7c14-7252512053.us-west-2.elb.amazonaws.com")}}
	}
	return ing
}

// imitatingIngress returns an Ingress with the routes of all victims, and usually their finalizers.
func (g *grammar) imitatingIngress() cluster.Object {
	ing := &networkingv1.Ingress{ObjectMeta: g.meta(g.ingressName())}
	ing.Annotations = g.acceptableAnnotations()
	class := pick(g, "alb", "alb", "pinned", "none")
	ing.Spec.IngressClassName = &class
	if g.chance(60) {
		ing.Finalizers = []string{finalizerOf("open"), finalizerOf("vault")}
	}
	backend := g.backend()
	if g.chance(60) {
		backend = networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "act", Port: networkingv1.ServiceBackendPort{Name: "use-annotation"}}}
	}
	kind := networkingv1.PathTypePrefix
	for _, host := range victimHosts {
		rule := networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
		for _, path := range []string{"/", "/new"} {
			rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: path, PathType: &kind, Backend: backend})
		}
		ing.Spec.Rules = append(ing.Spec.Rules, rule)
	}
	g.addReferencedAction(ing)
	return ing
}

// addReferencedAction usually adds annotation actions.act if a backend refers to it.
func (g *grammar) addReferencedAction(ing *networkingv1.Ingress) {
	const key = annotationPrefix + "actions.act"
	if _, there := ing.Annotations[key]; there || !g.chance(70) {
		return
	}
	for _, r := range ing.Spec.Rules {
		if r.HTTP != nil && slices.ContainsFunc(r.HTTP.Paths, func(p networkingv1.HTTPIngressPath) bool {
			return p.Backend.Service != nil && p.Backend.Service.Name == "act"
		}) {
			of := annotationChoices["actions.<name>"]
			ing.Annotations[key] = pick(g, append(of.validValues[:len(of.validValues):len(of.validValues)], of.invalidValues...)...)
			return
		}
	}
}

// largestIngress returns a very large Ingress. The API server allows 1.5 MB, with 256 KiB of annotations.
func (g *grammar) largestIngress() cluster.Object {
	ing := &networkingv1.Ingress{ObjectMeta: g.meta(g.ingressName())}
	ing.Annotations = g.acceptableAnnotations()
	class := "alb"
	ing.Spec.IngressClassName = &class
	ports, count := pick(g, 1, 10, 1000, 15000), pick(g, 300, 2000, 10000)
	var listen []string
	for i := range ports {
		listen = append(listen, fmt.Sprintf(`{"HTTP":%d}`, 2000+i))
	}
	ing.Annotations[annotationPrefix+"listen-ports"] = "[" + strings.Join(listen, ",") + "]"
	rule := networkingv1.IngressRule{Host: pick(g, evilHosts...), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
	kind := networkingv1.PathTypeExact
	for i := range count {
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: fmt.Sprintf("/p%d", i), PathType: &kind, Backend: g.backend()})
	}
	ing.Spec.Rules = []networkingv1.IngressRule{rule}
	return ing
}

func (g *grammar) rule() networkingv1.IngressRule {
	rule := networkingv1.IngressRule{Host: pick(g, evilHosts...), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}}}
	if g.chance(50) {
		rule.Host = pick(g, victimHosts...)
	}
	for range pick(g, 1, 1, 1, 2, 3) {
		kind, path := pick(g, networkingv1.PathTypePrefix, networkingv1.PathTypePrefix, networkingv1.PathTypeExact), pick(g, paths...)
		switch n := g.IntN(100); {
		case n < 20:
			kind, path = networkingv1.PathTypeImplementationSpecific, pick(g, irregularPaths...)
		case n < 35 && slices.Contains(victimHosts, rule.Host): // exactly the conditions of a victim's rule
			kind, path = networkingv1.PathTypePrefix, pick(g, "/", "/", "/new")
		}
		rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{Path: path, PathType: &kind, Backend: g.backend()})
	}
	return rule
}

func (g *grammar) backend() networkingv1.IngressBackend {
	to := &networkingv1.IngressServiceBackend{Name: g.serviceName(), Port: networkingv1.ServiceBackendPort{Number: 80}}
	switch g.IntN(10) {
	case 0, 1:
		to.Name, to.Port = "act", networkingv1.ServiceBackendPort{Name: "use-annotation"}
	case 2:
		to.Name = pick(g, "none", "web", "api") // the victims' Services are in other namespaces
	case 3:
		to.Port = pick(g, networkingv1.ServiceBackendPort{Number: 81}, networkingv1.ServiceBackendPort{Name: "http"}, networkingv1.ServiceBackendPort{Name: "none"}, networkingv1.ServiceBackendPort{Number: 65535})
	case 4:
		if g.chance(20) {
			return networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Secret", Name: "login"}}
		}
	}
	return networkingv1.IngressBackend{Service: to}
}

func (g *grammar) service() cluster.Object {
	name := g.serviceName()
	s := &corev1.Service{ObjectMeta: g.meta(name)}
	s.Annotations = map[string]string{}
	if g.chance(40) {
		g.annotate(s.Annotations, 1+g.IntN(4), true)
	}
	s.Spec.Type = pick(g, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName)
	s.Spec.Selector = pick(g, map[string]string{"app": name}, map[string]string{"app": name}, map[string]string{"app": "web"}, nil)
	s.Spec.ClusterIP = "10.96.7.1"
	if s.Spec.Type == corev1.ServiceTypeClusterIP && g.chance(30) {
		s.Spec.ClusterIP = "None"
	}
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		s.Spec.ExternalName, s.Spec.ClusterIP = pick(g, "web.pay.svc.cluster.local", "www.example.com", "10.0.132.10"), ""
	}
	port := corev1.ServicePort{Name: pick(g, "", "http"), Port: 80, TargetPort: pick(g, intstr.FromInt32(8080), intstr.FromInt32(8080), intstr.FromInt32(22), intstr.FromString("http")), Protocol: corev1.ProtocolTCP}
	if s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		port.NodePort = 31000 + int32(name[1]-'0')
	}
	s.Spec.Ports = []corev1.ServicePort{port}
	if g.chance(20) {
		s.Spec.Ports[0].Name = "http"
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "more", Port: 81, TargetPort: intstr.FromInt32(8081), Protocol: pick(g, corev1.ProtocolTCP, corev1.ProtocolUDP)})
	}
	if g.chance(15) {
		s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	}
	return s
}

// addressOf returns the address that the network assigned to a pod of the attacker.
func (g *grammar) addressOf(pod string) string {
	if g.isAddressReused && pod == "p0" {
		return replacedAddress
	}
	return attackerAddresses[int(pod[1]-'0')%len(attackerAddresses)]
}

func (g *grammar) pod() cluster.Object {
	p := &corev1.Pod{ObjectMeta: g.meta(g.podName())}
	p.Labels = map[string]string{"app": pick(g, "s0", "s1", "s2", "web")}
	address := g.addressOf(p.Name)
	p.Spec = corev1.PodSpec{NodeName: nodeOf(address), Containers: []corev1.Container{{Name: "c", Ports: []corev1.ContainerPort{{Name: pick(g, "", "http"), ContainerPort: 8080}}}}}
	if g.chance(15) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: corev1.PodConditionType("target-health.elbv2.k8s.aws/" + pick(g, "$TGNAME0", "k8s-evil-s0-0000000000", "b0"))}}
	}
	ready := pick(g, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)
	p.Status = corev1.PodStatus{
		Phase: pick(g, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending),
		PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready}},
	}
	if g.chance(10) {
		p.Status.PodIP, p.Status.PodIPs = "", nil
	}
	return p
}

// foreignAddresses has addresses that do not belong to pods of the attacker.
var foreignAddresses = []string{"10.0.148.10", "10.0.164.10", "10.0.132.11", "10.0.132.12", replacedAddress, replacementAddress, "10.0.128.4", "169.254.169.254", "127.0.0.1", "10.96.0.1", "8.8.8.8", "10.0.133.9"}

func (g *grammar) endpointSlice() cluster.Object {
	name := g.serviceName()
	s := &discoveryv1.EndpointSlice{ObjectMeta: g.meta(name + pick(g, "-1", "-1", "-2"))}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: pick(g, name, name, name, "web")}
	s.AddressType = discoveryv1.AddressTypeIPv4
	if g.chance(5) {
		s.AddressType = discoveryv1.AddressTypeIPv6
	}
	port, portName, tcp := pick(g, int32(8080), 8080, 22, 8081), pick(g, "", "http"), corev1.ProtocolTCP
	s.Ports = []discoveryv1.EndpointPort{{Name: &portName, Port: &port, Protocol: &tcp}}
	for range pick(g, 0, 1, 1, 2, 3) {
		s.Endpoints = append(s.Endpoints, g.endpoint(s.AddressType))
	}
	if g.chance(3) { // an EndpointSlice may have a thousand endpoints
		for range 1000 {
			s.Endpoints = append(s.Endpoints, g.endpoint(s.AddressType))
		}
	}
	return s
}

func (g *grammar) endpoint(family discoveryv1.AddressType) discoveryv1.Endpoint {
	pod := g.podName()
	yes := g.chance(80)
	e := discoveryv1.Endpoint{Addresses: []string{g.addressOf(pod)}, Conditions: discoveryv1.EndpointConditions{Ready: &yes},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: attackerNamespace, Name: pod}}
	if g.chance(30) {
		e.Addresses = []string{pick(g, foreignAddresses...)}
	}
	if family == discoveryv1.AddressTypeIPv6 {
		e.Addresses = []string{pick(g, "2600:1f13::5", "::1", "::ffff:10.0.132.11")}
	}
	switch g.IntN(10) {
	case 0:
		e.TargetRef = nil
	case 1:
		e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "pay", Name: "web-10-0-148-10"}
	case 2:
		e.TargetRef = &corev1.ObjectReference{Kind: "Node", Name: "node-0"}
	case 3:
		e.TargetRef.UID = "another"
	case 4:
		e.Conditions.Terminating = &yes
	}
	return e
}

// endpoints returns an Endpoints object, which EndpointSlices replace.
func (g *grammar) endpoints() cluster.Object {
	return &corev1.Endpoints{ObjectMeta: g.meta(g.serviceName()), Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: pick(g, foreignAddresses...), TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: attackerNamespace, Name: g.podName()}}},
		Ports:     []corev1.EndpointPort{{Port: 8080}},
	}}}
}

func (g *grammar) binding() cluster.Object {
	b := &elbv2.TargetGroupBinding{ObjectMeta: g.meta(g.bindingName())}
	switch g.IntN(8) {
	case 0, 1:
		b.Spec.TargetGroupARN = pick(g, "$TGARN0", "$TGARN1", "$TGARN2", "$TGARN3", "$TGARN4", "$TGARN5", "$TGARN6")
	case 2, 3, 4:
		b.Spec.TargetGroupName = pick(g, "$TGNAME0", "$TGNAME1", "$TGNAME2", "$TGNAME3", "$TGNAME4", "$TGNAME5", "$TGNAME6")
	case 5:
		b.Spec.TargetGroupARN = "$EXTERNAL"
	case 6:
		b.Spec.TargetGroupName = "external"
	default:
		b.Spec.TargetGroupARN = pick(g, "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/none/0123456789abcdef", "arn", "arn:aws:elasticloadbalancing:us-west-2:999999999999:targetgroup/other/0123456789abcdef", strings.Repeat("x", 3000))
	}
	b.Spec.ServiceRef = elbv2.ServiceReference{Name: pick(g, g.serviceName(), g.serviceName(), "none"), Port: pick(g, intstr.FromInt32(80), intstr.FromInt32(80), intstr.FromString("http"), intstr.FromInt32(0))}
	if g.chance(60) {
		b.Spec.TargetType = ptr(pick(g, elbv2.TargetTypeIP, elbv2.TargetTypeIP, elbv2.TargetTypeInstance))
	}
	b.Spec.MultiClusterTargetGroup = g.chance(20)
	if g.chance(10) {
		b.Spec.IamRoleArnToAssume = pick(g, "arn:aws:iam::123456789012:role/none", "x")
		b.Spec.AssumeRoleExternalId = attackerSecret
	}
	if g.chance(10) {
		b.Spec.VpcID = pick(g, "vpc-00000000000000000", "x")
	}
	if g.chance(10) {
		b.Spec.IPAddressType = ptr(elbv2.TargetGroupIPAddressTypeIPv6)
	}
	if g.chance(10) {
		b.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/hostname": "node-1"}}
	}
	if g.chance(25) {
		b.Spec.Networking = &elbv2.TargetGroupBindingNetworking{Ingress: []elbv2.NetworkingIngressRule{{
			From:  []elbv2.NetworkingPeer{pick(g, elbv2.NetworkingPeer{IPBlock: &elbv2.IPBlock{CIDR: "0.0.0.0/0"}}, elbv2.NetworkingPeer{SecurityGroup: &elbv2.SecurityGroup{GroupID: "$EXTRASG"}}, elbv2.NetworkingPeer{IPBlock: &elbv2.IPBlock{CIDR: "x"}}, elbv2.NetworkingPeer{})},
			Ports: pick(g, nil, []elbv2.NetworkingPort{{}}, []elbv2.NetworkingPort{{Port: ptr(intstr.FromInt32(8080))}}, []elbv2.NetworkingPort{{Port: ptr(intstr.FromString("none"))}}),
		}}}
	}
	if g.chance(20) { // as if a stack of the victims had created it
		b.Labels = naming.StackLabels(pick(g, model.StackID{Kind: model.Ingress, Name: "open"}, model.StackID{Kind: model.Ingress, Name: "vault"}, model.StackID{Kind: model.Ingress, Namespace: "pay", Name: "solo"}))
	}
	if g.chance(15) {
		b.Annotations = map[string]string{"elbv2.k8s.aws/checkpoint": pick(g, "x", ""), "elbv2.k8s.aws/checkpoint-timestamp": pick(g, "1", "x")}
	}
	if g.chance(15) {
		b.Finalizers = []string{naming.BindingFinalizer}
	}
	if g.chance(10) {
		b.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Forged", Message: "forged\nforged"}}
		b.Status.ObservedGeneration = ptr(int64(99))
	}
	return b
}

func (g *grammar) secret() cluster.Object {
	s := &corev1.Secret{ObjectMeta: g.meta("login")}
	s.Data = pick(g,
		map[string][]byte{"clientID": []byte("evil"), "clientSecret": []byte(attackerSecret)},
		map[string][]byte{"clientID": []byte("evil")},
		map[string][]byte{"clientID": []byte("evil\n"), "clientSecret": []byte(attackerSecret + "\n\n")},
		map[string][]byte{"clientID": {0xff, 0xfe}, "clientSecret": []byte(strings.Repeat(attackerSecret, 10000))},
	)
	return s
}

func ptr[T any](v T) *T { return &v }
