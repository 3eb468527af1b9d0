package gateway_test

import (
	"fmt"
	"slices"
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

// translateSized translates a Gateway with a number of listeners, and with a LoadBalancerConfiguration with the spec.
func translateSized(t *testing.T, listeners int, spec string) (model.Stack, finding.List) {
	t.Helper()
	docs := fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: c}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: edge, uid: u1}
spec:
  gatewayClassName: c
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: large}}
  listeners: [%s]
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: a, name: large}
spec: {%s}
`, listOf(listeners, "{name: l%d, protocol: HTTP, port: 1%03[1]d}"), spec)
	translator := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
	return enginetest.Translate(t, translator, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
}

// TestGatewayThatIsTooLargeIsHeld checks that a Gateway is held if its configuration has more client ranges for a port, or
// more certificates, than AWS accepts, and that the number of its ports does not matter.
func TestGatewayThatIsTooLargeIsHeld(t *testing.T) {
	ipv4 := strings.Join([]string{listOf(200, "10.1.%d.0/24"), listOf(200, "10.2.%d.0/24"), listOf(200, "10.3.%d.0/24")}, ", ")
	ipv6 := listOf(600, `"2001:db8:%d::/48"`)
	for name, c := range map[string]struct {
		listeners int
		spec      string
		held      bool
	}{
		"as many ranges as fit":       {10, "sourceRanges: [" + ipv4 + "], securityGroupPrefixes: [" + listOf(400, "pl-%d") + "]", false},
		"more prefix lists":           {1, "sourceRanges: [" + ipv4 + "], securityGroupPrefixes: [" + listOf(401, "pl-%d") + "]", true},
		"more IPv6 ranges":            {1, "ipAddressType: dualstack, sourceRanges: [" + listOf(1001, `"2001:db8:%x::/48"`) + "]", true},
		"both families":               {1, "ipAddressType: dualstack, sourceRanges: [" + ipv4 + ", " + ipv6 + "]", false},
		"ranges without an effect":    {1, "securityGroups: [sg-1], sourceRanges: [" + listOf(1001, `"2001:db8:%x::/48"`) + "]", false},
		"no security groups":          {1, "securityGroups: [], sourceRanges: [" + listOf(1001, `"2001:db8:%x::/48"`) + "]", true},
		"as many certificates as fit": {1, `listenerConfigurations: [{protocolPort: "HTTP:1000", certificates: [` + listOf(4000, "c%d") + "]}]", false},
		"more certificates":           {1, `listenerConfigurations: [{protocolPort: "HTTP:1000", certificates: [` + listOf(4001, "c%d") + "]}]", true},
	} {
		stack, found := translateSized(t, c.listeners, c.spec)
		tooLarge := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.GatewayTooLarge })
		if stack.Held.AllResources != c.held || (stack.LoadBalancer == nil) != c.held || tooLarge != c.held {
			t.Errorf("%s: held is %t, findings %v", name, stack.Held.AllResources, found)
		}
	}
}
