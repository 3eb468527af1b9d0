package harness

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Authority cases for rules that forward to no target group of the stack: redirects, fixed responses and target
// groups by ARN. Such rules have no target group whose tags identify the owner.

// answersOn returns the answer to a request, or nil if the request is refused.
func answersOn(port int32, host, path string) func(r *Harness) []string {
	return func(r *Harness) []string {
		switch got := answered(r, port, host, path); got {
		case "default", "404", "500", "503":
			return nil
		default:
			return []string{got}
		}
	}
}

func init() {
	authorities["HTTPRoute that redirects"] = redirectAuthority
	authorities["Gateway that is being deleted"] = deletedGatewayAuthority
	authorities["Gateway that is gone"] = forceDeletedGatewayAuthority
	for name, action := range map[string]string{
		"redirects":          `{"type":"redirect","redirectConfig":{"host":"evil.example.net","statusCode":"HTTP_302"}}`,
		"answers":            `{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"evil"}}`,
		"names target group": `{"type":"forward","targetGroupName":"external"}`,
	} {
		authorities["Ingress that "+name] = ingressAnswerAuthority(action)
	}
}

// redirectTo returns a route of namespace team that redirects one path of two hosts to another host.
func redirectTo(host string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: shop}]
  hostnames: [team.example.com, other.example.com]
  rules:
  - matches: [{path: {type: Exact, value: /login}}]
    filters: [{type: RequestRedirect, requestRedirect: {hostname: ` + host + `}}]
---
`
}

// redirectAuthority is a redirecting route of another namespace beside a route of the Gateway's own namespace, which
// needs no permission.
var redirectAuthority = authority{
	docs: func(*testing.T) []string {
		return []string{
			authorityWorld, bankPods(), shop, pods("web", podAddresses[3]), edgeOf("listeners: [" + openListener + "]"),
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {edge: allowed}}\n",
			routeOf("web", "shop.example.com", "backendRefs: [{name: web, port: 80}]"), redirectTo("evil.example.net"),
		}
	},
	serving: answersOn(80, "team.example.com", "/login"),
	ways: func() map[string]func(r *Harness) {
		out := entriesOf(holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "replaced")
		out["refused by AWS"] = func(r *Harness) {
			refuseOperations("CreateRule", "ModifyRule")(r)
			r.Apply(redirectTo("worse.example.net"))
		}
		return out
	}(),
	edges: entriesOf(withdrawals, "label of the namespace", "allowedRoutes", "allowedRoutes.kinds", "hostname of the listener", "a more specific listener", "port"),
}

// deletedGatewayAuthority is a deleted Gateway whose load balancer is kept by deletion protection.
var deletedGatewayAuthority = authority{
	docs: func(*testing.T) []string {
		return append(httpAuthority.docs(nil), "apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\n"+
			"spec: {scheme: internal, loadBalancerAttributes: [{key: deletion_protection.enabled, value: \"true\"}]}\n---\n")
	},
	serving: httpAuthority.serving,
	ways: map[string]func(r *Harness){
		"deleted": func(r *Harness) { r.drop(cluster.KindGateway, "shop", "edge") },
		"route deleted too": func(r *Harness) {
			r.drop(cluster.KindGateway, "shop", "edge")
			r.drop(cluster.KindHTTPRoute, "team", "r")
		},
	},
	edges: entriesOf(withdrawals, "ReferenceGrant", "ReferenceGrant for another name", "label of the namespace"),
}

// forceDeletedGatewayAuthority is a deleted Gateway whose finalizer was removed by another client.
var forceDeletedGatewayAuthority = authority{
	docs: deletedGatewayAuthority.docs, serving: deletedGatewayAuthority.serving,
	ways:  map[string]func(r *Harness){"finalizer taken off": func(r *Harness) { r.forceDelete(cluster.KindGateway, "shop", "edge") }},
	edges: entriesOf(withdrawals, "ReferenceGrant", "ReferenceGrant for another name"),
}

func ingressAnswerAuthority(action string) authority {
	ingress := func(notes ...string) string {
		return strings.Replace(pinnedIngress(append([]string{"actions.x", action}, notes...)...),
			"{name: web, port: {number: 80}}", "{name: x, port: {name: use-annotation}}", 1)
	}
	a := ingressAuthority
	a.docs = func(t *testing.T) []string { return append(ingressAuthority.docs(t), ingress()) }
	a.serving = answersOn(80, "team.example.com", "/")
	a.kept = nil
	a.ways = entriesOf(ingressAuthority.ways, "not held", "alone")
	for way, notes := range map[string][]string{
		"too large":        {"listen-ports", `[{"HTTP": 80},{"HTTP": 81}]`, "conditions.x", `[{"field":"path-pattern","pathPatternConfig":{"values":["/a"]}}]`},
		"unreadable ports": {"listen-ports", "nonsense"},
		"unreadable order": {"group.order", "nonsense"},
		"unreadable value": {"scheme", "nonsense"},
	} {
		// If the position of a member is unknown, only rules that forward to its own Services or answer directly are
		// held.
		if strings.Contains(way, "value") || !strings.Contains(action, "targetGroup") {
			a.ways[way] = func(r *Harness) { r.Apply(ingress(notes...)) }
		}
	}
	return a
}
