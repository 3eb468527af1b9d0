package acceptance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/fulcrum-lb/fulcrum/local/manifest"
)

// clean removes all resources of the run: first the objects, so that the controller removes their resources in AWS, then the
// resources that remain. Resources that the controller did not remove are recorded in state.NotRemoved. After an error the
// run can be continued.
func (r *run) clean(ctx context.Context) error {
	r.proxy.setPart("remove")
	r.printf("remove: all resources of the run")
	if err := r.deleteReconciledObjects(ctx); err != nil {
		if errors.Is(err, errUnreachable) || errors.Is(err, errInterrupted) {
			return err
		}
		r.printf("  %v", err)
	}
	r.controller.stop()
	left, err := taggedResourcesOf(r).listRemaining(ctx)
	if err != nil {
		return err
	}
	// The controller should have removed these resources. The report lists them.
	for _, x := range left {
		if !slices.Contains(r.state.NotRemoved, x.name) { // an interrupted call of clean may have recorded it
			r.state.NotRemoved = append(r.state.NotRemoved, x.name)
		}
		r.printf("  not deleted by the controller, deleted now: %s", x.name)
	}
	if err := r.saveState(); err != nil {
		return err
	}
	if err := r.awaitSuccess(ctx, "all tagged resources are deleted in AWS", taggedResourcesOf(r).deleteAll); err != nil {
		return err
	}
	if err := taggedResourcesOf(r).removeClusterTag(ctx, r.state.TaggedSecurityGroups); err != nil {
		return err
	}
	if err := r.deleteNamespaceAndCRDs(ctx); err != nil {
		return err
	}
	r.state.Done = true
	r.printf("  nothing is left")
	return r.saveState()
}

// servedKinds are the kinds whose objects the controller reconciles, in the order in which they are deleted.
var servedKinds = []schema.GroupVersionResource{
	ingressesResource,
	{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
	gatewaysResource,
	servicesResource,
	{Group: "gateway.k8s.aws", Version: "v1", Resource: "loadbalancerconfigurations"},
	gatewayClassesResource,
}

var (
	ingressesResource      = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	servicesResource       = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	gatewaysResource       = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	gatewayClassesResource = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gatewayclasses"}
	// bindingsResource is the resource of TargetGroupBindings, which only the controller deletes.
	bindingsResource = schema.GroupVersionResource{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"}
)

func taggedResourcesOf(r *run) taggedResources { return taggedResources{r.proxy.config(), r.state.Run} }

// deleteReconciledObjects deletes objects while the controller runs, and waits until it has removed their finalizers and
// AWS resources.
func (r *run) deleteReconciledObjects(ctx context.Context) error {
	// Without the namespace there are no objects, and the controller cannot run, since its Lease is in the namespace.
	if _, err := r.kube.CoreV1().Namespaces().Get(ctx, r.state.Run, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return nil
	}
	if err := r.ensureController(ctx); err != nil {
		return err
	}
	for _, kind := range servedKinds {
		list, err := r.listObjects(ctx, kind)
		if err != nil {
			return err
		}
		if err := r.applier.Delete(ctx, list); err != nil {
			return err
		}
		if kind != gatewaysResource {
			continue
		}
		// LoadBalancerConfigurations and GatewayClasses cannot be deleted while a Gateway uses them. With the endpoints of
		// the Services, the controller finds the security groups from which it has to revoke rules, although they do not
		// have the tag of the cluster of the run.
		for _, user := range []schema.GroupVersionResource{ingressesResource, gatewaysResource} {
			if err := r.awaitDeleted(ctx, user); err != nil {
				return err
			}
		}
	}
	for _, kind := range append(slices.Clone(servedKinds), bindingsResource) {
		if err := r.awaitDeleted(ctx, kind); err != nil {
			return err
		}
	}
	// Shared resources, such as security groups, are deleted after the load balancers.
	return awaitNoChanges(ctx, r)
}

func (r *run) awaitDeleted(ctx context.Context, kind schema.GroupVersionResource) error {
	return r.awaitSuccess(ctx, "all "+kind.Resource+" are deleted", func(ctx context.Context) error {
		list, err := r.listObjects(ctx, kind)
		if err == nil && len(list) > 0 {
			err = fmt.Errorf("%s still exists", manifest.KindAndName(list[0]))
		}
		return err
	})
}

// listObjects lists the objects of a kind that belong to the run. It returns none if the CRD does not exist.
func (r *run) listObjects(ctx context.Context, kind schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	opts := metav1.ListOptions{}
	namespace := r.state.Run
	if kind == gatewayClassesResource {
		opts.LabelSelector, namespace = runTag+"="+r.state.Run, ""
	}
	list, err := r.dynamic.Resource(kind).Namespace(namespace).List(ctx, opts)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
	}
	var out []*unstructured.Unstructured
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// deleteNamespaceAndCRDs deletes the namespace, and the CRDs that the run has installed, unless they have objects.
func (r *run) deleteNamespaceAndCRDs(ctx context.Context) error {
	namespaces := r.kube.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, r.state.Run, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", r.state.Run, err)
	}
	err := r.awaitSuccess(ctx, "namespace "+r.state.Run+" is deleted", func(ctx context.Context) error {
		_, err := namespaces.Get(ctx, r.state.Run, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			err = errors.New("the namespace still exists")
		}
		return err
	})
	if err != nil {
		return err
	}
	list, err := requiredCRDs()
	if err != nil {
		return err
	}
	for _, u := range list {
		if !slices.Contains(r.state.Definitions, u.GetName()) {
			continue
		}
		used, err := hasObjects(ctx, r.dynamic, u)
		if err != nil {
			return err
		}
		if used {
			r.printf("  %s is not deleted: other objects of this kind exist", manifest.KindAndName(u))
			continue
		}
		if err := r.applier.Delete(ctx, []*unstructured.Unstructured{u}); err != nil {
			return err
		}
	}
	return nil
}

// hasObjects reports whether a CRD has objects.
func hasObjects(ctx context.Context, api dynamic.Interface, definition *unstructured.Unstructured) (bool, error) {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		m, _ := v.(map[string]any)
		if m["storage"] != true {
			continue
		}
		list, err := api.Resource(schema.GroupVersionResource{Group: group, Version: fmt.Sprint(m["name"]), Resource: plural}).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && len(list.Items) > 0, err
	}
	return false, nil
}
