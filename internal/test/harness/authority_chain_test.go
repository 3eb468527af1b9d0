package harness

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

func init() { consentScenarios["Gateway behind another"] = chainScenario }

// frontendGateway returns Gateway "net/front", which is a frontend NLB, with the given configuration and listener.
func frontendGateway(configuration, listener string) string {
	return `
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: front, namespace: net}
spec: {` + configuration + `}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: net, name: front, uid: 33333333-0000-4000-8000-000000000002}
spec:
  gatewayClassName: nlb
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: front}}
  listeners: [{name: web, ` + listener + `}]
---
`
}

const frontendListener = "protocol: TCP, port: 8000"

func chainedRoute(more string) string {
	return `
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: net, name: web}
spec:
  parentRefs: [{name: front}]
  rules: [{backendRefs: [` + more + `{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop, name: edge, port: 80}]}]
---
`
}

// chainScenario is a frontend NLB whose TCPRoute forwards to the ALB of a Gateway in another namespace.
var chainScenario = consentScenario{
	docs: func(*testing.T) []string {
		return []string{
			edgeGateway + edgeLoadBalancerConfiguration("internal") + edgeWithConfiguration + readyPods("web", podAddresses[:3]...) + "---" +
				routeOf("web", "a.example.com", "backendRefs: [{name: web, port: 80}]") + chainedGateways + chainGrant,
			frontendGateway("scheme: internal", frontendListener),
		}
	},
	serving: nlbForwards,
	holdCauses: map[string]func(r *Harness){
		"not held":              func(*Harness) {},
		"configuration missing": func(r *Harness) { r.forceDelete(cluster.KindLoadBalancerConfiguration, "net", "front") },
		"configuration wrong":   func(r *Harness) { r.Apply(frontendGateway("scheme: nonsense", frontendListener)) },
		"class missing":         func(r *Harness) { r.forceDelete(cluster.KindGatewayClass, "", "nlb") },
		"replaced":              func(r *Harness) { r.Apply(frontendGateway("scheme: internet-facing", frontendListener)) },
		"too many backends": func(r *Harness) {
			r.Apply(chainedRoute(strings.Repeat("{kind: TargetGroupName, group: gateway.k8s.aws, name: x}, ", 5)))
		},
		"port unknown behind":        func(r *Harness) { r.Apply(strings.Replace(chainedRoute(""), "port: 80}", "port: 81}", 1)) },
		"configuration wrong behind": func(r *Harness) { r.Apply(edgeLoadBalancerConfiguration("nonsense")) },
		"refused by AWS": func(r *Harness) {
			refuseOperations("ModifyListener", "CreateTargetGroup")(r)
			r.Apply(frontendGateway("scheme: internal, listenerConfigurations: [{protocolPort: \"TCP:8000\", targetGroupStickiness: true}]", frontendListener))
		},
	},
	withdrawals: map[string]func(r *Harness){
		"ReferenceGrant": func(r *Harness) { r.deleteObject(cluster.KindReferenceGrant, "shop", "net") },
		"ReferenceGrant for another name": func(r *Harness) {
			r.Apply(strings.Replace(chainGrant, "kind: Gateway}]", "kind: Gateway, name: other}]", 1))
		},
		"ReferenceGrant for Services": func(r *Harness) {
			r.Apply(strings.Replace(chainGrant, "{group: gateway.networking.k8s.io, kind: Gateway}", `{group: "", kind: Service}`, 1))
		},
		"allowedRoutes": func(r *Harness) {
			r.Apply(frontendGateway("scheme: internal", frontendListener+", allowedRoutes: {kinds: [{kind: TLSRoute}]}"))
		},
		"port": func(r *Harness) {
			r.Apply(frontendGateway("scheme: internal", "protocol: TCP, port: 8001, allowedRoutes: {kinds: [{kind: TLSRoute}]}"))
		},
	},
}
