package adversary

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// lentGrant permits the attacker's routes to use the Services of blog for a while.
const lentGrant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: evil, namespace: blog}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: evil}, {group: gateway.networking.k8s.io, kind: TCPRoute, namespace: evil}, {group: gateway.networking.k8s.io, kind: GRPCRoute, namespace: evil}]
  to: [{group: "", kind: Service}]
`

// lend has blog permit the attacker's routes to use its Services, and recall ends that.
func (w *gatewayWorld) lend() {
	w.moves, w.lent = append(w.moves, "blog lends its Service"), true
	w.Apply(lentGrant)
}

func (w *gatewayWorld) recall() {
	w.moves, w.lent = append(w.moves, "blog recalls its Service"), false
	if err := w.Store.Delete(cluster.Ref{Kind: cluster.KindReferenceGrant, Namespace: "blog", Name: "evil"}); err != nil {
		w.rec.Fatal(err)
	}
}

// checkRights looks for rules of any load balancer that forward to the pods of blog for a route of the attacker, although
// no grant permits it: however the attacker breaks its routes and Gateways, it keeps no right.
func (w *gatewayWorld) checkRights(when string) {
	if w.lent {
		return
	}
	p, unlock := w.partition()
	defer unlock()
	for _, r := range p.ELB.Rules {
		for _, a := range r.Actions {
			if a.ForwardConfig == nil {
				continue
			}
			for _, g := range a.ForwardConfig.TargetGroups {
				if tags := fmt.Sprint(p.ELB.TargetGroups[*g.TargetGroupArn].Tags); strings.Contains(tags, ":evil-") && strings.Contains(tags, "-blog-blog:") {
					w.rec.Errorf("%srule %s forwards to a Service of blog, which permits it no more: %s", when, r.ARN, tags)
				}
			}
		}
	}
}

// givenHost is a host that the Gateway's owner gives to a listener which only trusted namespaces may attach to, and takes
// back. In between it belongs to the open listener.
const givenHost = "new.pay.com"

const givenListener = `  - {name: new, port: 80, protocol: HTTP, hostname: ` + givenHost + `, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
`

// edgeDoc is the Gateway with the ALB.
func edgeDoc() string {
	for doc := range strings.SplitSeq(victimGateways, "---\n") {
		if strings.Contains(doc, "kind: Gateway\nmetadata: {name: edge, namespace: infra") {
			return doc
		}
	}
	panic("no Gateway edge")
}

func (w *gatewayWorld) giveHost() {
	w.moves, w.given = append(w.moves, "infra gives "+givenHost+" to a listener for trusted namespaces"), true
	w.Apply(edgeDoc() + givenListener)
}

func (w *gatewayWorld) takeHostBack() {
	w.moves, w.given = append(w.moves, "infra removes the listener for "+givenHost), false
	w.Apply(edgeDoc())
}

// claimHost is a route of the attacker for that host, which some writes make too large, or such that AWS or the
// controller does not take it.
func (w *gatewayWorld) claimHost() string {
	out := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: given%d, namespace: evil, creationTimestamp: \"1999-01-01T00:00:00Z\"}\nspec:\n  parentRefs: [{name: edge, namespace: infra}]\n  hostnames: [%s]\n  rules:\n",
		w.IntN(2), w.any(givenHost, givenHost, `"*.pay.com"`))
	what := w.any("backendRefs: [{name: e0, port: 80}]", "backendRefs: [{name: e0, port: 80}]", "filters: [{type: RequestRedirect, requestRedirect: {hostname: evil.com}}]")
	match := w.any("", "", ", headers: [{name: x, value: "+strings.Repeat("x", 200)+"}]")
	out += "  - {matches: [{path: {type: PathPrefix, value: /}" + match + "}], " + what + "}\n"
	if w.chance(40) { // more than a route may have
		for i := range 15 {
			out += strings.Repeat(fmt.Sprintf("  - {matches: [{path: {type: PathPrefix, value: /p%d}}, {path: {type: Exact, value: /e%d}}, {path: {type: Exact, value: /f%d}}], backendRefs: [{name: e0, port: 80}]}\n", i, i, i), 1)
		}
	}
	return out
}

// checkHost looks who answers for the host while its listener is not for the attacker.
func (w *gatewayWorld) checkHost(when string) {
	if !w.given {
		return
	}
	for _, arn := range w.lbs {
		if strings.Contains(arn, "/app/") {
			if got := w.asCluster().ask(arn, 80, givenHost, "/").text; strings.Contains(got, "evil") || strings.Contains(got, "redirect") {
				w.rec.Errorf("%s%s belongs to a listener that the attacker may not attach to, and is answered with %q", when, givenHost, got)
			}
		}
	}
}
