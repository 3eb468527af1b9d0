package adversary

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// temporaryGrant temporarily permits the attacker's routes to use the Services of namespace "blog".
const temporaryGrant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: evil, namespace: blog}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: evil}, {group: gateway.networking.k8s.io, kind: TCPRoute, namespace: evil}, {group: gateway.networking.k8s.io, kind: GRPCRoute, namespace: evil}]
  to: [{group: "", kind: Service}]
`

// grantBlogServices permits the attacker's routes to use the Services of namespace "blog". revokeBlogServices ends that.
func (w *gatewayTestCluster) grantBlogServices() {
	w.moveLog, w.isBlogGranted = append(w.moveLog, "namespace blog permits the attacker to use its Services"), true
	w.Apply(temporaryGrant)
}

func (w *gatewayTestCluster) revokeBlogServices() {
	w.moveLog, w.isBlogGranted = append(w.moveLog, "namespace blog withdraws the permission"), false
	if err := w.Store.Delete(cluster.Ref{Kind: cluster.KindReferenceGrant, Namespace: "blog", Name: "evil"}); err != nil {
		w.rec.Fatal(err)
	}
}

// checkServiceGrants checks that, without a grant, no rule of the attacker's routes forwards to the pods of namespace
// "blog", even if its routes and Gateways are invalid.
func (w *gatewayTestCluster) checkServiceGrants(when string) {
	if w.isBlogGranted {
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
					w.rec.Errorf("%srule %s forwards to a Service of blog, which has withdrawn the permission: %s", when, r.ARN, tags)
				}
			}
		}
	}
}

// assignedHost is a host that the owner of the Gateway assigns to a listener for trusted namespaces, and takes back. At
// other times, listener "open" serves it.
const assignedHost = "new.pay.com"

const assignedListener = `  - {name: new, port: 80, protocol: HTTP, hostname: ` + assignedHost + `, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {trusted: "yes"}}}}}
`

// edgeGatewayDoc returns the Gateway with the ALB. edgeConfigurationDoc returns its LoadBalancerConfiguration.
func edgeGatewayDoc() string {
	return victimDoc("kind: Gateway\nmetadata: {name: edge, namespace: infra")
}
func edgeConfigurationDoc() string { return victimDoc("kind: LoadBalancerConfiguration") }

func victimDoc(with string) string {
	for doc := range strings.SplitSeq(victimGateways, "---\n") {
		if strings.Contains(doc, with) {
			return doc
		}
	}
	panic("no document with " + with)
}

func (w *gatewayTestCluster) assignHost() {
	w.moveLog, w.isHostAssigned = append(w.moveLog, "infra gives "+assignedHost+" to a listener for trusted namespaces"), true
	w.Apply(edgeGatewayDoc() + assignedListener)
}

func (w *gatewayTestCluster) unassignHost() {
	w.moveLog, w.isHostAssigned = append(w.moveLog, "infra removes the listener for "+assignedHost), false
	w.Apply(edgeGatewayDoc())
}

// claimAssignedHost makes the attacker serve assignedHost if it may. Then the host may be assigned to the other
// listener, or taken back from it. Finally the attacker may break its route: with too many rules, or with conditions
// that AWS refuses.
func (w *gatewayTestCluster) claimAssignedHost() {
	name := fmt.Sprint("given", w.IntN(2))
	host := w.pickText(assignedHost, assignedHost, `"*.pay.com"`)
	w.applyDoc(strings.NewReplacer("e1", "e0", "ExternalName", "ClusterIP", "IPv6", "IPv4").Replace(w.randomService()))
	w.applyDoc(routeForHost(name, host, "", 0))
	w.Settle(time.Minute)
	if w.chance(50) {
		w.toggleAssignedHost()
		w.Settle(time.Duration(w.IntN(20)) * time.Second)
	}
	switch w.IntN(3) {
	case 0:
		w.applyDoc(routeForHost(name, host, "", 15)) // more rules than it may have
	case 1:
		w.applyDoc(routeForHost(name, host, ", headers: [{name: x, value: "+strings.Repeat("x", 200)+"}]", 0))
	}
}

// routeForHost returns a route of the attacker with one rule for all paths and with more additional rules. match is a
// further condition of the first rule.
func routeForHost(name, host, match string, more int) string {
	out := fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: %s, namespace: evil, creationTimestamp: \"1999-01-01T00:00:00Z\"}\nspec:\n  parentRefs: [{name: edge, namespace: infra}]\n  hostnames: [%s]\n  rules:\n  - {matches: [{path: {type: PathPrefix, value: /}%s}], backendRefs: [{name: e0, port: 80}]}\n", name, host, match)
	for i := range more {
		out += fmt.Sprintf("  - {matches: [{path: {type: PathPrefix, value: /p%[1]d}}, {path: {type: Exact, value: /e%[1]d}}, {path: {type: Exact, value: /f%[1]d}}], backendRefs: [{name: e0, port: 80}]}\n", i)
	}
	return out
}

// toggleAssignedHost assigns assignedHost to the listener for trusted namespaces or takes it back. Sometimes the owner of the
// Gateway makes a mistake in the same minute, so that the whole load balancer is held.
func (w *gatewayTestCluster) toggleAssignedHost() {
	if w.chance(30) {
		w.moveLog = append(w.moveLog, "infra writes a configuration that cannot be read")
		w.Apply(strings.Replace(edgeConfigurationDoc(), "scheme: internal", "scheme: nonsense", 1))
		defer func() {
			w.Settle(20 * time.Second)
			w.checkAssignedHost("while the configuration cannot be read: ")
			w.moveLog = append(w.moveLog, "infra corrects the configuration")
			w.Apply(edgeConfigurationDoc())
			w.Settle(time.Minute)
		}()
	}
	if w.isHostAssigned {
		w.unassignHost()
	} else {
		w.assignHost()
	}
}

// checkAssignedHost checks that the attacker does not answer requests for assignedHost while the host belongs to the
// listener for trusted namespaces.
func (w *gatewayTestCluster) checkAssignedHost(when string) {
	if !w.isHostAssigned {
		return
	}
	for _, arn := range w.lbARNs {
		if strings.Contains(arn, "/app/") {
			if got := w.asTestCluster().answerTo(arn, 80, assignedHost, "/").text; strings.Contains(got, "attacker") {
				w.rec.Errorf("%s%s belongs to a listener that the attacker may not attach to, and is answered with %q", when, assignedHost, got)
			}
		}
	}
}

// TestHeldRouteLosesHostGivenToAnotherListener checks that the attacker loses a host that the Gateway's owner assigns
// to another listener, also while the Gateway is held.
func TestHeldRouteLosesHostGivenToAnotherListener(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]string{"held": "scheme: nonsense", "not held": "scheme: internal"} {
		w := runInGatewayTestCluster(t, 1, func(w *gatewayTestCluster) {
			w.applyDoc(strings.NewReplacer("e1", "e0", "ExternalName", "ClusterIP", "IPv6", "IPv4").Replace(w.randomService()))
			w.applyDoc(routeForHost("given0", assignedHost, "", 0))
			w.Settle(5 * time.Minute)
			w.isHostAssigned = true
			if w.checkAssignedHost(""); !w.rec.Failed() {
				t.Errorf("%s: the attacker is not served at first: %q", name, w.asTestCluster().answerTo(w.lbARNs[0], 80, assignedHost, "/").text+w.asTestCluster().answerTo(w.lbARNs[1], 80, assignedHost, "/").text)
			}
			w.rec.failures = nil
			w.Apply(strings.Replace(edgeConfigurationDoc(), "scheme: internal", hold, 1))
			w.assignHost()
			w.Settle(20 * time.Second)
			w.checkAssignedHost("")
		})
		if w.rec.Failed() {
			t.Errorf("%s: %v", name, w.rec.failures)
		}
	}
}
