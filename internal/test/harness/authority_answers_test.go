package harness

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// Consent scenarios for rules that forward to no target group of the stack: redirects, fixed responses and target
// groups by name. No tag of a target group shows which namespace owns such a rule.

// answerFunc returns a function that lists the answer to a request, or nothing if the request gets the default action
// or a fixed response with status 404, 500 or 503.
func answerFunc(port int32, host, path string) func(r *Harness) []string {
	return func(r *Harness) []string {
		switch got := answerTo(r, port, host, path); got {
		case "default", "404", "500", "503":
			return nil
		default:
			return []string{got}
		}
	}
}

func init() {
	consentScenarios["HTTPRoute that redirects"] = redirectScenario
	consentScenarios["Gateway that is being deleted"] = deletedGatewayScenario
	consentScenarios["Gateway that is gone"] = forceDeletedGatewayScenario
	for name, action := range map[string]string{
		"redirects":          `{"type":"redirect","redirectConfig":{"host":"evil.example.net","statusCode":"HTTP_302"}}`,
		"answers":            `{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"evil"}}`,
		"names target group": `{"type":"forward","targetGroupName":"external"}`,
	} {
		consentScenarios["Ingress that "+name] = ingressAnswerScenario(action)
	}
}

// redirectTo returns HTTPRoute "team/r", which redirects one path of two hosts to another host.
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

// redirectScenario is a redirecting route of another namespace. The Gateway also has a route of its namespace, which
// needs no permission.
var redirectScenario = consentScenario{
	docs: func(*testing.T) []string {
		return []string{
			consentObjects, bankPods(), shop, readyPods("web", podAddresses[3]), edgeWithSpec("listeners: [" + openListener + "]"),
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {edge: allowed}}\n",
			routeOf("web", "shop.example.com", "backendRefs: [{name: web, port: 80}]"), redirectTo("evil.example.net"),
		}
	},
	serving: answerFunc(80, "team.example.com", "/login"),
	holdCauses: func() map[string]func(r *Harness) {
		out := entriesOf(holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "replaced")
		out["refused by AWS"] = func(r *Harness) {
			refuseOperations("CreateRule", "ModifyRule")(r)
			r.Apply(redirectTo("worse.example.net"))
		}
		return out
	}(),
	withdrawals: entriesOf(withdrawals, "label of the namespace", "allowedRoutes", "allowedRoutes.kinds", "hostname of the listener", "a more specific listener", "port"),
}

// deletedGatewayScenario is a deleted Gateway whose load balancer is kept by deletion protection.
var deletedGatewayScenario = consentScenario{
	docs: func(*testing.T) []string {
		return append(httpScenario.docs(nil), "apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\n"+
			"spec: {scheme: internal, loadBalancerAttributes: [{key: deletion_protection.enabled, value: \"true\"}]}\n---\n")
	},
	serving: httpScenario.serving,
	holdCauses: map[string]func(r *Harness){
		"deleted": func(r *Harness) { r.deleteObject(cluster.KindGateway, "shop", "edge") },
		"route deleted too": func(r *Harness) {
			r.deleteObject(cluster.KindGateway, "shop", "edge")
			r.deleteObject(cluster.KindHTTPRoute, "team", "r")
		},
	},
	withdrawals: entriesOf(withdrawals, "ReferenceGrant", "ReferenceGrant for another name", "label of the namespace"),
}

// forceDeletedGatewayScenario is a deleted Gateway from which another client removed the finalizer.
var forceDeletedGatewayScenario = consentScenario{
	docs: deletedGatewayScenario.docs, serving: deletedGatewayScenario.serving,
	holdCauses:  map[string]func(r *Harness){"finalizer taken off": func(r *Harness) { r.forceDelete(cluster.KindGateway, "shop", "edge") }},
	withdrawals: entriesOf(withdrawals, "ReferenceGrant", "ReferenceGrant for another name"),
}

func ingressAnswerScenario(action string) consentScenario {
	ingress := func(notes ...string) string {
		return strings.Replace(pinnedIngress(append([]string{"actions.x", action}, notes...)...),
			"{name: web, port: {number: 80}}", "{name: x, port: {name: use-annotation}}", 1)
	}
	a := ingressScenario
	a.docs = func(t *testing.T) []string { return append(ingressScenario.docs(t), ingress()) }
	a.serving = answerFunc(80, "team.example.com", "/")
	a.harmlessEvents = nil
	a.holdCauses = entriesOf(ingressScenario.holdCauses, "not held", "alone")
	for way, notes := range map[string][]string{
		"too large":        {"listen-ports", `[{"HTTP": 80},{"HTTP": 81}]`, "conditions.x", `[{"field":"path-pattern","pathPatternConfig":{"values":["/a"]}}]`},
		"unreadable ports": {"listen-ports", "nonsense"},
		"unreadable order": {"group.order", "nonsense"},
		"unreadable value": {"scheme", "nonsense"},
	} {
		// If the order of a member is unknown, its rules are held only if they forward to its Services, redirect, or
		// answer with a fixed response.
		if strings.Contains(way, "value") || !strings.Contains(action, "targetGroup") {
			a.holdCauses[way] = func(r *Harness) { r.Apply(ingress(notes...)) }
		}
	}
	return a
}
