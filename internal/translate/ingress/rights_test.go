package ingress_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

var edgeStackID = model.StackID{Kind: model.Ingress, Name: "edge"}

// liveRules returns an observed stack with one rule for each host. The rule forwards to the target group whose resource id
// is idByHost[host].
func liveRules(idByHost map[string]string) observed.Stack {
	l := observed.Listener{ARN: "listener", Port: 80, Protocol: "HTTP", Default: []model.Action{model.FixedResponse{Status: "404"}}}
	var out observed.Stack
	for i, host := range slices.Sorted(maps.Keys(idByHost)) {
		out.TargetGroups = append(out.TargetGroups, observed.TargetGroup{ARN: "tg " + host, ResourceID: idByHost[host]})
		l.Rules = append(l.Rules, observed.Rule{
			ARN: "rule " + host, Priority: int32(i + 1), Conditions: []model.Condition{model.HostHeader{Values: []string{host}}},
			Actions: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "tg " + host}}}}},
		})
	}
	out.LoadBalancers = []observed.LoadBalancer{{ARN: "lb", ResourceID: model.LoadBalancerID, Type: "application", Listeners: []observed.Listener{l}}}
	return out
}

// TestRulesOfAnAdmittedIngressAreNotWithdrawn checks which rules are withdrawn if the classes of some Ingresses do not admit
// their namespace. The id of a target group begins with the name of its Ingress, which can also be the beginning of the name
// of another Ingress. So a rule is withdrawn only if it cannot belong to an admitted Ingress.
func TestRulesOfAnAdmittedIngressAreNotWithdrawn(t *testing.T) {
	const classes = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: open}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: closed}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: closed}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: closed}
spec: {namespaceSelector: {matchLabels: {edge: allowed}}}
`
	of := func(name, class string) string {
		return fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %s, namespace: shop, finalizers: [group.ingress.k8s.aws/edge], annotations: {alb.ingress.kubernetes.io/group.name: edge}}
spec: {ingressClassName: %s, rules: [{host: %[1]s.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: app, port: {number: 80}}}}]}}]}
`, name, class)
	}
	long := strings.Repeat("l", 250) // too long for the id in the tag of its target groups
	live := liveRules(map[string]string{"web.example.com": "shop/web-app:80", "web-two.example.com": "shop/web-two-app:80", "other.example.com": "shop/other-app:80",
		"long.example.com": naming.IngressTargetGroupID("shop", long, "app", "80")})
	for name, c := range map[string]struct {
		docs string
		gone []string
	}{
		"both are admitted": {of("web", "open") + of("web-two", "open"), nil},
		// The rule of Ingress "web-two" could belong to Ingress "web".
		"the one with the longer name":  {of("web", "open") + of("web-two", "closed"), nil},
		"the one with the shorter name": {of("web", "closed") + of("web-two", "open"), []string{"rule web.example.com"}},
		"neither":                       {of("web", "closed") + of("web-two", "closed"), []string{"rule web-two.example.com", "rule web.example.com"}},
		"one with a very long name":     {of("web", "open") + of(long, "closed"), []string{"rule long.example.com"}},
		"one beside a third":            {of("other", "open") + of("web", "closed"), []string{"rule web-two.example.com", "rule web.example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
			out, unknown := f.WithdrawnResources(cluster.NewView(enginetest.LoadObjects(t, classes+c.docs)), edgeStackID, live)
			if diff := cmp.Diff(c.gone, slices.Sorted(maps.Keys(out.Rules))); diff != "" || len(unknown) > 0 {
				t.Errorf("unknown %v, withdrawn (-want +got):\n%s", unknown, diff)
			}
		})
	}
}

// TestALiveHostStaysWithItsNamespace checks that in isolated tenancy a host belongs to the namespace that has an existing
// rule for it, even if the Ingress of another namespace is older.
func TestALiveHostStaysWithItsNamespace(t *testing.T) {
	of := func(namespace, host string, year int) string {
		return fmt.Sprintf(`---
apiVersion: v1
kind: Service
metadata: {name: app, namespace: %s}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: %[1]s, creationTimestamp: "%d-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/group.name: edge, alb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: alb, rules: [{host: "%s", http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: app, port: {number: 80}}}}]}}]}
`, namespace, year, host)
	}
	const class = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: alb}\nspec: {controller: ingress.k8s.aws/alb}\n"
	for name, c := range map[string]struct {
		old, young string            // hosts in the Ingresses of the namespaces "old" and "young"
		live       map[string]string // target group IDs by host
		refused    []string          // namespaces whose rule is refused
	}{
		"nothing is live":           {"a.example.com", "a.example.com", nil, []string{"young"}},
		"the host is live":          {"a.example.com", "a.example.com", map[string]string{"a.example.com": "young/web-app:80"}, []string{"old"}},
		"the wildcard is live":      {"*.example.com", "*.example.com", map[string]string{"*.example.com": "young/web-app:80"}, []string{"old"}},
		"a host within is live":     {"*.example.com", "a.example.com", map[string]string{"a.example.com": "young/web-app:80"}, []string{"old"}},
		"the wildcard around it is": {"a.example.com", "*.example.com", map[string]string{"*.example.com": "young/web-app:80"}, []string{"old"}},
		"the older one is live too": {"a.example.com", "a.example.com", map[string]string{"a.example.com": "old/web-app:80"}, []string{"young"}},
		"other hosts":               {"a.example.com", "b.example.com", map[string]string{"b.example.com": "young/web-app:80"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			src := enginetest.LoadObjects(t, class+of("old", c.old, 2020)+of("young", c.young, 2024))
			f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb", Tenancy: ingress.Isolated})
			live := liveRules(c.live)
			_, found := f.Translate(cluster.NewView(src), edgeStackID, &live)
			var refused []string
			for _, x := range found {
				if x.Reason == finding.HostNotOwned && strings.HasPrefix(x.Field, "spec.rules") {
					refused = append(refused, x.Object.Namespace)
				}
			}
			if diff := cmp.Diff(c.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeldDefaultBackendYieldsUnlessItServes checks that a held default backend gives way to that of another member, also if
// it comes first in group order, unless the existing listener serves it.
func TestHeldDefaultBackendYieldsUnlessItServes(t *testing.T) {
	withDefault := func(namespace, more string) string {
		return fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: %s, annotations: {alb.ingress.kubernetes.io/group.name: edge%s}}
spec: {ingressClassName: alb, defaultBackend: {service: {name: web, port: {number: 80}}}}
`, namespace, more)
	}
	docs := objectsWithClass + withDefault("bad", `, alb.ingress.kubernetes.io/group.order: "-1", alb.ingress.kubernetes.io/scheme: public`) + withDefault("ns", "")
	for serving, want := range map[string]string{"": "ns", "ns": "ns", "bad": "bad"} {
		live := liveRules(nil)
		if serving != "" {
			live.TargetGroups = []observed.TargetGroup{{ARN: "tg", ResourceID: serving + "/web-web:80"}}
			live.LoadBalancers[0].Listeners[0].Default = []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "tg"}}}}}
		}
		f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
		stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, docs), edgeStackID, &live)
		l := stack.LoadBalancer.Listeners[0]
		if l.DefaultOf.Object.Namespace != want || (l.DefaultHeld != 0) != (want == "bad") {
			t.Errorf("the listener serves %q: the default action is of %s, held: %q; findings %v", serving, l.DefaultOf.Object, l.DefaultHeld, found)
		}
	}
}

// TestHeldDefaultBackendStaysWhereItServes checks that a held default backend stays if the existing listener serves it,
// although another one in front of it is held too, or although it forwards to no target group of the stack.
func TestHeldDefaultBackendStaysWhereItServes(t *testing.T) {
	const notes = `actions.act: '{"type":"fixed-response","fixedResponseConfig":{"statusCode":"503","messageBody":"closed"}}'`
	withDefault := func(namespace, order, backend, more string) string {
		return fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: %s, annotations: {alb.ingress.kubernetes.io/group.name: edge, alb.ingress.kubernetes.io/group.order: "%s", alb.ingress.kubernetes.io/%s%s}}
spec: {ingressClassName: alb, defaultBackend: {service: %s}}
`, namespace, order, notes, more, backend)
	}
	const service, action, fault = `{name: web, port: {number: 80}}`, `{name: act, port: {name: use-annotation}}`, `, alb.ingress.kubernetes.io/scheme: public`
	closed := []model.Action{model.FixedResponse{Status: "503", Body: "closed"}}
	forward := []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "tg"}}}}}
	for name, c := range map[string]struct {
		docs string
		live []model.Action
		want string // namespace of the default backend
		held bool
	}{
		"the second of two held ones serves": {withDefault("a", "-1", action, fault) + withDefault("b", "0", service, fault) + withDefault("ns", "1", service, ""), forward, "b", true},
		"a response serves":                  {withDefault("b", "-1", action, fault) + withDefault("ns", "0", service, ""), closed, "b", true},
		"another one has the response":       {withDefault("b", "-1", action, fault) + withDefault("ns", "0", action, ""), closed, "ns", false},
		"the response serves no more":        {withDefault("b", "-1", action, fault) + withDefault("ns", "0", service, ""), []model.Action{model.FixedResponse{Status: "404"}}, "ns", false},
	} {
		live := liveRules(nil)
		live.TargetGroups = []observed.TargetGroup{{ARN: "tg", ResourceID: "b/web-web:80"}}
		live.LoadBalancers[0].Listeners[0].Default = c.live
		f := ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
		stack, found := enginetest.Translate(t, f, enginetest.LoadObjects(t, objectsWithClass+c.docs), edgeStackID, &live)
		if l := stack.LoadBalancer.Listeners[0]; l.DefaultOf.Object.Namespace != c.want || (l.DefaultHeld != 0) != c.held {
			t.Errorf("%s: the default action is of %s, held: %q; findings %v", name, l.DefaultOf.Object, l.DefaultHeld, found)
		}
	}
}
