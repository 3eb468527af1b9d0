package adversary

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// foreignFinalizer blocks the deletion of objects of the attacker.
const foreignFinalizer = "example.com/stay"

// adoptionGrammar generates random moves of the attacker.
type adoptionGrammar struct {
	*rand.Rand
	tenancy tenancy
}

func (g *adoptionGrammar) chance(percent int) bool { return g.IntN(100) < percent }

func (g *adoptionGrammar) pickText(of ...string) string { return of[g.IntN(len(of))] }

// attackerObjectNames has the names of the attacker's objects by kind.
var attackerObjectNames = map[cluster.Kind][]string{
	cluster.KindGateway: {"g0", "g1", "edge", "solo"}, cluster.KindIngress: {"i0", "i1", "i2", "front", "solo"}, cluster.KindService: {"e0", "e1", "l0", "mail"},
	cluster.KindHTTPRoute: {"r0", "r1", "r2", "alike"}, cluster.KindTCPRoute: {"r0", "r1", "r2"}, cluster.KindBinding: {"b0", "b1", "b2"},
	cluster.KindGlobalAccelerator: {"a0", "a1"},
}

// move returns a random move.
func (g *adoptionGrammar) move() adoptionMove {
	m := adoptionMove{wait: time.Duration(1+g.IntN(40)) * time.Second}
	switch n := g.IntN(130); {
	case n >= 122:
		m.documents = g.competingGateways()
	case n >= 116:
		m.documents = g.memberWithVictimTargetGroup()
	case n >= 110:
		m.documents = g.accelerator()
	case n >= 100:
		m.ingressChange = g.pickText(slices.Sorted(maps.Keys(memberChanges))...)
		m.target = cluster.Ref{Kind: cluster.KindIngress, Namespace: attackerNamespace, Name: g.pickText(attackerObjectNames[cluster.KindIngress]...)}
	case n < 20:
		m.documents = g.gateway()
	case n < 24:
		m.documents = imitatedSettings + "---\n" + imitatingGateway
	case n < 48:
		m.documents = g.ingress()
	case n < 56:
		m.documents = g.serviceWithNLB()
	case n < 66:
		m.documents = g.route()
	case n < 72:
		m.documents = g.configuration()
	case n < 80:
		m.documents = g.binding()
	case n < 83:
		m.documents = g.service()
	case n < 87:
		kind := []cluster.Kind{cluster.KindGateway, cluster.KindIngress, cluster.KindService}[g.IntN(3)]
		m.forgesStatus, m.target = true, cluster.Ref{Kind: kind, Namespace: attackerNamespace, Name: g.pickText(attackerObjectNames[kind]...)}
	case n < 90:
		m.restart = true
	default:
		kinds := []cluster.Kind{cluster.KindGateway, cluster.KindGateway, cluster.KindIngress, cluster.KindIngress, cluster.KindService, cluster.KindHTTPRoute, cluster.KindTCPRoute, cluster.KindBinding, cluster.KindGlobalAccelerator}
		kind := kinds[g.IntN(len(kinds))]
		m.target = cluster.Ref{Kind: kind, Namespace: attackerNamespace, Name: g.pickText(attackerObjectNames[kind]...)}
	}
	return m
}

// adoptAnnotationValues are values of the adopt annotation of a Gateway: load balancers of the victims, load balancers of
// the attacker, and invalid values.
var adoptAnnotationValues = []string{
	"ingress-group/edge", "ingress-group/edge", "ingress-group/edge", "ingress-group/shared", "ingress-group/shared", "ingress/pay/solo", "ingress/pay/solo", "service/pay/mail", "service/pay/mail",
	"ingress-group/own", "ingress-group/own", "ingress/i0", "ingress/evil/i1", "service/l0", "service/evil/l0", "ingress-group/none",
	"ingress/pay/front", "ingress-group/pay/edge", "ingress-group/", "ingress-group", "edge", "gateway/pay/edge", "ingress//solo", "service/pay/mail/25", "Ingress/pay/solo", " ingress-group/edge", "ingress-group/EDGE", "../pay/solo",
}

// dryRun returns a random dry-run annotation that begins with a comma, or "".
func (g *adoptionGrammar) dryRun() string {
	return g.pickText("", "", "", ", "+dryRunAnnotation, ", "+dryRunAnnotation, `, gateway.k8s.aws/dry-run: "false"`, `, gateway.k8s.aws/dry-run: "TRUE"`)
}

func (g *adoptionGrammar) finalizers(of ...string) string {
	if g.chance(70) {
		return ""
	}
	return "  finalizers: [" + g.pickText(of...) + "]\n"
}

func (g *adoptionGrammar) gateway() string {
	name, class := g.pickText(attackerObjectNames[cluster.KindGateway]...), g.pickText("alb", "alb", "alb", "nlb", "other")
	adopts := "fulcrum.dev/adopt: \"" + adoptAnnotationValues[g.IntN(len(adoptAnnotationValues))] + "\"" + g.dryRun()
	if g.chance(15) {
		adopts = "a: b" + g.dryRun()
	}
	configuration := ""
	if class == "alb" && g.chance(80) {
		configuration = ", parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: c0}"
	}
	return attackerGatewayDoc(name, adopts, g.finalizers("gateway.k8s.aws/alb", "gateway.k8s.aws/nlb", "gateway.k8s.aws/alb, "+foreignFinalizer, foreignFinalizer), class, configuration)
}

func attackerGatewayDoc(name, annotations, finalizers, class, configuration string) string {
	listener := map[string]string{"alb": "{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}", "nlb": "{name: tcp, port: 25, protocol: TCP}", "other": "{name: http, port: 80, protocol: HTTP}"}[class]
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: %s
  namespace: evil
  annotations: {%s}
%sspec:
  gatewayClassName: %s
  infrastructure: {labels: {gateway.k8s.aws.alb/stack-name: edge}%s}
  listeners: [%s]
`, name, annotations, finalizers, class, configuration, listener)
}

// consent returns an annotation, beginning with a comma, that consents to a random Gateway.
func (g *adoptionGrammar) consent() string {
	return ", fulcrum.dev/adopted-by: \"" + g.pickText("pay/edge", "pay/edge", "pay/edge", "evil/g0", "g0", "edge", "pay/solo", "pay/mail", "pay/", "/", "pay/edge/x", "") + "\""
}

// consentMark is an annotation by which the tests recognize an Ingress that consents and is valid. The controller ignores
// it.
const consentMark = `, consents: "true"`

// forgedTags are tags that no tenant may set.
var forgedTags = []string{
	"elbv2.k8s.aws/adopted-from=ingress.k8s.aws:edge", "elbv2.k8s.aws/adopted-from=ingress.k8s.aws:pay/solo", "elbv2.k8s.aws/adopted-from=service.k8s.aws:pay/mail",
	"ingress.k8s.aws/stack=edge", "gateway.k8s.aws.alb/stack=pay/edge", "elbv2.k8s.aws/cluster=other", "ingress.k8s.aws/resource=LoadBalancer",
}

// ingress returns a random Ingress of the attacker. With sharedGroups it has its own host, because there a member may take
// over another member's host with group.order.
func (g *adoptionGrammar) ingress() string {
	name, age, more := g.pickText(attackerObjectNames[cluster.KindIngress]...), g.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), ""
	group := g.pickText("edge", "edge", "edge", "edge", "shared", "own", "", "", "Edge", "pay/solo")
	host := g.pickText("front.example.com", "post.example.com", "shop.example.com", "solo.example.com", "evil.com")
	if g.tenancy == sharedGroups {
		host = "evil.com"
	}
	if group == "edge" && g.chance(50) {
		return g.consentingMember()
	}
	if group != "" {
		more = annotationPrefix + "group.name: \"" + group + "\""
	} else {
		more = "a: b"
	}
	if g.chance(60) {
		more += g.consent()
	}
	if g.chance(30) {
		more += ", " + annotationPrefix + "group.order: \"" + g.pickText("-1000", "1000", "x") + "\""
	}
	if g.chance(30) {
		more += ", " + annotationPrefix + "tags: \"" + forgedTags[g.IntN(len(forgedTags))] + "\""
	}
	if g.chance(15) {
		more += ", " + annotationPrefix + g.pickText("scheme: internet-facing", "load-balancer-name: evil", `listen-ports: "["`, "target-type: odd", `load-balancer-attributes: "idle_timeout.timeout_seconds=1"`, `inbound-cidrs: "0.0.0.0/0"`)
	}
	return attackerIngressDoc(name, age, g.pickText("alb", "alb", "alb", "alb", "other", "none"), more, g.finalizers(finalizerOf("edge"), finalizerOf("edge"), finalizerOf("shared"), "ingress.k8s.aws/resources", finalizerOf("edge")+", "+foreignFinalizer, foreignFinalizer),
		host, g.pickText("/", "/", "/new", "/x"), g.pickText("e0", "e1", "missing"))
}

func attackerIngressDoc(name, age, class, annotations, finalizers, host, path, service string) string {
	return fmt.Sprintf(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %s
  namespace: evil
  creationTimestamp: %q
  annotations: {%s}
%sspec: {ingressClassName: %s, rules: [{host: %s, http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}]}}]}
`, name, age, annotations, finalizers, class, host, path, service)
}

// serviceWithNLB returns a Service of the attacker with an NLB.
func (g *adoptionGrammar) serviceWithNLB() string {
	more := ""
	if g.chance(60) {
		more += g.consent()
	}
	if g.chance(30) {
		more += serviceAnnotationStart + "additional-resource-tags: \"" + forgedTags[g.IntN(len(forgedTags))] + "\""
	}
	if g.chance(20) {
		more += g.pickText(", fulcrum.dev/load-balancer-group: pay/mail", serviceAnnotationStart+"name: evil", serviceAnnotationStart+"scheme: internet-facing")
	}
	doc := sharedService(attackerNamespace, g.pickText("l0", "mail"), attackerAddresses[3], g.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), more, g.pickText("{port: 25, targetPort: 8080}", "{port: 80, targetPort: 8080}"))
	if f := g.finalizers("service.k8s.aws/resources", "service.k8s.aws/resources, "+foreignFinalizer, "group.service.k8s.aws/pay.mail"); f != "" {
		doc = strings.Replace(doc, "namespace: evil,", "namespace: evil, "+strings.TrimSpace(f)+",", 1)
	}
	return doc
}

// route returns a route for a Gateway of the victims or of the attacker.
func (g *adoptionGrammar) route() string {
	name, age := g.pickText("r0", "r1", "r2"), g.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z")
	if g.chance(15) {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: TCPRoute\nmetadata: {name: %s, namespace: evil, creationTimestamp: %q}\nspec: {parentRefs: [{name: %s}], rules: [{backendRefs: [{name: %s, port: 80}]}]}\n",
			name, age, g.pickText("mail, namespace: pay", "g0", "g1"), g.pickText("e0", "mail, namespace: pay"))
	}
	hosts := g.pickText("", "  hostnames: [front.example.com]\n", "  hostnames: [post.example.com, evil.com]\n", "  hostnames: [\"*.example.com\"]\n", "  hostnames: [evil.com]\n")
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: evil, creationTimestamp: %q}
spec:
  parentRefs: [%s]
%s  rules: [{matches: [{path: {type: PathPrefix, value: %s}}], backendRefs: [%s]}]
`, name, age, g.pickText("{name: edge, namespace: pay}", "{name: edge, namespace: pay}", "{name: edge, namespace: pay, sectionName: open}", "{name: edge, namespace: pay, sectionName: front}", "{name: edge, namespace: pay, sectionName: post}", "{name: solo, namespace: pay}", "{name: g0}", "{name: g1}, {name: edge}"),
		hosts, g.pickText("/", "/new", "/new/x", "/x"), g.pickText("{name: e0, port: 80}", "{name: e0, port: 80}", "{name: e1, port: 80}", "{name: web, namespace: pay, port: 80}", "{name: missing, port: 80}", "{kind: TargetGroupName, name: $TGNAME0}"))
}

// imitatedSettings is a LoadBalancerConfiguration of the attacker with the same settings as the victims' load balancers.
// With it, no difference in settings prevents an adoption.
var imitatedSettings = strings.NewReplacer("{name: web, namespace: pay}", "{name: c0, namespace: evil}").Replace(strings.Split(adoptionRoutes, "---\n")[0])

// imitatingGateway is a Gateway of the attacker that answers requests in the same way as the victims' Ingress "solo".
const imitatingGateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: solo, namespace: evil, annotations: {fulcrum.dev/adopt: ingress/pay/solo}}
spec:
  gatewayClassName: alb
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: c0}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: alike, namespace: evil}
spec: {parentRefs: [{name: solo}], hostnames: [solo.example.com], rules: [{backendRefs: [{name: web, namespace: pay, port: 80}]}]}
`

// consentingMember returns a consenting Ingress of the attacker in IngressGroup "edge".
func (g *adoptionGrammar) consentingMember() string {
	host := g.pickText("front.example.com", "post.example.com", "evil.com")
	if g.tenancy == sharedGroups {
		host = "evil.com"
	}
	return attackerIngressDoc(g.pickText(attackerObjectNames[cluster.KindIngress]...), g.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), "alb", annotationPrefix+"group.name: edge, fulcrum.dev/adopted-by: pay/edge"+consentMark, "", host, "/", "e0")
}

func (g *adoptionGrammar) configuration() string {
	if g.chance(30) {
		return imitatedSettings
	}
	tag, value, _ := strings.Cut(forgedTags[g.IntN(len(forgedTags))], "=")
	if g.chance(50) {
		return "apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: c0, namespace: evil}\nspec: {" + g.pickText(
			"scheme: internal", "scheme: internet-facing", "loadBalancerName: $LBNAME", "securityGroups: [$SG]", fmt.Sprintf("tags: {%s: %q}", tag, value), "sourceRanges: [0.0.0.0/0]", "loadBalancerAttributes: [{key: no.such, value: x}]",
		) + "}\n"
	}
	return "apiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {name: " + g.pickText("c0", "web") + ", namespace: evil}\nspec: {targetReference: {name: " + g.pickText("e0", "e1", "web") + "}, defaultConfiguration: {" + g.pickText(
		"targetType: ip", "targetType: instance", "targetGroupName: $TGNAME0", fmt.Sprintf("tags: {%s: %q}", tag, value), "healthCheckConfig: {healthCheckPort: nowhere}",
	) + "}}\n"
}

// binding returns a binding of the attacker with a target group of the victims, or with the labels of their stacks.
func (g *adoptionGrammar) binding() string {
	n := g.IntN(5)
	labels := g.pickText("a: b", "ingress.k8s.aws/stack: edge", "ingress.k8s.aws/stack: edge", "ingress.k8s.aws/stack: shared", "gateway.k8s.aws.alb/stack-namespace: pay, gateway.k8s.aws.alb/stack-name: edge", "gateway.k8s.aws.alb/stack-namespace: pay, gateway.k8s.aws.alb/stack-name: edge, ingress.k8s.aws/stack: edge",
		"service.k8s.aws/stack-namespace: pay, service.k8s.aws/stack-name: mail", "ingress.k8s.aws/stack-namespace: pay, ingress.k8s.aws/stack-name: solo")
	return fmt.Sprintf(`apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata:
  name: %s
  namespace: evil
  labels: {%s}
%sspec: {%s, targetType: ip, serviceRef: {name: %s, port: 80}}
`, g.pickText("b0", "b1", "b2", fmt.Sprintf("$TGNAME%d", n)), labels, g.finalizers("elbv2.k8s.aws/resources", foreignFinalizer, "elbv2.k8s.aws/resources, "+foreignFinalizer),
		g.pickText(fmt.Sprintf("targetGroupARN: $TGARN%d", n), fmt.Sprintf("targetGroupARN: $TGARN%d", n), fmt.Sprintf("targetGroupName: $TGNAME%d", n)), g.pickText("e0", "e0", "e1", "web"))
}

// service returns a Service of the attacker with a pod.
func (g *adoptionGrammar) service() string {
	return attackerBackendDoc(g.pickText("e0", "e0", "e1"))
}

func attackerBackendDoc(name string) string {
	address := map[string]string{"e0": attackerAddresses[0], "e1": attackerAddresses[1]}[name]
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %[1]s, namespace: evil}\nspec: {type: ClusterIP, selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080}]}\n", name) +
		workload{namespace: attackerNamespace, name: name, pods: []string{address}}.podDocs()
}

// replacePlaceholders replaces placeholders in doc by names, IDs and ARNs of the victims' resources.
func (w *adoptionTestCluster) replacePlaceholders(doc string) string {
	if !strings.Contains(doc, "$") {
		return doc
	}
	p, unlock := w.partition()
	defer unlock()
	var names []string
	arns := map[string]string{}
	for arn, g := range p.ELB.TargetGroups {
		if belongsToVictims(g) {
			names, arns[g.Name] = append(names, g.Name), arn
		}
	}
	slices.Sort(names)
	lb := p.ELB.LoadBalancers[w.arnsByName["edge"]]
	fill := []string{"$LBNAME", lb.Name, "$SG", lb.SecurityGroups[0], "$LBARN0", `"` + w.arnsByName["edge"] + `"`, "$LBARN1", `"` + w.arnsByName["solo"] + `"`, "$LBARN2", `"` + w.arnsByName["mail"] + `"`}
	for i := range 5 {
		name := names[i*len(names)/5]
		fill = append(fill, fmt.Sprintf("$TGNAME%d", i), name, fmt.Sprintf("$TGARN%d", i), `"`+arns[name]+`"`)
	}
	return strings.NewReplacer(fill...).Replace(doc)
}

// forgeStatus writes the hostname of a victim's load balancer into the status of an object, if the object exists.
func (w *adoptionTestCluster) forgeStatus(ref cluster.Ref) {
	obj := mustValue(w.Store.Get(ref))
	if obj == nil {
		return
	}
	host := w.hostnamesByName["edge"]
	next := obj.DeepCopyObject().(cluster.Object)
	switch o := next.(type) {
	case *networkingv1.Ingress:
		o.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: host}}
	case *corev1.Service:
		o.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: w.hostnamesByName["mail"]}}
	case *gwv1.Gateway:
		kind := gwv1.HostnameAddressType
		o.Status.Addresses = []gwv1.GatewayStatusAddress{{Type: &kind, Value: host}}
	}
	if _, err := w.Store.Update(next, cluster.StatusPart); err != nil {
		w.rec.Fatal(err)
	}
}
