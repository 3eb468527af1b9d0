package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// listOf returns n texts, made from a format with an index, separated by commas.
func listOf(n int, format string) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return strings.Join(out, ", ")
}

// translateWithSizes translates a Gateway with listeners, to which ListenerSets add sets listeners, and with a
// LoadBalancerConfiguration with the spec.
func translateWithSizes(t *testing.T, kind model.Kind, opt assemble.Options, listeners, sets int, spec string) (model.Stack, finding.List) {
	t.Helper()
	class, protocol, route := "gateway.k8s.aws/alb", "HTTP", "HTTPRoute"
	if kind == model.NLBGateway {
		class, protocol, route = "gateway.k8s.aws/nlb", "TCP", "TCPRoute"
	}
	opt.Cluster = "rig"
	docs := fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: %s}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: edge, uid: u1}
spec:
  gatewayClassName: c
  allowedListeners: {namespaces: {from: Same}}
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: large}}
  listeners: [%s]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: a, name: guest}
spec: {parentRef: {name: edge}, listeners: [%s]}
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: a, name: large}
spec: {%s}
---
apiVersion: v1
kind: Service
metadata: {namespace: a, name: web, uid: s1}
spec: {type: NodePort, ports: [{name: http, port: 80, nodePort: 30080}, {name: other, port: 81, nodePort: 30081}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: %s
metadata: {namespace: a, name: r}
spec: {parentRefs: [{name: edge}, {kind: ListenerSet, name: guest}], rules: [{backendRefs: [{name: web, port: 80}, {name: web, port: 81}]}]}
`, class, listOf(listeners, "{name: l%d, protocol: "+protocol+", port: 1%03[1]d}"), listOf(sets, "{name: l%d, protocol: "+protocol+", port: 2%03[1]d}"), spec, route)
	return enginetest.Translate(t, gateway.New(kind, gateway.Options{Options: opt, ListenerSets: true}), enginetest.LoadObjects(t, docs), model.StackID{Kind: kind, Namespace: "a", Name: "edge"}, nil)
}

// clientRules returns the number of rules of the managed security group for each port.
func clientRules(s model.Stack) map[int32]int {
	out := map[int32]int{}
	for _, r := range s.LoadBalancer.SecurityGroups.(model.GroupsManaged).Group.Ingress {
		out[r.From]++
	}
	return out
}

// TestGatewayThatIsTooLargeIsHeld checks that a Gateway is held if its configuration needs more rules of a security group, or
// has more certificates, than AWS accepts. The product of two lists would exhaust the memory.
func TestGatewayThatIsTooLargeIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		listeners int
		spec      string
		held      bool
	}{
		"as many ranges as fit": {10, "sourceRanges: [" + listOf(100, "10.0.%d.0/24") + "]", false},
		"more ranges":           {10, "sourceRanges: [" + listOf(101, "10.0.%d.0/24") + "]", true},
		"prefix lists":          {10, "sourceRanges: [10.0.0.0/8], securityGroupPrefixes: [" + listOf(100, "pl-%d") + "]", true},
		"as many certificates":  {1, `listenerConfigurations: [{protocolPort: "HTTP:1000", certificates: [` + listOf(4000, "c%d") + "]}]", false},
		"more certificates":     {1, `listenerConfigurations: [{protocolPort: "HTTP:1000", certificates: [` + listOf(4001, "c%d") + "]}]", true},
	} {
		stack, found := translateWithSizes(t, model.ALBGateway, assemble.Options{}, c.listeners, 0, c.spec)
		if stack.Held.Everything != c.held || (stack.LoadBalancer == nil) != c.held || (len(found) > 0 && found[0].Reason == finding.GatewayTooLarge) != c.held {
			t.Errorf("%s: held is %t, findings %v", name, stack.Held.Everything, found)
		}
	}
}

// TestPortsOfListenerSetsGetTheRulesThatAreLeft checks that a ListenerSet with many ports neither makes more rules than a
// security group can have nor takes rules from the ports of the Gateway.
func TestPortsOfListenerSetsGetTheRulesThatAreLeft(t *testing.T) {
	stack, found := translateWithSizes(t, model.ALBGateway, assemble.Options{}, 2, 64, "sourceRanges: ["+listOf(20, "10.0.%d.0/24")+"]")
	of := clientRules(stack)
	if len(of) != 50 || of[1000] != 20 || of[1001] != 20 || of[2000] != 20 || of[2047] != 20 || len(stack.LoadBalancer.Listeners) != 66 || !stack.Contested {
		t.Errorf("%d listeners, contested is %t, rules by port %v", len(stack.LoadBalancer.Listeners), stack.Contested, of)
	}
	if len(found) != 16 || found[0].Reason != finding.GatewayTooLarge || found[0].Object.Kind != "ListenerSet" {
		t.Errorf("%d findings: %v", len(found), found)
	}
}

// TestRulesForClientsOfTargetsAreLimited checks that the client ranges in TargetGroupBindings, which each target group behind a
// load balancer without security groups repeats, are limited for the routes of a namespace.
func TestRulesForClientsOfTargetsAreLimited(t *testing.T) {
	for most, want := range map[int]model.Held{12: 0, 11: model.HeldInvalid} {
		stack, found := translateWithSizes(t, model.NLBGateway, assemble.Options{MaxRules: most}, 1, 0, "disableSecurityGroup: true, sourceRanges: ["+listOf(6, "10.0.%d.0/24")+"]")
		if l := stack.LoadBalancer.Listeners[0]; l.DefaultHeld != want || (len(found) > 0) != (want != 0) {
			t.Errorf("at most %d rules: held is %s, findings %v", most, l.DefaultHeld, found)
		}
	}
}
