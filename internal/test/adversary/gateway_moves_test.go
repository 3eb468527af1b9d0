package adversary

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// pickText returns a random one of the texts.
func (w *gatewayTestCluster) pickText(of ...string) string { return of[w.IntN(len(of))] }

func (w *gatewayTestCluster) chance(percent int) bool { return w.IntN(100) < percent }

// makeGatewayMove makes one random move of the attacker, or a random change of the victims that affects its rights.
func (w *gatewayTestCluster) makeGatewayMove() {
	if w.chance(15) {
		w.deleteRandomObject()
		return
	}
	if w.chance(10) {
		if w.isBlogGranted {
			w.revokeBlogServices()
		} else {
			w.grantBlogServices()
		}
		return
	}
	if w.chance(10) {
		w.toggleAssignedHost()
		return
	}
	if w.chance(15) {
		w.claimAssignedHost()
		return
	}
	switch w.IntN(10) {
	case 0, 1, 2, 3:
		w.applyDoc(w.randomRoute())
	case 4, 5:
		w.applyDoc(w.randomListenerSet())
	case 6:
		w.applyDoc(w.randomGrant())
	case 7:
		w.applyDoc(w.randomGateway())
	case 8:
		w.applyDoc(w.randomConfiguration())
	default:
		w.applyDoc(w.randomService())
	}
}

// deleteRandomObject deletes a random object of the attacker.
func (w *gatewayTestCluster) deleteRandomObject() {
	var mine []cluster.Ref
	for _, typ := range cluster.Types() {
		for _, o := range w.Store.All(typ.Kind) {
			if o.GetNamespace() == attackerNamespace && o.GetDeletionTimestamp() == nil {
				mine = append(mine, cluster.RefOf(o))
			}
		}
	}
	if len(mine) == 0 {
		return
	}
	ref := mine[w.IntN(len(mine))]
	w.moveLog = append(w.moveLog, "delete "+ref.String())
	if err := w.Store.Delete(ref); err != nil {
		w.rec.Fatal(err)
	}
}

// applyDoc creates or changes the objects in doc and adds doc to the moves. New objects are stored with the status and the
// finalizers in doc.
func (w *gatewayTestCluster) applyDoc(doc string) {
	w.moveLog = append(w.moveLog, doc)
	loaded, err := cluster.LoadYAML([]byte(doc))
	if err != nil {
		w.rec.Fatalf("%v\n%s", err, doc)
	}
	for _, obj := range loaded.Objects {
		cur, err := w.Store.Get(cluster.RefOf(obj))
		if err != nil {
			w.rec.Fatal(err)
		}
		if cur == nil {
			err = w.Store.Put(obj)
		} else {
			err = w.Store.Apply(obj)
		}
		if err != nil {
			w.rec.Fatal(err)
		}
	}
}

// randomParentRefs returns random parentRefs, sometimes 32 of them.
func (w *gatewayTestCluster) randomParentRefs() string {
	n := 1 + w.IntN(3)
	if w.chance(10) {
		n = 32
	}
	var out []string
	for i := range n {
		switch w.IntN(8) {
		case 0, 1, 2:
			out = append(out, "{name: edge, namespace: infra}")
		case 3:
			out = append(out, fmt.Sprintf("{name: edge, namespace: infra, sectionName: %s}", w.pickText("shop", "api", "open", "alt", "closed", "none")))
		case 4:
			out = append(out, fmt.Sprintf("{name: tcp, namespace: infra, sectionName: %s}", w.pickText("db", "open", "secure", "theirs", "theirs")))
		case 5:
			out = append(out, fmt.Sprintf("{name: %s, namespace: infra, port: %d}", w.pickText("edge", "tcp"), 80+w.IntN(4)*100+i))
		case 6:
			out = append(out, fmt.Sprintf("{kind: ListenerSet, name: s%d}", w.IntN(3)))
		default:
			out = append(out, fmt.Sprintf("{name: g%d}", w.IntN(2)))
		}
	}
	return strings.Join(out, ", ")
}

func (w *gatewayTestCluster) randomBackendRefs() string {
	var out []string
	for range 1 + w.IntN(3) {
		out = append(out, w.pickText(
			"{name: e0, port: 80}", "{name: e0, port: 80, weight: 1000000}", "{name: e1, port: 80, weight: 0}", "{name: missing, port: 80}",
			"{name: web, namespace: pay, port: 80}", "{name: blog, namespace: blog, port: 80}", "{name: blog, namespace: blog, port: 80}", "{name: e0}",
			"{kind: TargetGroupName, name: external}", "{kind: TargetGroupName, name: "+w.victimTargetGroupName()+"}",
			"{kind: Gateway, group: gateway.networking.k8s.io, name: edge, namespace: infra, port: 80}", "{kind: Odd, name: x, port: 80}",
		))
	}
	return strings.Join(out, ", ")
}

// victimTargetGroupName returns the name of a target group of the victims.
func (w *gatewayTestCluster) victimTargetGroupName() string {
	p, unlock := w.partition()
	defer unlock()
	best := "none"
	for _, g := range p.ELB.TargetGroups {
		if strings.HasPrefix(g.Name, "k8s-pay-shop-") {
			best = g.Name
		}
	}
	return best
}

const forgedParents = `
status: {parents: [{controllerName: gateway.k8s.aws/alb, parentRef: {name: edge, namespace: infra, sectionName: shop}, conditions: [{type: Accepted, status: "True", reason: Accepted, message: forged, observedGeneration: 99, lastTransitionTime: "2000-01-01T00:00:00Z"}]}]}`

func (w *gatewayTestCluster) randomRoute() string {
	kind := w.pickText("HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute")
	meta := fmt.Sprintf("{name: r%d, namespace: evil, creationTimestamp: %q, labels: {gateway.k8s.aws.alb/stack-name: edge}}", w.IntN(5), w.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"))
	head := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: %s\nmetadata: %s\nspec:\n  parentRefs: [%s]\n", kind, meta, w.randomParentRefs())
	if w.chance(20) {
		head = strings.Replace(head, "spec:\n", strings.TrimPrefix(forgedParents, "\n")+"\nspec:\n", 1)
	}
	if kind == "HTTPRoute" || kind == "GRPCRoute" || kind == "TLSRoute" {
		if hosts := w.pickText("", "shop.pay.com", "api.pay.com, shop.pay.com", `"*.pay.com"`, `"*.com"`, "evil.com", "pay.com"); hosts != "" {
			head += "  hostnames: [" + hosts + "]\n"
		}
	}
	if kind != "HTTPRoute" {
		return head + "  rules: [{backendRefs: [" + w.randomBackendRefs() + "]}]\n"
	}
	rules := 1 + w.IntN(3)
	if w.chance(5) {
		rules = 16
	}
	head += "  rules:\n"
	for range rules {
		head += fmt.Sprintf("  - {matches: [{path: {type: %s, value: %s}%s}]%s, backendRefs: [%s]}\n",
			w.pickText("PathPrefix", "Exact", "RegularExpression"), w.pickText("/", "/x/y", "/login", `"/*"`, "/x"),
			w.pickText("", ", method: GET", ", headers: [{name: Host, value: shop.pay.com}]", `, queryParams: [{name: a, value: "*"}]`),
			w.pickText("", "", ", filters: [{type: URLRewrite, urlRewrite: {hostname: shop.pay.com}}]", ", filters: [{type: RequestMirror, requestMirror: {backendRef: {name: web, namespace: pay, port: 80}}}]",
				", filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: c0}}]"),
			w.randomBackendRefs())
	}
	return head
}

func (w *gatewayTestCluster) randomListenerSet() string {
	n := 1 + w.IntN(3)
	if w.chance(5) {
		n = 64
	}
	out := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: s%d, namespace: evil, creationTimestamp: %q}\nspec:\n  parentRef: {name: %s, namespace: infra}\n  listeners:\n",
		w.IntN(3), w.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), w.pickText("edge", "edge", "tcp"))
	for i := range n {
		host := w.pickText("", ", hostname: shop.pay.com", ", hostname: api.pay.com", `, hostname: "*.com"`, `, hostname: "*.pay.com"`, ", hostname: evil.com", ", hostname: 10.0.0.1")
		port := []int{80, 80, 8080, 8081, 81 + i, 9000, 9001, 9443}[w.IntN(8)]
		if port == 8081 {
			host = "" // by the Gateway API, a listener with a more specific hostname gets its requests
		}
		out += fmt.Sprintf("  - {name: l%d, port: %d, protocol: %s%s, allowedRoutes: {namespaces: {from: All}}}\n", i, port,
			w.pickText("HTTP", "HTTP", "HTTPS", "TCP", "UDP", "TLS", "TLS, tls: {mode: Passthrough}", "ODD"), host)
	}
	return out
}

func (w *gatewayTestCluster) randomGrant() string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: t%d, namespace: evil}\nspec: {from: [{group: gateway.networking.k8s.io, kind: %s, namespace: %s}], to: [{group: \"\", kind: %s}]}\n",
		w.IntN(2), w.pickText("HTTPRoute", "Gateway", "TCPRoute"), w.pickText("evil", "pay", "infra"), w.pickText("Service", "Secret"))
}

func (w *gatewayTestCluster) randomGateway() string {
	return fmt.Sprintf(`apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: g%d
  namespace: evil
  finalizers: [%s]
  annotations: {gateway.k8s.aws/dry-run: "%t", gateway.k8s.aws.addon.wafv2: "true"}
spec:
  gatewayClassName: %s
  infrastructure: {labels: {gateway.k8s.aws.alb/stack-name: edge}, parametersRef: {group: gateway.k8s.aws, kind: %s, name: c0}}
  listeners:
  - {name: l0, port: 80, protocol: %s}
status: {conditions: [{type: Programmed, status: "True", reason: Programmed, message: "arn:forged", lastTransitionTime: "2000-01-01T00:00:00Z"}]}
`, w.IntN(2), w.pickText("", "gateway.k8s.aws/alb", "gateway.k8s.aws/nlb"), w.chance(20), w.pickText("alb", "nlb", "other"), w.pickText("LoadBalancerConfiguration", "ConfigMap"), w.pickText("HTTP", "TCP", "HTTPS"))
}

// victimLoadBalancerName returns the name of a load balancer of the victims.
func (w *gatewayTestCluster) victimLoadBalancerName() string {
	p, unlock := w.partition()
	defer unlock()
	if lb := p.ELB.LoadBalancers[w.lbARNs[w.IntN(len(w.lbARNs))]]; lb != nil {
		return lb.Name
	}
	return "none"
}

func (w *gatewayTestCluster) randomConfiguration() string {
	switch w.IntN(3) {
	case 0:
		return "apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: c0, namespace: evil}\nspec: {" + w.pickText(
			"loadBalancerName: "+w.victimLoadBalancerName(), "scheme: internet-facing", "securityGroups: ["+w.Seeded.NodeSG+"]", "tags: {gateway.k8s.aws.alb/stack: infra/edge, elbv2.k8s.aws/cluster: other}",
			"sourceRanges: [x, 0.0.0.0/0]", "loadBalancerAttributes: [{key: no.such, value: x}]", "defaultTargetGroupConfiguration: {name: c0}", "disableSecurityGroup: true",
		) + "}\n"
	case 1:
		return "apiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {name: c" + w.pickText("0", "1") + ", namespace: evil}\nspec: {" +
			w.pickText("", "targetReference: {name: e0}, ", "targetReference: {name: web}, ", "targetReference: {kind: Gateway, name: edge}, ") + "defaultConfiguration: {" + w.pickText(
			"targetGroupName: "+w.victimTargetGroupName(), "targetType: instance", "protocol: TLS", "tags: {Owner: evil}", "healthCheckConfig: {healthCheckPort: nowhere}", "targetControlPort: 99",
		) + "}}\n"
	}
	return "apiVersion: gateway.k8s.aws/v1\nkind: ListenerRuleConfiguration\nmetadata: {name: c0, namespace: evil}\nspec: {" + w.pickText(
		"actions: [{type: fixed-response, fixedResponseConfig: {statusCode: 200, contentType: text/plain, messageBody: evil}}]",
		"actions: [{type: authenticate-oidc, authenticateOIDCConfig: {issuer: https://x, authorizationEndpoint: https://x/a, tokenEndpoint: https://x/t, userInfoEndpoint: https://x/u, secret: {name: none}}}]",
		"conditions: [{field: source-ip, sourceIPConfig: {values: [not-a-range]}}]", "tags: {elbv2.k8s.aws/cluster: other}",
	) + "}\n"
}

// randomService returns a Service of the attacker with a pod.
func (w *gatewayTestCluster) randomService() string {
	name, address := w.pickText("e0", "e1"), attackerAddresses[w.IntN(len(attackerAddresses))]
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: evil}
spec: {type: %[3]s, ipFamilies: [%[4]s], selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080, nodePort: 0}]}
---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: evil, uid: uid-evil-%[1]s, labels: {app: %[1]s}}
spec: {nodeName: node-0, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: %[2]s, phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: evil, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: "", port: 8080, protocol: TCP}]
endpoints:
- {addresses: [%[2]s], conditions: {ready: true}, targetRef: {kind: Pod, namespace: evil, name: %[1]s}}
`, name, address, w.pickText("ClusterIP", "ClusterIP", "NodePort", "ExternalName"), w.pickText("IPv4", "IPv4", "IPv6"))
}
