package gatewayclass_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayclass"
)

const objectDocs = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb, generation: 2}
spec: {controllerName: gateway.k8s.aws/alb, parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, namespace: infra, name: lb}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: gate}
spec:
  gatewayClassName: alb
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: own}}
  listeners: [{name: web, port: 80, protocol: HTTP}]
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: infra, name: lb, generation: 3}
spec: {defaultTargetGroupConfiguration: {name: targets}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: infra, name: targets, generation: 4}
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: shop, name: own, generation: 5}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: shop, name: web, generation: 6}
spec: {targetReference: {name: web}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: shop, name: web}
spec:
  parentRefs: [{name: gate}]
  rules:
  - backendRefs: [{name: web, port: 80}]
    filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: login}}]
---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: shop, name: login, generation: 7}
spec:
  actions:
  - type: authenticate-oidc
    authenticateOIDCConfig: {issuer: i, authorizationEndpoint: a, tokenEndpoint: t, userInfoEndpoint: u, secret: {name: client}}
---
apiVersion: v1
kind: Secret
metadata: {namespace: shop, name: client, labels: {read: me}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: shop, name: more}
spec: {parentRef: {name: gate}, listeners: [{name: x, port: 81, protocol: HTTP}]}
status:
  conditions:
  - {type: Accepted, status: "True", reason: Accepted, message: "` + attach.SetAcceptedMessage + `", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Programmed, status: "True", reason: Programmed, message: "` + attach.SetProgrammedMessage + `", lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: Theirs, status: "True", reason: R, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: shop, name: other}
spec: {parentRefs: [{kind: ListenerSet, name: more}], rules: [{backendRefs: [{name: none, port: 1}]}]}
status:
  parents:
  - {parentRef: {kind: ListenerSet, name: more}, controllerName: gateway.k8s.aws/alb}
  - {parentRef: {kind: ListenerSet, name: more}, controllerName: example.com/other}
`

var (
	classRef       = cluster.Ref{Kind: cluster.KindGatewayClass, Name: "alb"}
	loginRef       = cluster.Ref{Kind: cluster.KindListenerRuleConfiguration, Namespace: "shop", Name: "login"}
	listenerSetRef = cluster.Ref{Kind: cluster.KindListenerSet, Namespace: "shop", Name: "more"}
)

func configRef(kind cluster.Kind, namespace, name string) cluster.Ref {
	return cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
}

// TestPatches checks which patches Patches returns for each kind of object. The subtests replace parts of the YAML
// documents.
func TestPatches(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, x := range map[string]struct {
		replace []string // pairs of old and new text in the documents
		ref     cluster.Ref
		opt     func(*gatewayclass.Options)
		want    string
	}{
		"a class": {ref: classRef,
			want: "add gateway.k8s.aws/gatewayclass; Accepted True Accepted, SupportedVersion True SupportedVersion; last-processed-config=3-4; last-processed-config-timestamp=1000"},
		"of another controller":      {ref: classRef, replace: []string{"gateway.k8s.aws/alb, parametersRef", "example.com/other, parametersRef"}},
		"whose kind is switched off": {ref: classRef, opt: func(o *gatewayclass.Options) { o.ALB = false }},
		"for either kind, of which one is switched on": {ref: classRef, opt: func(o *gatewayclass.Options) { o.ALB = false },
			replace: []string{"gateway.k8s.aws/alb, parametersRef", "gateway.fulcrum.dev/aws, parametersRef"},
			want:    "add gateway.k8s.aws/gatewayclass; Accepted True Accepted, SupportedVersion True SupportedVersion; last-processed-config=3-4; last-processed-config-timestamp=1000"},
		"whose configuration is missing": {ref: classRef, replace: []string{"namespace: infra, name: lb}}", "namespace: infra, name: none}}"},
			want: "add gateway.k8s.aws/gatewayclass; Accepted False InvalidParameters, SupportedVersion True SupportedVersion"},
		"without a default of target groups": {ref: classRef, replace: []string{"spec: {defaultTargetGroupConfiguration: {name: targets}}", ""},
			want: "add gateway.k8s.aws/gatewayclass; Accepted True Accepted, SupportedVersion True SupportedVersion; last-processed-config=3; last-processed-config-timestamp=1000"},
		"whose configuration was processed": {ref: classRef, replace: []string{"{name: alb, generation: 2}", `{name: alb, generation: 2, finalizers: [gateway.k8s.aws/gatewayclass], annotations: {elbv2.k8s.aws/last-processed-config: "3-4"}}`},
			want: "Accepted True Accepted, SupportedVersion True SupportedVersion"},
		"with versions that are not known": {ref: classRef, opt: func(o *gatewayclass.Options) { o.Versions = nil },
			want: "add gateway.k8s.aws/gatewayclass; Accepted True Accepted, SupportedVersion Unknown Pending; last-processed-config=3-4; last-processed-config-timestamp=1000"},
		"with a version of the future": {ref: classRef, opt: func(o *gatewayclass.Options) {
			o.Versions = map[string]string{"a": consts.BundleVersion, "b": "v9.0.0"}
		},
			want: "add gateway.k8s.aws/gatewayclass; Accepted True Accepted, SupportedVersion False UnsupportedVersion; last-processed-config=3-4; last-processed-config-timestamp=1000"},
		"with a version that is none": {ref: classRef, opt: func(o *gatewayclass.Options) { o.Versions = map[string]string{"a": "main"} },
			want: "add gateway.k8s.aws/gatewayclass; Accepted True Accepted, SupportedVersion False UnsupportedVersion; last-processed-config=3-4; last-processed-config-timestamp=1000"},
		"that is deleted while a Gateway uses it": {ref: classRef, replace: []string{"{name: alb, generation: 2}", deletedClassMetadata}},
		"that is deleted and not used": {ref: classRef, replace: []string{"{name: alb, generation: 2}", deletedClassMetadata, "gatewayClassName: alb", "gatewayClassName: other"},
			want: "remove gateway.k8s.aws/gatewayclass"},
		"that does not exist": {ref: cluster.Ref{Kind: cluster.KindGatewayClass, Name: "none"}},

		"a configuration of a class": {ref: configRef(cluster.KindLoadBalancerConfiguration, "infra", "lb"),
			want: "add gateway.k8s.aws/loadbalancerconfigurations; observedGatewayClassConfigurationGeneration=3"},
		"one of a Gateway": {ref: configRef(cluster.KindLoadBalancerConfiguration, "shop", "own"),
			want: "add gateway.k8s.aws/loadbalancerconfigurations; observedGatewayConfigurationGeneration=5"},
		"that was observed": {ref: configRef(cluster.KindLoadBalancerConfiguration, "shop", "own"),
			replace: []string{"name: own, generation: 5}", "name: own, generation: 5, finalizers: [gateway.k8s.aws/loadbalancerconfigurations]}\nstatus: {observedGatewayConfigurationGeneration: 5}"}},
		"that is not used": {ref: configRef(cluster.KindLoadBalancerConfiguration, "shop", "own"), replace: []string{"gatewayClassName: alb", "gatewayClassName: other"}},
		"that is deleted and not used, with its finalizer": {ref: configRef(cluster.KindLoadBalancerConfiguration, "shop", "own"),
			replace: []string{"gatewayClassName: alb", "gatewayClassName: other", "name: own, generation: 5}", "name: own, generation: 5, finalizers: [gateway.k8s.aws/loadbalancerconfigurations], deletionTimestamp: \"2026-01-01T00:00:00Z\"}"},
			want:    "remove gateway.k8s.aws/loadbalancerconfigurations"},
		"that is deleted while it is used": {ref: configRef(cluster.KindLoadBalancerConfiguration, "shop", "own"),
			replace: []string{"name: own, generation: 5}", "name: own, generation: 5, finalizers: [gateway.k8s.aws/loadbalancerconfigurations], deletionTimestamp: \"2026-01-01T00:00:00Z\"}"}},
		"a default of target groups": {ref: configRef(cluster.KindTargetGroupConfiguration, "infra", "targets"),
			want: "add gateway.k8s.aws/targetgroupconfigurations; observedGatewayClassConfigurationGeneration=4"},
		"one for a backend of a route": {ref: configRef(cluster.KindTargetGroupConfiguration, "shop", "web"),
			want: "add gateway.k8s.aws/targetgroupconfigurations; observedGatewayConfigurationGeneration=6"},
		"for a backend by way of a ListenerSet": {ref: configRef(cluster.KindTargetGroupConfiguration, "shop", "web"), replace: []string{"parentRefs: [{name: gate}]", "parentRefs: [{kind: ListenerSet, name: more}]"},
			want: "add gateway.k8s.aws/targetgroupconfigurations; observedGatewayConfigurationGeneration=6"},
		"for one of another controller's Gateway": {ref: configRef(cluster.KindTargetGroupConfiguration, "shop", "web"), replace: []string{"gatewayClassName: alb", "gatewayClassName: other"}},
		"for a route of no Gateway":               {ref: configRef(cluster.KindTargetGroupConfiguration, "shop", "web"), replace: []string{"parentRefs: [{name: gate}]", "parentRefs: [{kind: ListenerSet, name: none}]"}},
		"for a Service that is not there":         {ref: configRef(cluster.KindTargetGroupConfiguration, "shop", "web"), replace: []string{"kind: Service\nmetadata: {namespace: shop, name: web}", "kind: Service\nmetadata: {namespace: shop, name: x}"}},
		"for a kind that is no backend":           {ref: configRef(cluster.KindTargetGroupConfiguration, "shop", "web"), replace: []string{"targetReference: {name: web}", "targetReference: {kind: Pod, name: web}"}},

		"a rule": {ref: loginRef, want: "add gateway.k8s.aws/listenerruleconfigurations; accepted"},
		"that was accepted": {ref: loginRef,
			replace: []string{"name: login, generation: 7}", "name: login, generation: 7, finalizers: [gateway.k8s.aws/listenerruleconfigurations]}\nstatus: {accepted: true, message: Accepted, observedGeneration: 7}"}},
		"that no route uses": {ref: loginRef, replace: []string{"ListenerRuleConfiguration, name: login}", "ListenerRuleConfiguration, name: x}"}, want: "accepted"},
		"that is deleted":    {ref: loginRef, replace: []string{"name: login, generation: 7}", "name: login, generation: 7, finalizers: [x], deletionTimestamp: \"2026-01-01T00:00:00Z\"}"}},
		"whose Secret is missing": {ref: loginRef, replace: []string{"name: client, labels", "name: x, labels"},
			want: "add gateway.k8s.aws/listenerruleconfigurations; not accepted: " + finding.MissingSecretMessage("shop", "client") + "; rules with this configuration do not change; " + finding.MissingSecretFix("", "shop", "client")},
		"whose Secret has no name": {ref: loginRef, replace: []string{"secret: {name: client}", `secret: {name: "no name"}`},
			want: `add gateway.k8s.aws/listenerruleconfigurations; not accepted: Secret "shop/no name" is not a valid name of a Secret; rules with this configuration do not change; name a Secret of this namespace`},
		"whose Secret has the label": {ref: loginRef, opt: func(o *gatewayclass.Options) { o.SecretKey, o.SecretValue = "read", "me" },
			want: "add gateway.k8s.aws/listenerruleconfigurations; accepted"},
		"whose Secret has not": {ref: loginRef, opt: func(o *gatewayclass.Options) { o.SecretKey, o.SecretValue = "read", "it" },
			want: `add gateway.k8s.aws/listenerruleconfigurations; not accepted: Secret "shop/client" does not have the label that --required-secrets-label requires; rules with this configuration do not change; set the label read=it`},

		"a ListenerSet of ours":              {ref: listenerSetRef},
		"that has left takes its status off": {ref: listenerSetRef, replace: []string{"spec: {parentRef: {name: gate}", "spec: {parentRef: {name: none}"}, want: "ListenerSet Accepted Unknown Pending, Programmed Unknown Pending, Theirs True R; TCPRoute parents example.com/other"},
		"that is gone leaves its routes":     {ref: listenerSetRef, replace: []string{"kind: ListenerSet\nmetadata: {namespace: shop, name: more}", "kind: ListenerSet\nmetadata: {namespace: shop, name: x}"}, want: "TCPRoute parents example.com/other"},
		"of another kind of parent":          {ref: listenerSetRef, replace: []string{"spec: {parentRef: {name: gate}", "spec: {parentRef: {kind: Service, name: gate}"}, want: "ListenerSet Accepted Unknown Pending, Programmed Unknown Pending, Theirs True R; TCPRoute parents example.com/other"},
		"that another controller has judged": {ref: listenerSetRef, replace: []string{"spec: {parentRef: {name: gate}", "spec: {parentRef: {name: none}", attach.SetAcceptedMessage, "fine"},
			want: "TCPRoute parents example.com/other"},
		"while they are switched off": {ref: listenerSetRef, replace: []string{"spec: {parentRef: {name: gate}", "spec: {parentRef: {name: none}"},
			opt: func(o *gatewayclass.Options) { o.ListenerSets = false }},
	} {
		t.Run(name, func(t *testing.T) {
			text := objectDocs
			for i := 0; i < len(x.replace); i += 2 {
				if !strings.Contains(text, x.replace[i]) {
					t.Fatalf("no %q in the documents", x.replace[i])
				}
				text = strings.ReplaceAll(text, x.replace[i], x.replace[i+1])
			}
			store, err := cluster.MemoryFromYAML(testclock.FromVariable(&now), []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			opt := gatewayclass.Options{ALB: true, NLB: true, ListenerSets: true, Versions: map[string]string{"a": consts.BundleVersion}}
			if x.opt != nil {
				x.opt(&opt)
			}
			v := cluster.NewView(store)
			var got []string
			for _, p := range gatewayclass.Patches(v, x.ref, opt, now) {
				got = append(got, patchText(t, store, p))
			}
			if v.Err() != nil {
				t.Fatal(v.Err())
			}
			all := strings.Join(got, "; ")
			if all != x.want {
				t.Errorf("\n got %s\nwant %s", all, x.want)
			}
		})
	}
}

const deletedClassMetadata = `{name: alb, generation: 2, finalizers: [gateway.k8s.aws/gatewayclass], deletionTimestamp: "2026-01-01T00:00:00Z"}`

func patchText(t *testing.T, store *cluster.Memory, p cluster.Patch) string {
	t.Helper()
	switch p := p.(type) {
	case cluster.Finalizer:
		if p.Remove {
			return "remove " + p.Name
		}
		return "add " + p.Name
	case cluster.Annotation:
		return strings.TrimPrefix(p.Key, "elbv2.k8s.aws/") + "=" + p.Value
	case cluster.ObjectStatus:
		if s, ok := p.Fields.(gwconfig.ListenerRuleConfigurationStatus); ok {
			if *s.Accepted {
				return "accepted"
			}
			return "not accepted: " + *s.Message
		}
		var out []string
		fields := p.Fields.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(fields)) {
			out = append(out, fmt.Sprintf("%s=%v", k, fields[k]))
		}
		return strings.Join(out, ", ")
	case cluster.StatusEdit:
		obj, err := store.Get(p.Ref)
		if err != nil {
			t.Fatal(err)
		}
		switch s := p.Edit(obj, metav1.Now()).(type) {
		case gwv1.RouteStatus:
			out := p.Ref.Kind + " parents"
			for _, e := range s.Parents {
				out += " " + string(e.ControllerName)
			}
			return out
		case map[string]any:
			var out []string
			for _, c := range s["conditions"].([]metav1.Condition) {
				out = append(out, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
			}
			text := strings.Join(out, ", ")
			if p.Ref != classRef {
				text = p.Ref.Kind + " " + text
			}
			return text
		}
	}
	return fmt.Sprintf("%T", p)
}

// TestRouteChangesEnqueueListenerSets checks that a change of a route enqueues the ListenerSets about which this controller
// has written entries in the status of the route, and that a change of an object of one of the Kinds enqueues that object.
func TestRouteChangesEnqueueListenerSets(t *testing.T) {
	store, err := cluster.MemoryFromYAML(nil, []byte(objectDocs))
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[cluster.Ref]string{
		loginRef: "[" + loginRef.String() + "]",
		configRef(cluster.KindTCPRoute, "shop", "other"): "[" + listenerSetRef.String() + "]",
		configRef(cluster.KindHTTPRoute, "shop", "web"):  "[]",
	} {
		obj, err := store.Get(ref)
		if err != nil || obj == nil {
			t.Fatal(ref, err)
		}
		if got := fmt.Sprint(gatewayclass.ObjectsToReconcile(obj)); got != want {
			t.Errorf("%s concerns %s, want %s", ref, got, want)
		}
	}
}
