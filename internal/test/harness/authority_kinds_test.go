package harness

import (
	"crypto/elliptic"
	"net/http"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// Consent scenarios for kinds other than HTTPRoute.

// refuseOperations returns a function that makes AWS refuse all calls of these operations with a ValidationError.
func refuseOperations(operations ...string) func(r *Harness) {
	return func(r *Harness) {
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			for _, o := range operations {
				if c.Operation == o {
					return fault.Action{Error: &store.Error{Status: http.StatusBadRequest, Code: "ValidationError", Message: "refused"}}
				}
			}
			return fault.Action{}
		})
	}
}

// entriesOf returns the entries of a map that have these names.
func entriesOf(all map[string]func(r *Harness), names ...string) map[string]func(r *Harness) {
	out := map[string]func(r *Harness){}
	for _, n := range names {
		out[n] = all[n]
	}
	return out
}

const teamListenerSet = `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: team}
spec:
  parentRef: {name: edge, namespace: shop}
  listeners: [{name: alt, port: 80, protocol: HTTP, hostname: team.example.com}]
---
`

func edgeWithAllowedListeners(sets string) string {
	return edgeWithSpec("allowedListeners: {namespaces: " + sets + "}\n  listeners: [{name: own, port: 8080, protocol: HTTP}]")
}

const labelledSets = "{from: Selector, selector: {matchLabels: {edge: allowed}}}"

func routeToListenerSet(rule, more string) string {
	return strings.Replace(teamRoute(rule, more), "parentRefs: [{name: edge, namespace: shop}]", "parentRefs: [{kind: ListenerSet, name: more}]", 1)
}

var listenerSetScenario = consentScenario{
	docs: func(*testing.T) []string {
		return []string{consentObjects, bankPods(), "---" + edgeWithAllowedListeners(labelledSets) + teamListenerSet + routeToListenerSet("", "")}
	},
	serving: targetGroupsForHost(80, "team.example.com"),
	holdCauses: func() map[string]func(r *Harness) {
		out := entriesOf(holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "replaced")
		out["too large"] = func(r *Harness) { r.Apply(routeToListenerSet("", manyRules())) }
		return out
	}(),
	withdrawals: map[string]func(r *Harness){
		"ReferenceGrant":         withdrawals["ReferenceGrant"],
		"label of the namespace": withdrawals["label of the namespace"],
		"allowedListeners":       func(r *Harness) { r.Apply(edgeWithAllowedListeners("{from: Same}")) },
		"no allowedListeners": func(r *Harness) {
			r.Apply(edgeWithSpec("listeners: [{name: own, port: 8080, protocol: HTTP}]"))
		},
		"the ListenerSet": func(r *Harness) { r.deleteObject(cluster.KindListenerSet, "team", "more") },
	},
}

func tcpRoute(backends string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: r, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: shop}]
  rules: [{backendRefs: [` + backends + `]}]
---
`
}

const bankBackend = "{name: web, namespace: bank, port: 80}"

func tcpListener(spec string) string {
	return edgeWithSpec("listeners: [{name: tcp, protocol: TCP, " + spec + "}]")
}

var tcpScenario = consentScenario{
	docs: func(*testing.T) []string {
		world := strings.Replace(consentObjects, "gateway.k8s.aws/alb", "gateway.k8s.aws/nlb", 1)
		world = strings.Replace(world, "kind: HTTPRoute, namespace: team", "kind: TCPRoute, namespace: team", 1)
		return []string{world, bankPods(), "---" + tcpListener("port: 80, "+allowLabelledRoutes) + tcpRoute(bankBackend)}
	},
	serving: targetGroupsForHost(80, ""),
	holdCauses: func() map[string]func(r *Harness) {
		out := entriesOf(holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "replaced")
		out["too many backends"] = func(r *Harness) {
			r.Apply(tcpRoute(strings.Repeat("{kind: TargetGroupName, group: gateway.k8s.aws, name: x}, ", 5) + bankBackend))
		}
		out["target group configuration wrong"] = func(r *Harness) {
			r.Apply("apiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {namespace: bank, name: web}\nspec: {targetReference: {name: web}, defaultConfiguration: {targetType: nonsense}}\n---\n")
		}
		out["refused by AWS"] = func(r *Harness) {
			refuseOperations("CreateTargetGroup")(r)
			r.Apply("apiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {namespace: bank, name: web}\nspec: {targetReference: {name: web}, defaultConfiguration: {targetType: instance}}\n---\n")
		}
		return out
	}(),
	withdrawals: map[string]func(r *Harness){
		"ReferenceGrant":         withdrawals["ReferenceGrant"],
		"label of the namespace": withdrawals["label of the namespace"],
		"allowedRoutes":          func(r *Harness) { r.Apply(tcpListener("port: 80, allowedRoutes: {namespaces: {from: Same}}")) },
		"allowedRoutes.kinds": func(r *Harness) {
			r.Apply(tcpListener("port: 80, allowedRoutes: {kinds: [{kind: TLSRoute}], namespaces: {from: All}}"))
		},
		"port": func(r *Harness) { r.Apply(tcpListener("port: 8080, " + allowLabelledRoutes)) },
	},
}

var certificateScenario = consentScenario{
	options: func(o *Options) {
		*o = importOptions(*o)
		o.Ingress = nil
		o.Gateway = func(o *gateways.Options) { o.ImportCertificates, o.DefaultTargetType = true, model.IPTargets }
	},
	docs: func(t *testing.T) []string {
		i := newIssuer(t)
		api := strings.Replace(i.issue("api", elliptic.P256(), "api.example.com"), "namespace: shop", "namespace: vault", 1)
		configuration := "\n---\napiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\nspec: {scheme: internal}\n"
		gateway := strings.Replace(secureGateway, "  gatewayClassName: alb\n", "  gatewayClassName: alb\n  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}\n", 1)
		// The certificate of another namespace is the only certificate of its port.
		gateway = strings.Replace(gateway, "name: api, protocol: HTTPS, port: 443", "name: api, protocol: HTTPS, port: 8443", 1)
		return []string{shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), api, secretGrant, gateway + configuration}
	},
	serving: presentedCertificates("api.example.com"),
	holdCauses: func() map[string]func(r *Harness) {
		out := entriesOf(holdCauses, "not held", "configuration missing", "configuration wrong", "class missing")
		out["Secret missing"] = func(r *Harness) { r.deleteObject(cluster.KindSecret, "vault", "api") }
		out["Secret wrong"] = func(r *Harness) {
			r.Apply("apiVersion: v1\nkind: Secret\nmetadata: {name: api, namespace: vault}\ntype: kubernetes.io/tls\ndata: {tls.crt: eA==, tls.key: eA==}\n---\n")
		}
		return out
	}(),
	withdrawals: map[string]func(r *Harness){
		"ReferenceGrant": func(r *Harness) { r.deleteObject(cluster.KindReferenceGrant, "vault", "shop") },
		"ReferenceGrant for another name": func(r *Harness) {
			r.Apply(strings.Replace(secretGrant, "kind: Secret}", "kind: Secret, name: other}", 1))
		},
	},
}

// pinnedClass returns the IngressClassParams "pinned", which admit the namespaces that match selector into
// IngressGroup "edge".
func pinnedClass(selector string) string {
	return "\n---\napiVersion: elbv2.k8s.aws/v1beta1\nkind: IngressClassParams\nmetadata: {name: pinned}\nspec: {group: {name: edge}, namespaceSelector: " + selector + "}\n"
}

const admittedTeamNamespace = "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {edge: \"yes\"}}\n---\n"

func pinnedIngress(notes ...string) string {
	return ingressInNamespace("team", "web", "pinned", "team.example.com", "", notes...)
}

var ingressScenario = consentScenario{
	options: func(o *Options) { o.Ingress = func(o *ingress.Options) { o.MaxRules = 10 } },
	docs: func(*testing.T) []string {
		return []string{
			shop, readyPods("web", podAddresses[:3]...), teamShop, admittedTeamNamespace, pinnedIngress(),
			ingressInNamespace("shop", "a", "pinned", "a.example.com", ""),
		}
	},
	serving: targetGroupsForHost(80, "team.example.com"),
	holdCauses: map[string]func(r *Harness){
		"not held": func(*Harness) {},
		"too large": func(r *Harness) {
			r.Apply(pinnedIngress("listen-ports", `[{"HTTP": 80}`+strings.Repeat(`,{"HTTP": 81}`, 1)+`]`, "conditions.web", `[{"field":"path-pattern","pathPatternConfig":{"values":["/a"]}}]`))
		},
		"unreadable ports": func(r *Harness) {
			r.Apply(pinnedIngress("listen-ports", "nonsense"))
		},
		"unreadable order": func(r *Harness) { r.Apply(pinnedIngress("group.order", "nonsense")) },
		"unreadable value": func(r *Harness) { r.Apply(pinnedIngress("healthcheck-port", "nonsense")) },
		"alone":            func(r *Harness) { r.deleteObject(cluster.KindIngress, "shop", "a") },
		"refused by AWS": func(r *Harness) {
			refuseOperations("CreateRule", "ModifyRule")(r)
			r.Apply(pinnedIngress("conditions.web", `[{"field":"http-request-method","httpRequestMethodConfig":{"values":["GET"]}}]`))
		},
	},
	withdrawals: map[string]func(r *Harness){
		"label of the namespace": func(r *Harness) { r.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n---\n") },
		"namespaceSelector":      func(r *Harness) { r.Apply(pinnedClass("{matchLabels: {edge: other}}")) },
	},
	harmlessEvents: map[string]func(r *Harness){
		"the class is gone":                 func(r *Harness) { r.forceDelete(cluster.KindIngressClass, "", "pinned") },
		"the parameters are gone":           func(r *Harness) { r.forceDelete(cluster.KindIngressClassParams, "", "pinned") },
		"the selector cannot be read":       func(r *Harness) { r.Apply(pinnedClass("{matchExpressions: [{key: a b, operator: Near}]}")) },
		"the namespace has not arrived yet": func(r *Harness) { r.forceDelete(cluster.KindNamespace, "", "team") },
	},
}
