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
// pod meets the write of somebody else.
type ledger struct {
	api kube.API

	mu    sync.Mutex
	used  map[string]bool
	first bool
}

func (l *ledger) note(obj cluster.Object, part cluster.Part, verb string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := obj.(*corev1.Secret); ok && (s.Name == kube.CheckpointsName || s.Name == kube.MembershipsName) {
		return // granted by name, with the lease
	}
	resource := map[string]string{
		"ConfigMap": "configmaps", "Event": "events", "Ingress": "ingresses", "Pod": "pods", "Service": "services", "TargetGroupBinding": "targetgroupbindings",
	}[kindOf(obj)]
	if part == cluster.Status {
		resource += "/status"
	}
	l.used[resource+" "+verb] = true
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
	if _, pod := obj.(*corev1.Pod); pod && !l.first {
		l.first = true
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, obj.GetName(), nil)
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

// The roles that are shipped hold what the controller does, and nothing else. Leases and the rights
// of webhooks have roles of their own, which tests in a real cluster use.
func TestRolesHoldWhatIsUsedAndNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{used: map[string]bool{}}
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
			resource := strings.ToLower(string(k))
			switch {
			case k == cluster.KindIngress || k == cluster.KindIngressClass:
				resource += "es"
			case !strings.HasSuffix(resource, "s"):
				resource += "s"
			}
			l.used[resource+" list"], l.used[resource+" watch"] = true, true
		}
		if d := cmp.Diff(slices.Sorted(maps.Keys(l.used)), granted(t, "fulcrum", "fulcrum-shared-targets")); d != "" {
			t.Errorf("(-used +granted):\n%s", d)
		}
	})
}
