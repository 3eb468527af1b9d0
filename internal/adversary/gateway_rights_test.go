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
