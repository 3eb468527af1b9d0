package rig

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/config/rbac"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	services "github.com/fulcrum-lb/fulcrum/internal/frontend/service"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// ledger notes the rights that an API server would ask for, as "resource verb". The first patch of a
// pod meets the write of another client, and the first status of each kind of the Gateway API.
type ledger struct {
	api kube.API

	mu   sync.Mutex
	used map[string]bool
	met  map[string]bool
}

func (l *ledger) note(obj cluster.Object, part cluster.Part, verb string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := obj.(*corev1.Secret); ok && (s.Name == kube.CheckpointsName || s.Name == kube.MembershipsName) {
		return // granted by name, with the lease
	}
	resource := resourceOf(kindOf(obj))
	if part == cluster.Status {
		resource += "/status"
	}
	l.used[resource+" "+verb] = true
}

// resourceOf is the name of the resource of a kind.
func resourceOf(kind string) string {
	resource := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(resource, "ss"):
		return resource + "es"
	case strings.HasSuffix(resource, "s"):
		return resource
	}
	return resource + "s"
}

func kindOf(obj cluster.Object) string {
	switch obj.(type) {
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *corev1.Event:
		return "Event"
	}
	k, _ := cluster.KindOf(obj)
	return string(k)
}

func (l *ledger) Read(ctx context.Context, obj cluster.Object) error {
	l.note(obj, cluster.Main, "get")
	return l.api.Read(ctx, obj)
}

func (l *ledger) Create(ctx context.Context, obj cluster.Object) error {
	l.note(obj, cluster.Main, "create")
	return l.api.Create(ctx, obj)
}

func (l *ledger) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	l.note(obj, part, "patch")
	_, pod := obj.(*corev1.Pod)
	typ, _ := cluster.TypeOf(cluster.Kind(kindOf(obj)))
	if kind := kindOf(obj); (pod || part == cluster.Status && typ.Optional()) && !l.met[kind] {
		l.met[kind] = true
		return apierrors.NewConflict(schema.GroupResource{Resource: resourceOf(kind)}, obj.GetName(), nil)
	}
	return l.api.Patch(ctx, obj, part, kind, data)
}

func (l *ledger) Update(ctx context.Context, obj cluster.Object) error {
	l.note(obj, cluster.Main, "update")
	return l.api.Update(ctx, obj)
}

func (l *ledger) Delete(ctx context.Context, obj cluster.Object) error {
	l.note(obj, cluster.Main, "delete")
	return l.api.Delete(ctx, obj)
}

// granted are the rights of the named cluster roles in the same form.
func granted(t *testing.T, names ...string) []string {
	t.Helper()
	documents, err := rbac.Documents()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, d := range documents {
		for one := range strings.SplitSeq(string(d), "\n---\n") {
			var role rbacv1.ClusterRole
			if err := yaml.Unmarshal([]byte(one), &role); err != nil {
				t.Fatal(err)
			}
			if role.Kind != "ClusterRole" || !slices.Contains(names, role.Name) {
				continue
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						out[resource+" "+verb] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// everyGatewayKind has an object of each kind of the Gateway API, in use.
const everyGatewayKind = edgeGateway + `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: any}
spec: {controllerName: gateway.fulcrum.dev/aws, parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, namespace: shop, name: any}}
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: shop, name: any}
spec: {defaultTargetGroupConfiguration: {name: any}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: shop, name: any}
---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: shop, name: any}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: alb
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {kind: GRPCRoute}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: net, namespace: shop}
spec:
  gatewayClassName: any
  listeners: [{name: tcp, port: 1, protocol: TCP}, {name: udp, port: 2, protocol: UDP}, {name: tls, port: 3, protocol: TLS, tls: {mode: Passthrough}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: shop, name: set}
spec: {parentRef: {name: web}, listeners: [{name: more, port: 81, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs: [{name: web}]
  rules: [{filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: any}}], backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {namespace: shop, name: r}
spec: {parentRefs: [{name: web}], rules: [{backendRefs: [{name: web, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {namespace: shop, name: r}
spec: {parentRefs: [{name: net}], rules: [{backendRefs: [{name: web, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {namespace: shop, name: r}
spec: {parentRefs: [{name: net}], rules: [{backendRefs: [{name: web, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {namespace: shop, name: r}
spec: {parentRefs: [{name: net}], hostnames: [a.example.com], rules: [{backendRefs: [{name: web, port: 80}]}]}
---
`

// The roles that are shipped hold what the controller does, and nothing else. Leases and the rights
// of webhooks have roles of their own, which tests in a real cluster use.
func TestRolesHoldWhatIsUsedAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{used: map[string]bool{}, met: map[string]bool{}}
		r := New(t, Options{Checkpoints: true, API: func(api kube.API) kube.API {
			l.api = api
			return l
		}})
		for i, a := range podAddresses {
			if err := Assign(t.Context(), AWSConfig(r.Emulator), r.World.Instances[i%3], a); err != nil {
				t.Fatal(err)
			}
		}
		shared := bindingTo(r.World.TargetGroups["external"], "multiClusterTargetGroup: true")
		gated := strings.ReplaceAll(pods("web", podAddresses[:2]...), "spec: {nodeName",
			"spec: {readinessGates: [{conditionType: "+targets.GatePrefix+"shared}], nodeName")
		life(t, r)
		r.Apply(gated, shared)
		r.calm(10 * time.Minute)
		r.Apply(pods("web", podAddresses[0]))
		r.calm(10 * time.Minute)
		r.drop(cluster.KindBinding, "shop", "shared")
		r.calm(10 * time.Minute)
		r.Apply(everyGatewayKind)
		r.calm(10 * time.Minute)
		for _, kind := range []cluster.Kind{cluster.KindHTTPRoute, cluster.KindGateway, cluster.KindGatewayClass} {
			for _, obj := range r.Store.All(kind) {
				r.drop(kind, obj.GetNamespace(), obj.GetName())
			}
			r.calm(10 * time.Minute)
		}
		r.Apply(ingressOf(annotated("scheme", "nowhere"), "/=web"), strings.ReplaceAll(mail(""), ownClass, services.DefaultClass))
		r.calm(10 * time.Minute)
		r.drop(cluster.KindService, "shop", "mail")
		r.calm(10 * time.Minute)
		time.Sleep(time.Hour)
		r.process.k8s.RaiseEvents(t.Context())

		watched := append(controller.StackKinds(), cluster.KindEndpoints)
		for _, k := range append(watched, controller.BindingKinds()...) {
			if k == cluster.KindSecret {
				continue // granted one by one, by those who have them
			}
			resource := resourceOf(string(k))
			l.used[resource+" list"], l.used[resource+" watch"] = true, true
		}
		if d := cmp.Diff(slices.Sorted(maps.Keys(l.used)), granted(t, "fulcrum", "fulcrum-shared-targets")); d != "" {
			t.Errorf("(-used +granted):\n%s", d)
		}
	})
}
