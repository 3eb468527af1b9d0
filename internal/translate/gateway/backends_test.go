package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

const repeatedBackends = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: edge, uid: u1}
spec: {gatewayClassName: alb, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: net, uid: u2}
spec: {gatewayClassName: nlb, listeners: [{name: tcp, protocol: TCP, port: 53}]}
---
apiVersion: v1
kind: Service
metadata: {namespace: a, name: web, uid: s1}
spec: {type: NodePort, ports: [{name: http, port: 80, nodePort: 30080}, {name: other, port: 81, nodePort: 30081}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: a, name: r}
spec:
  parentRefs: [{name: edge}]
  rules:
  - backendRefs:
    - {name: web, port: 80, weight: 999}
    - {group: gateway.k8s.aws, kind: TargetGroupName, name: x, weight: 2}
    - {name: web, port: 81, weight: 999}
    - {name: web, port: 80, weight: 999}
    - {group: gateway.k8s.aws, kind: TargetGroupName, name: x, weight: 0}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: a, name: r}
spec:
  parentRefs: [{name: net}]
  rules: [{backendRefs: [{name: web, port: 80}, {name: web, port: 81}]}, {backendRefs: [{name: web, port: 80}]}]
`

// TestWeightsOfRepeatedBackendsAddUp checks that an action has each target group once. The weights of backends with the same
// target group add up before they are scaled to the maximum of AWS.
func TestWeightsOfRepeatedBackendsAddUp(t *testing.T) {
	weights := func(kind model.Kind, name string) (out []string) {
		f := gateway.New(kind, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
		stack, _ := enginetest.Translate(t, f, enginetest.LoadObjects(t, repeatedBackends), model.StackID{Kind: kind, Namespace: "a", Name: name}, nil)
		l := stack.LoadBalancer.Listeners[0]
		actions := l.Default
		if kind == model.ALBGateway {
			actions = l.Rules[0].Actions
		}
		for _, g := range model.ForwardedTargetGroups(actions) {
			out = append(out, fmt.Sprint(g.Group.ID, g.Group.Name, " ", *g.Weight))
		}
		return out
	}
	if got, want := weights(model.ALBGateway, "edge"), []string{"a/edge:a-r:HTTPRoute-a-web:80 999", "x 1", "a/edge:a-r:HTTPRoute-a-web:81 499"}; !slices.Equal(got, want) {
		t.Errorf("rule: %q, want %q", got, want)
	}
	if got, want := weights(model.NLBGateway, "net"), []string{"a/net:a-r:TCPRoute-a-web:80 2", "a/net:a-r:TCPRoute-a-web:81 1"}; !slices.Equal(got, want) {
		t.Errorf("port: %q, want %q", got, want)
	}
}

// TestWeightOfAMissingBackendDoesNotChangeTheProportionOfOthers checks that weights are not scaled because of a backend that
// gets no requests.
func TestWeightOfAMissingBackendDoesNotChangeTheProportionOfOthers(t *testing.T) {
	docs := strings.Replace(repeatedBackends, "[{name: web, port: 80}, {name: web, port: 81}]}, {backendRefs: [{name: web, port: 80}]}", "[{name: none, port: 80, weight: 1000000}, {name: web, port: 80, weight: 1}, {name: web, port: 81, weight: 9}]}", 1)
	f := gateway.New(model.NLBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
	stack, _ := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.NLBGateway, Namespace: "a", Name: "net"}, nil)
	var got []int32
	for _, g := range model.ForwardedTargetGroups(stack.LoadBalancer.Listeners[0].Default) {
		got = append(got, *g.Weight)
	}
	if want := []int32{1, 9}; !slices.Equal(got, want) {
		t.Errorf("weights %d, want %d", got, want)
	}
}

// TestTLSPortOfATCPUDPRouteHasItsOwnTargetGroup checks that a TLS listener forwards to a TCP target group, even if its route
// has a TCP_UDP port too, because AWS refuses TCP_UDP target groups behind TLS listeners.
func TestTLSPortOfATCPUDPRouteHasItsOwnTargetGroup(t *testing.T) {
	docs := strings.Replace(repeatedBackends, "{name: tcp, protocol: TCP, port: 53}", `{name: tcp, protocol: TCP, port: 53}, {name: udp, protocol: UDP, port: 53},
  {name: other, protocol: TCP, port: 54}, {name: tls, protocol: TLS, port: 853, hostname: dns.example.com, tls: {certificateRefs: [{name: c}]}}`, 1)
	f := gateway.New(model.NLBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
	stack, _ := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.NLBGateway, Namespace: "a", Name: "net"}, nil)
	var got []string
	for _, l := range stack.LoadBalancer.Listeners {
		for _, g := range model.ForwardedTargetGroups(l.Default) {
			got = append(got, l.Protocol()+" to "+stack.TargetGroup(g.Group.ID).Protocol)
		}
	}
	if want := []string{"TCP_UDP to TCP_UDP", "TCP_UDP to TCP_UDP", "TCP to TCP_UDP", "TCP to TCP_UDP", "TLS to TCP", "TLS to TCP"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRouteOnTLSListenersOfBothModesHasTwoTargetGroups checks that the listener that passes TLS through forwards to a TCP target
// group and the other one to a TLS target group, because AWS refuses TLS target groups behind TCP listeners. The lower port has
// the target group with the usual id. A configured protocol is used for both.
func TestRouteOnTLSListenersOfBothModesHasTwoTargetGroups(t *testing.T) {
	const terminate, passthrough = "tls: {mode: Terminate, options: {a: b}}", "tls: {mode: Passthrough}"
	for name, c := range map[string]struct {
		lower, upper, config string
		want                 []string
	}{
		"terminates on the lower port": {terminate, passthrough, "", []string{"TLS to TLS true", "TCP to TCP false"}},
		"terminates on the upper port": {passthrough, terminate, "", []string{"TCP to TCP true", "TLS to TLS false"}},
		"configured protocol":          {terminate, passthrough, "protocol: TCP", []string{"TLS to TCP true", "TCP to TCP true"}},
	} {
		docs := strings.NewReplacer("{name: tcp, protocol: TCP, port: 53}", "{name: a, protocol: TLS, port: 443, "+c.lower+"}, {name: b, protocol: TLS, port: 8443, "+c.upper+"}",
			"kind: TCPRoute", "kind: TLSRoute").Replace(repeatedBackends)
		if c.config != "" {
			docs += "---\napiVersion: gateway.k8s.aws/v1\nkind: TargetGroupConfiguration\nmetadata: {namespace: a, name: web}\nspec: {targetReference: {name: web}, defaultConfiguration: {" + c.config + "}}\n"
		}
		f := gateway.New(model.NLBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
		stack, _ := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.NLBGateway, Namespace: "a", Name: "net"}, nil)
		var got []string
		for _, l := range stack.LoadBalancer.Listeners {
			id := model.ForwardedTargetGroups(l.Default)[0].Group.ID
			got = append(got, fmt.Sprint(l.Protocol(), " to ", stack.TargetGroup(id).Protocol, " ", id == "a/net:a-r:TLSRoute-a-web:80"))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTagsOfConfigurationsAreLimited checks that the tags of a TargetGroupConfiguration and of a ListenerRuleConfiguration are
// limited to the number that AWS allows, and that the first tag that is left out is reported.
func TestTagsOfConfigurationsAreLimited(t *testing.T) {
	var tags []string
	for i := range 60 {
		tags = append(tags, fmt.Sprintf("t%02d: v", i))
	}
	docs := strings.Replace(repeatedBackends, "  - backendRefs:\n", `  - filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: tagged}}]
    backendRefs:
`, 1) + fmt.Sprintf(`---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: a, name: tagged}
spec: {tags: {%[1]s}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: a, name: tagged}
spec: {targetReference: {name: web}, defaultConfiguration: {tags: {%[1]s}}}
`, strings.Join(tags, ", "))
	f := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig", DefaultTags: map[string]string{"team": "d"}}})
	stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
	const most = naming.MaxTags - 3 // the controller adds three
	if n := len(stack.TargetGroups[0].Tags); n != most {
		t.Errorf("the target group has %d tags", n)
	}
	if n := len(stack.LoadBalancer.Listeners[0].Rules[0].Tags); n != most {
		t.Errorf("the rule has %d tags", n)
	}
	for _, of := range []string{"the target group", "the rule"} {
		want := "there are 60 tags for " + of + `, and AWS allows 46; 14 are left out, the first is "t46"`
		if !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.TagInvalid && f.Message == want }) {
			t.Errorf("no finding %q in %v", want, found)
		}
	}
}

// TestRepeatedEntriesOfConfigurationsAreLimited checks that the attributes, the node labels and the tags of a
// TargetGroupConfiguration, which each target group repeats, are limited.
func TestRepeatedEntriesOfConfigurationsAreLimited(t *testing.T) {
	entries := func(n int, format string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return strings.Join(out, ", ")
	}
	for name, configuration := range map[string]func(n int) string{
		"attributes": func(n int) string { return "targetGroupAttributes: [" + entries(n, "{key: k%d, value: v}") + "]" },
		"labels":     func(n int) string { return "nodeSelector: {matchLabels: {" + entries(n, "k%d: v") + "}}" },
		"tags":       func(n int) string { return "tags: {" + entries(n, "k%d: v") + "}" },
		"expressions": func(n int) string {
			return "nodeSelector: {matchExpressions: [{key: k, operator: In, values: [" + entries(n, "v%d") + "]}]}"
		},
	} {
		for n, want := range map[int]bool{settings.MaxRepeatedEntries: false, settings.MaxRepeatedEntries + 1: true} {
			docs := repeatedBackends + fmt.Sprintf(`---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: a, name: large}
spec: {targetReference: {name: web}, defaultConfiguration: {%s}}
`, configuration(n))
			f := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
			_, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
			if got := slices.ContainsFunc(found, func(f finding.Finding) bool {
				return f.Reason == finding.ParametersInvalid && strings.Contains(f.Message, "exceed the limit")
			}); got != want {
				t.Errorf("%s, %d entries: held is %t; findings %v", name, n, got, found)
			}
		}
	}
}

// TestNamedTargetGroupsOfANamespaceAreLimited checks that the routes of a namespace can name a limited number of target groups
// of other owners, each of which costs an AWS call, and that rules and listeners with others are held.
func TestNamedTargetGroupsOfANamespaceAreLimited(t *testing.T) {
	var docs strings.Builder
	docs.WriteString(repeatedBackends)
	for route := range 11 {
		fmt.Fprintf(&docs, "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {namespace: a, name: named%d}\nspec:\n  parentRefs: [{name: edge}]\n  rules:\n", route)
		for rule := range 10 {
			fmt.Fprintf(&docs, "  - {matches: [{path: {value: /p%[1]d-%[2]d}}], backendRefs: [{group: gateway.k8s.aws, kind: TargetGroupName, name: n%[1]d-%[2]d}]}\n", route, rule)
		}
	}
	f := gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}})
	stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs.String()), model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "edge"}, nil)
	held, reported := 0, 0
	for _, r := range stack.LoadBalancer.Listeners[0].Rules {
		if r.Held != 0 {
			held++
		}
	}
	for _, x := range found {
		if x.Reason == finding.GatewayTooLarge {
			reported++
		}
	}
	if asked := len(stack.Questions()); held != 11 || reported != 12 || asked > assemble.MaxNamedTargetGroups+10 { // route r names one more, twice
		t.Errorf("%d rules are held, %d findings, %d questions", held, reported, asked)
	}
}

// TestSeveralTargetGroupsNeedTheFeatureGate checks that a rule and a listener with several target groups are held if feature
// gate WeightedTargetGroups is off.
func TestSeveralTargetGroupsNeedTheFeatureGate(t *testing.T) {
	for _, off := range []bool{false, true} {
		opt := gateway.Options{Options: assemble.Options{Cluster: "rig", NoWeightedTargetGroups: off}}
		for kind, name := range map[model.Kind]string{model.ALBGateway: "edge", model.NLBGateway: "net"} {
			stack, found := enginetest.Translate(t, gateway.New(kind, opt), enginetest.LoadObjects(t, repeatedBackends), model.StackID{Kind: kind, Namespace: "a", Name: name}, nil)
			l := stack.LoadBalancer.Listeners[0]
			held := l.DefaultHeld
			if len(l.Rules) > 0 {
				held = l.Rules[0].Held
			}
			reported := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.FeatureDisabled })
			if (held != 0) != off || reported != off {
				t.Errorf("%s, gate is off: %t; held is %s, findings %v", kind, off, held, found)
			}
		}
	}
}
