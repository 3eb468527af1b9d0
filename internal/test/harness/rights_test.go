package harness

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
	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	services "github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// permissionRecorder records the permissions that requests of the controller need, as "resource verb". It answers the
// first patch of a pod, and the first status patch of each kind of the Gateway API, with a conflict.
type permissionRecorder struct {
	api kube.API

	mu          sync.Mutex
	used        map[string]bool
	hadConflict map[string]bool
}

func (l *permissionRecorder) recordPermission(obj cluster.Object, part cluster.Part, verb string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := obj.(*corev1.Secret); ok && (s.Name == kube.CheckpointsName || s.Name == kube.MembershipsName) {
		return // another role permits these Secrets by name
	}
	resource := ResourceOf(KindOf(obj))
	if part == cluster.StatusPart {
		resource += "/status"
	}
	l.used[resource+" "+verb] = true
}

func (l *permissionRecorder) Read(ctx context.Context, obj cluster.Object) error {
	l.recordPermission(obj, cluster.MainPart, "get")
	return l.api.Read(ctx, obj)
}

func (l *permissionRecorder) Create(ctx context.Context, obj cluster.Object) error {
	l.recordPermission(obj, cluster.MainPart, "create")
	return l.api.Create(ctx, obj)
}

func (l *permissionRecorder) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	l.recordPermission(obj, part, "patch")
	_, pod := obj.(*corev1.Pod)
	typ, _ := cluster.TypeOf(cluster.Kind(KindOf(obj)))
	if kind := KindOf(obj); (pod || part == cluster.StatusPart && typ.Optional()) && !l.hadConflict[kind] {
		l.hadConflict[kind] = true
		return apierrors.NewConflict(schema.GroupResource{Resource: ResourceOf(kind)}, obj.GetName(), nil)
	}
	return l.api.Patch(ctx, obj, part, kind, data)
}

func (l *permissionRecorder) Update(ctx context.Context, obj cluster.Object) error {
	l.recordPermission(obj, cluster.MainPart, "update")
	return l.api.Update(ctx, obj)
}

func (l *permissionRecorder) Delete(ctx context.Context, obj cluster.Object) error {
	l.recordPermission(obj, cluster.MainPart, "delete")
	return l.api.Delete(ctx, obj)
}

// grantedPermissions returns the permissions of the shipped ClusterRoles with the given names, as "resource verb".
func grantedPermissions(t *testing.T, names ...string) []string {
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

// everyGatewayKind has an object of each kind of the Gateway API. All of them are in use.
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

// useAllPermissions applies and deletes objects so that the controller uses all permissions of its roles. rest settles
// the controller.
func (r *Harness) useAllPermissions(t *testing.T, rest func(time.Duration)) {
	t.Helper()
	for i, a := range podAddresses {
		if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[i%3], a); err != nil {
			t.Fatal(err)
		}
	}
	shared := bindingTo(r.Seeded.TargetGroups["external"], "multiClusterTargetGroup: true")
	gated := strings.ReplaceAll(readyPods("web", podAddresses[:2]...), "spec: {nodeName",
		"spec: {readinessGates: [{conditionType: "+targets.ReadinessGatePrefix+"shared}], nodeName")
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]), webIngress("", "/=web", "/api=api"))
	rest(30 * time.Minute)
	if r.opt.Accelerators {
		r.Apply(edgeAccelerator(webListener))
		rest(30 * time.Minute)
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
		rest(30 * time.Minute)
	}
	r.deleteObject(cluster.KindIngress, "shop", "web")
	rest(30 * time.Minute)
	r.Apply(gated, shared)
	rest(10 * time.Minute)
	r.Apply(readyPods("web", podAddresses[0]))
	rest(10 * time.Minute)
	r.deleteObject(cluster.KindBinding, "shop", "shared")
	rest(10 * time.Minute)
	r.Apply(everyGatewayKind)
	rest(10 * time.Minute)
	for _, kind := range []cluster.Kind{cluster.KindHTTPRoute, cluster.KindGateway, cluster.KindGatewayClass} {
		for _, obj := range r.Store.All(kind) {
			r.deleteObject(kind, obj.GetNamespace(), obj.GetName())
		}
		rest(10 * time.Minute)
	}
	r.Apply(webIngress(ingressAnnotations("scheme", "nowhere"), "/=web"), strings.ReplaceAll(mailService(""), testServiceClass, services.DefaultClass))
	rest(10 * time.Minute)
	r.deleteObject(cluster.KindService, "shop", "mail")
	rest(10 * time.Minute)
	time.Sleep(time.Hour)
	r.process.k8s.RepeatEvents(t.Context())
}

// TestRolesHaveOnlyUsedVerbs checks that the shipped ClusterRoles contain exactly the verbs that the controller uses.
// The roles for leases and webhooks are covered by tests in a real cluster.
func TestRolesHaveOnlyUsedVerbs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &permissionRecorder{used: map[string]bool{}, hadConflict: map[string]bool{}}
		r := New(t, Options{Checkpoints: true, Accelerators: true, API: func(api kube.API) kube.API {
			l.api = api
			return l
		}})
		r.useAllPermissions(t, r.settleOrFail)

		watched := append(controller.StackKinds(), cluster.KindEndpoints)
		for _, k := range append(watched, controller.BindingKinds()...) {
			if k == cluster.KindSecret {
				continue // the owners of Secrets permit access to single Secrets
			}
			resource := ResourceOf(string(k))
			l.used[resource+" list"], l.used[resource+" watch"] = true, true
		}
		l.used["customresourcedefinitions get"] = true // used by a separate client: see internal/kube
		if d := cmp.Diff(slices.Sorted(maps.Keys(l.used)), grantedPermissions(t, "fulcrum", "fulcrum-shared-targets", "fulcrum-accelerators")); d != "" {
			t.Errorf("(-used +granted):\n%s", d)
		}
	})
}

// TestWithoutVerb checks that the controller reports a missing verb of a role in an event or as the error of a run,
// except for the verbs in quiet.
func TestWithoutVerb(t *testing.T) {
	t.Parallel()
	// quiet has the verbs without which events cannot be written, with the reason.
	quiet := map[string]string{
		"events create": "no event can say it",
		"events patch":  "no event can say it",
	}
	n := 0 // number of the verb; ordinary test runs try every third one
	for _, role := range rights.KubernetesRoles {
		if role.File == "webhook.yaml" || role.Name == "fulcrum-leader-election" || role.Name == "fulcrum-gateway-versions" {
			continue // not used by the engine: see internal/kube and internal/webhook/serving
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if verb == "list" || verb == "watch" || resource == "customresourcedefinitions" {
						continue // only informers and a separate client use these: see internal/kube
					}
					if n++; n%seeds.Step(3) != 0 {
						continue
					}
					t.Run(role.Name+"/"+resource+"/"+verb, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							failures := map[string]bool{}
							r := New(t, Options{Checkpoints: true, Accelerators: role.Name == "fulcrum-accelerators", Roles: rights.RolesWithoutVerb(role.Name, resource, verb),
								AfterRun: func(_ string, err error) {
									if err != nil {
										failures[err.Error()] = true
									}
								},
								API: func(api kube.API) kube.API {
									return &permissionRecorder{api: api, used: map[string]bool{}, hadConflict: map[string]bool{}}
								}})
							r.useAllPermissions(t, func(d time.Duration) { r.Settle(d) })
							if !slices.Contains(r.api.deniedVerbs(), resource+" "+verb) {
								t.Fatal("the verb is not used")
							}
							if quiet[resource+" "+verb] != "" {
								return
							}
							reported := strings.Join(slices.Sorted(maps.Keys(failures)), "\n")
							for _, w := range warningsByObject(r) {
								reported += strings.Join(w, "\n")
							}
							if want := "cannot " + verb + " resource"; !strings.Contains(reported, want) {
								t.Errorf("no event or error contains %q: %s", want, reported)
							}
						})
					})
				}
			}
		}
	}
}
