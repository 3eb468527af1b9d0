package adversary

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// access is what the cluster permits the attacker.
type access int

const (
	// shutOut means that no class admits the attacker's namespace.
	shutOut access = iota
	// openClass means that class "alb" admits every namespace, so that the attacker may join each IngressGroup.
	openClass
	// classOwner means that the attacker also owns a class and its parameters.
	classOwner
	accessCount // the number of values
)

func (a access) String() string {
	return [...]string{"shut out", "open class", "class owner"}[a]
}

const (
	attackerNamespace = "evil"
	attackerClass     = "evil"
	// victimSecret is the client secret of the victims. It must appear only in the victims' rules.
	victimSecret = "victim-client-secret-5f2c"
)

// clusterDocs returns the classes and namespaces, which belong to the cluster operator.
func clusterDocs(a access) string {
	alb := "spec: {controller: ingress.k8s.aws/alb}"
	if a == shutOut {
		alb = "spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: alb}}"
	}
	docs := `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
` + alb + `
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: alb}
spec: {namespaceSelector: {matchLabels: {trusted: "yes"}}}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: pinned}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: pinned}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: pinned}
spec:
  namespaceSelector: {matchLabels: {trusted: "yes"}}
  group: {name: vault}
  scheme: internal
  ipAddressType: ipv4
  subnets: {ids: [$PRIVATE]}
  inboundCIDRs: [10.0.0.0/8]
  certificateArn: [$CERTAPP]
  sslPolicy: ELBSecurityPolicy-TLS13-1-2-2021-06
  sslRedirectPort: "443"
  targetType: ip
  wafv2AclName: rig
  tags: [{key: Owner, value: platform}]
  loadBalancerAttributes:
  - {key: idle_timeout.timeout_seconds, value: "120"}
  - {key: access_logs.s3.enabled, value: "false"}
  - {key: deletion_protection.enabled, value: "false"}
  listeners:
  - {protocol: HTTPS, port: 443, listenerAttributes: [{key: routing.http.response.server.enabled, value: "false"}]}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
apiVersion: v1
kind: Namespace
metadata: {name: pay, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: blog, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: evil}
`
	if a == classOwner {
		docs += `---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: evil}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: evil}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: evil}
spec: {}
`
	}
	return docs
}

// workload is a Service of the victims with its pods.
type workload struct {
	namespace, name string
	nodePort        int // 0 for none
	pods            []string
}

func (w workload) key() string { return w.namespace + "/" + w.name }

// workloads returns the victims' Services. The third byte of an address determines the node: 132 to 143 is node-0,
// 148 to 159 is node-1, 164 to 175 is node-2.
func workloads() []workload {
	return []workload{
		{"pay", "web", 0, []string{"10.0.132.10", "10.0.148.10", "10.0.164.10"}},
		{"pay", "api", 30081, []string{"10.0.132.11", "10.0.148.11"}},
		{"pay", "solo", 30080, []string{"10.0.164.11"}},
		{"blog", "blog", 0, []string{"10.0.132.12", "10.0.148.12"}},
		{"blog", "extra", 0, []string{"10.0.164.12"}},
		{"pay", "mail", 0, []string{"10.0.132.14", "10.0.164.14"}},
	}
}

const (
	// replacedAddress is the address of the pod that a rollout deletes, replacementAddress that of its new pod.
	replacedAddress    = "10.0.132.10"
	replacementAddress = "10.0.148.13"
)

func (w workload) docs() string {
	var b strings.Builder
	kind, port := "ClusterIP", ""
	if w.nodePort > 0 {
		kind, port = "NodePort", fmt.Sprintf(", nodePort: %d", w.nodePort)
	}
	fmt.Fprintf(&b, `
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s, uid: uid-%[1]s-%[2]s}
spec: {type: %[3]s, selector: {app: %[2]s}, ports: [{port: 80, targetPort: 8080%[4]s}]}
`, w.namespace, w.name, kind, port)
	b.WriteString(w.podDocs())
	if w.key() == mailService {
		return mailServiceDoc("") + w.podDocs()
	}
	return b.String()
}

func (w workload) podDocs() string {
	var b strings.Builder
	for _, address := range w.pods {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: %[2]s, uid: uid-%[1]s, labels: {app: %[3]s}}
spec: {nodeName: %[4]s, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: %[5]s, podIPs: [{ip: %[5]s}], phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
`, w.podName(address), w.namespace, w.name, nodeOf(address), address)
	}
	fmt.Fprintf(&b, `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[2]s-1, namespace: %[1]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [%[3]s]
endpoints:`, w.namespace, w.name, w.slicePorts())
	for _, address := range w.pods {
		fmt.Fprintf(&b, `
- {addresses: [%[1]s], conditions: {ready: true}, nodeName: %[2]s, targetRef: {kind: Pod, namespace: %[3]s, name: %[4]s, uid: uid-%[4]s}}`,
			address, nodeOf(address), w.namespace, w.podName(address))
	}
	return b.String() + "\n"
}

// slicePorts returns the ports of the workload's EndpointSlice.
func (w workload) slicePorts() string {
	if w.key() == mailService {
		return "{name: plain, port: 8080, protocol: TCP}, {name: tls, port: 8080, protocol: TCP}"
	}
	return `{name: "", port: 8080, protocol: TCP}`
}

func (w workload) podName(address string) string {
	return w.name + "-" + strings.ReplaceAll(address, ".", "-")
}

func nodeOf(address string) string {
	return fmt.Sprintf("node-%d", harness.NodeIndexOf(address))
}

// annotations renders pairs of keys and values. Keys without a prefix get the prefix of Ingress annotations.
func annotations(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		key := annotationPrefix + pairs[i]
		if strings.Contains(pairs[i], "/") {
			key = pairs[i]
		}
		fmt.Fprintf(&b, "    %s: '%s'\n", key, pairs[i+1])
	}
	return b.String()
}

// loadBalancerWideSettings has the annotations that all victims in IngressGroup "open" have, as pairs of key and value.
var loadBalancerWideSettings = []string{
	"group.name", "open", "scheme", "internal", "ip-address-type", "ipv4", "subnets", "$PRIVATE",
	"inbound-cidrs", "10.0.0.0/8", "listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "certificate-arn", "$CERT",
	"ssl-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06", "ssl-redirect", "443",
	"mutual-authentication", `[{"port":443,"mode":"passthrough"}]`,
	"wafv2-acl-name", "rig", "shield-advanced-protection", "true", "enable-frontend-nlb", "false",
	"load-balancer-attributes", "idle_timeout.timeout_seconds=120,access_logs.s3.enabled=false,deletion_protection.enabled=false,routing.http.drop_invalid_header_fields.enabled=true",
	"listener-attributes.HTTPS-443", "routing.http.response.server.enabled=false",
	"target-type", "ip", "tags", "Owner=platform",
}

const victimOIDC = `{"issuer":"https://login.example.com","authorizationEndpoint":"https://login.example.com/a","tokenEndpoint":"https://login.example.com/t","userInfoEndpoint":"https://login.example.com/u","secretName":"login"}`

// route has a host, a path and a Service.
type route struct{ host, path, service string }

// victimIngress is an Ingress of a victim.
type victimIngress struct {
	namespace, name, class string
	pairs                  []string
	routes                 []route
}

func (h victimIngress) docs() string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: %[2]s
  namespace: %[1]s
  uid: uid-ing-%[1]s-%[2]s
  annotations:
%[3]sspec:
  ingressClassName: %[4]s
  rules:
`, h.namespace, h.name, annotations(h.pairs...), h.class)
	for _, r := range h.routes {
		fmt.Fprintf(&b, "  - {host: %s, http: {paths: [{path: %s, pathType: Prefix, backend: {service: {name: %s, port: {number: 80}}}}]}}\n", r.host, r.path, r.service)
	}
	return b.String()
}

func appendPairs(pairs []string, more ...string) []string {
	return append(append([]string{}, pairs...), more...)
}

// ingresses returns the victims' Ingresses by namespace and name: two IngressGroups and an Ingress with its own load
// balancer.
func ingresses() map[string]victimIngress {
	vault := []string{"listen-ports", `[{"HTTP":80},{"HTTPS":443}]`, "mutual-authentication", `[{"port":443,"mode":"passthrough"}]`, "enable-frontend-nlb", "false", "shield-advanced-protection", "true"}
	out := map[string]victimIngress{}
	for _, h := range []victimIngress{
		{"pay", "shop", "alb", appendPairs(loadBalancerWideSettings, "group.order", "10"), []route{{"shop.example.com", "/", "web"}}},
		{"blog", "blog", "alb", appendPairs(loadBalancerWideSettings, "group.order", "20"), []route{{"blog.example.com", "/", "blog"}}},
		{"blog", "extra", "alb", appendPairs(loadBalancerWideSettings, "group.order", "30"), []route{{"extra.example.com", "/", "extra"}}},
		{"pay", "vault", "pinned", appendPairs(vault, "group.order", "10"), []route{{"vault.app.test", "/", "web"}}},
		{"blog", "vault", "pinned", appendPairs(vault, "group.order", "20"), []route{{"blog.app.test", "/", "blog"}}},
		{"blog", "vault-extra", "pinned", appendPairs(vault, "group.order", "30"), []route{{"extra.app.test", "/", "extra"}}},
		{"pay", "solo", "alb", []string{
			"scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "target-type", "instance", "wafv2-acl-name", "rig",
			"listen-ports", `[{"HTTPS":443}]`, "certificate-arn", "$CERT", "auth-type", "oidc", "auth-idp-oidc", victimOIDC,
		}, []route{{"solo.example.com", "/", "solo"}}},
	} {
		out[h.namespace+"/"+h.name] = h
	}
	return out
}

const victimLogin = `
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: pay}
stringData: {clientID: solo-client, clientSecret: ` + victimSecret + `}
`

// statusObjectOfStack has, by stack, the Ingress or Service whose status shows the load balancer of the victims.
var statusObjectOfStack = map[string]string{"open": "pay/shop", "vault": "pay/vault", "solo": "pay/solo", "mail": mailService}

// request is a request of a client of the victims.
type request struct {
	stack, host string
	port        int32
	path        string
	// owner is the Ingress that answers the request, and order is its group.order.
	owner string
	order int
}

func (r request) String() string {
	return fmt.Sprintf("request to %s: %s:%d%s", r.stack, r.host, r.port, r.path)
}

func (r request) facts() dataplane.RequestFacts {
	return dataplane.RequestFacts{Host: r.host, Path: r.path, Method: "GET", Source: clientAddress}
}

// requests returns the requests of the victims' clients.
func requests() []request {
	var out []request
	for _, port := range []int32{80, 443} {
		for _, path := range []string{"/", "/new", "/new/x", "/api"} {
			out = append(out, request{"open", "shop.example.com", port, path, "pay/shop", 10},
				request{"vault", "vault.app.test", port, path, "pay/vault", 10})
		}
		for _, path := range []string{"/", "/post/1"} {
			out = append(out, request{"open", "blog.example.com", port, path, "blog/blog", 20},
				request{"open", "extra.example.com", port, path, "blog/extra", 30},
				request{"vault", "blog.app.test", port, path, "blog/vault", 20},
				request{"vault", "extra.app.test", port, path, "blog/vault-extra", 30})
		}
	}
	for _, port := range []int32{80, 443} {
		out = append(out, request{"mail", "", port, "/", mailService, 0})
	}
	for _, path := range []string{"/", "/new", "/x"} {
		out = append(out, request{"solo", "solo.example.com", 443, path, "pay/solo", 0})
	}
	return out
}
