package harness

import (
	"context"
	"errors"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// roleBoundAPI is an API server that permits only the verbs of roles.
type roleBoundAPI struct {
	api   kube.API
	roles []rights.Role

	mu     sync.Mutex
	denied map[string]bool // denied verbs as "resource verb"
}

// check returns a Forbidden error, and records the verb in denied, if the roles do not permit the verb.
func (b *roleBoundAPI) check(obj cluster.Object, part cluster.Part, verb string) error {
	resource := groupResourceOf(obj)
	full := resource.Resource
	if part == cluster.StatusPart {
		full += "/status"
	}
	if rights.RolesAllow(b.roles, resource.Group, full, verb, obj.GetNamespace(), obj.GetName()) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.denied[full+" "+verb] = true
	return apierrors.NewForbidden(schema.GroupResource{Group: resource.Group, Resource: full}, obj.GetName(),
		errors.New(`User "system:serviceaccount:`+rights.Namespace+":"+rights.ServiceAccount+`" cannot `+verb+" resource"))
}

// deniedVerbs returns the verbs that were denied, as "resource verb".
func (b *roleBoundAPI) deniedVerbs() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for d := range b.denied {
		out = append(out, d)
	}
	return out
}

// groupResourceOf returns the API group and the resource of an object.
func groupResourceOf(obj cluster.Object) schema.GroupResource {
	kind := KindOf(obj)
	typ, _ := cluster.TypeOf(cluster.Kind(kind))
	return schema.GroupResource{Group: typ.GVK.Group, Resource: ResourceOf(kind)}
}

// KindOf returns the kind of an object. It also supports ConfigMaps and Events, which the controller only writes.
func KindOf(obj cluster.Object) string {
	switch obj.(type) {
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *corev1.Event:
		return "Event"
	}
	k, _ := cluster.KindOf(obj)
	return string(k)
}

// ResourceOf returns the resource of a kind: its plural in lower case.
func ResourceOf(kind string) string {
	resource := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(resource, "ss"):
		return resource + "es"
	case strings.HasSuffix(resource, "s"):
		return resource
	}
	return resource + "s"
}

// Read implements kube.API.
func (b *roleBoundAPI) Read(ctx context.Context, obj cluster.Object) error {
	if err := b.check(obj, cluster.MainPart, "get"); err != nil {
		return err
	}
	return b.api.Read(ctx, obj)
}

// Create implements kube.API.
func (b *roleBoundAPI) Create(ctx context.Context, obj cluster.Object) error {
	if err := b.check(obj, cluster.MainPart, "create"); err != nil {
		return err
	}
	return b.api.Create(ctx, obj)
}

// Patch implements kube.API.
func (b *roleBoundAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if err := b.check(obj, part, "patch"); err != nil {
		return err
	}
	return b.api.Patch(ctx, obj, part, kind, data)
}

// Update implements kube.API.
func (b *roleBoundAPI) Update(ctx context.Context, obj cluster.Object) error {
	if err := b.check(obj, cluster.MainPart, "update"); err != nil {
		return err
	}
	return b.api.Update(ctx, obj)
}

// Delete implements kube.API.
func (b *roleBoundAPI) Delete(ctx context.Context, obj cluster.Object) error {
	if err := b.check(obj, cluster.MainPart, "delete"); err != nil {
		return err
	}
	return b.api.Delete(ctx, obj)
}
