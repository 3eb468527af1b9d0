package manifest

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
)

// fieldManager is the field manager of all fields that an Applier writes.
const fieldManager = "fulcrum-local"

// Applier writes objects to one API server.
type Applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// NewApplier returns an Applier for the API server of cfg. It does not call the API server.
func NewApplier(cfg *rest.Config) (*Applier, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &Applier{
		client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco)),
	}, nil
}

// Apply writes the objects with server-side apply and overrides conflicts. It writes namespaces and CRDs first, and the
// other objects in the given order. It waits until the API server serves the CRDs, because later objects may use them.
func (a *Applier) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	rank := func(u *unstructured.Unstructured) int {
		switch u.GetKind() {
		case "Namespace", "CustomResourceDefinition":
			return 0
		}
		return 1
	}
	sorted := slices.Clone(objects)
	slices.SortStableFunc(sorted, func(x, y *unstructured.Unstructured) int { return rank(x) - rank(y) })
	var crds []*unstructured.Unstructured
	for i, u := range sorted {
		if rank(u) == 1 && len(crds) > 0 {
			if err := a.waitForCRDs(ctx, crds); err != nil {
				return err
			}
			crds = nil
		}
		if err := a.applyOne(ctx, u); err != nil {
			return fmt.Errorf("apply %s: %w", KindAndName(u), err)
		}
		if sorted[i].GetKind() == "CustomResourceDefinition" {
			crds = append(crds, u)
		}
	}
	return a.waitForCRDs(ctx, crds)
}

// applyBackoff is the back-off after a timeout error of the API server. Such errors occur just after the API server has
// started on a busy machine.
var applyBackoff = wait.Backoff{Steps: 3, Duration: time.Second, Factor: 2}

func (a *Applier) applyOne(ctx context.Context, u *unstructured.Unstructured) error {
	resource, err := a.resource(u)
	if err != nil {
		return err
	}
	isTimeout := func(err error) bool { return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) }
	return retry.OnError(applyBackoff, isTimeout, func() error {
		_, err := resource.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	})
}

// Delete deletes the objects in reverse order and ignores those that do not exist. It does not wait for finalizers.
func (a *Applier) Delete(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, u := range slices.Backward(objects) {
		resource, err := a.resource(u)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("delete %s: %w", KindAndName(u), err)
		}
		background := metav1.DeletePropagationBackground
		err = resource.Delete(ctx, u.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", KindAndName(u), err)
		}
	}
	return nil
}

// Get returns the object in the API server that has the kind, namespace and name of u.
func (a *Applier) Get(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource, err := a.resource(u)
	if err != nil {
		return nil, err
	}
	return resource.Get(ctx, u.GetName(), metav1.GetOptions{})
}

// resource returns the client for the kind and namespace of an object. An object without a namespace is in namespace
// "default" unless its kind is cluster-scoped. If the kind is unknown, resource repeats the discovery once, because the CRD
// of the kind may be new.
func (a *Applier) resource(u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := u.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return nil, err
	}
	client := a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return client, nil
	}
	namespace := u.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return client.Namespace(namespace), nil
}

// waitForCRDs waits until all CRDs have the condition Established, and then resets the discovery cache.
func (a *Applier) waitForCRDs(ctx context.Context, crds []*unstructured.Unstructured) error {
	for _, crd := range crds {
		for {
			live, err := a.Get(ctx, crd)
			if err != nil {
				return fmt.Errorf("wait for %s: %w", KindAndName(crd), err)
			}
			if isEstablished(live) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait until %s is established: %w", KindAndName(crd), ctx.Err())
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	if len(crds) > 0 {
		a.mapper.Reset()
	}
	return nil
}

func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		if m["type"] == "Established" && m["status"] == "True" {
			return true
		}
	}
	return false
}

// KindAndName returns kind, namespace and name of an object, for messages.
func KindAndName(u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return u.GetKind() + " " + u.GetName()
	}
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}
