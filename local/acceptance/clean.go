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

// clean removes everything: first what the controller has to remove in AWS, then the rest. What it could not remove is
// in state.Left. An error says that it has to go on later.
func (r *run) clean(ctx context.Context) error {
	r.proxy.begin("remove")
	r.say("remove: all that the run has made")
	if err := r.removeServed(ctx); err != nil {
		if errors.Is(err, errCut) || errors.Is(err, errInterrupted) {
			return err
		}
		r.say("  %v", err)
	}
	r.controller.stop()
	left, err := taggedBy(r).left(ctx)
	if err != nil {
		return err
	}
	// What is here the controller should have removed; the report says so, and nothing of it shall cost money.
	for _, x := range left {
		if !slices.Contains(r.state.Left, x.name) { // the removal may have been cut off before
			r.state.Left = append(r.state.Left, x.name)
		}
		r.say("  left by the controller, and removed now: %s", x.name)
	}
	if err := r.save(); err != nil {
		return err
	}
	if err := r.until(ctx, "all tagged resources are gone from AWS", taggedBy(r).remove); err != nil {
		return err
	}
	if err := taggedBy(r).unmark(ctx, r.state.Tagged); err != nil {
		return err
	}
	if err := r.removeObjects(ctx); err != nil {
		return err
	}
	r.state.Done = true
	r.say("  nothing is left")
	return r.save()
}

// served are the kinds for which the controller has made something, in the order in which their objects are deleted.
var served = []schema.GroupVersionResource{
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	{Version: "v1", Resource: "services"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
	gateways,
	{Group: "gateway.k8s.aws", Version: "v1", Resource: "loadbalancerconfigurations"},
	gatewayClasses,
}

var (
	gateways       = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
	gatewayClasses = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gatewayclasses"}
	// bindings are deleted by the controller alone.
	bindings = schema.GroupVersionResource{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"}
)

func taggedBy(r *run) tagged { return tagged{r.proxy.config(), r.state.Run} }

// removeServed deletes objects while the controller runs, and waits until it has let go of them.
func (r *run) removeServed(ctx context.Context) error {
	// The namespace is deleted after them, and the controller's Lease is in it.
	if _, err := r.kube.CoreV1().Namespaces().Get(ctx, r.state.Run, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return nil
	}
	if err := r.revive(ctx); err != nil {
		return err
	}
	for _, kind := range served {
		list, err := r.list(ctx, kind)
		if err != nil {
			return err
		}
		if err := r.applier.Delete(ctx, list); err != nil {
			return err
		}
		// A configuration or class stays as long as a Gateway uses it.
		if kind == gateways {
			if err := r.gone(ctx, kind); err != nil {
				return err
			}
		}
	}
	for _, kind := range append(slices.Clone(served), bindings) {
		if err := r.gone(ctx, kind); err != nil {
			return err
		}
	}
	// What all load balancers share goes after them.
	return settled(ctx, r)
}

func (r *run) gone(ctx context.Context, kind schema.GroupVersionResource) error {
	return r.until(ctx, "all "+kind.Resource+" are gone", func(ctx context.Context) error {
		list, err := r.list(ctx, kind)
		if err == nil && len(list) > 0 {
			err = fmt.Errorf("%s is still there", manifest.Name(list[0]))
		}
		return err
	})
}

// list lists the objects of the run of a kind. Definitions that are missing were never made, or are removed already.
func (r *run) list(ctx context.Context, kind schema.GroupVersionResource) ([]*unstructured.Unstructured, error) {
	opts := metav1.ListOptions{}
	namespace := r.state.Run
	if kind == gatewayClasses {
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

// removeObjects deletes the namespace, and the definitions that the run has installed and nothing uses.
func (r *run) removeObjects(ctx context.Context) error {
	namespaces := r.kube.CoreV1().Namespaces()
	if err := namespaces.Delete(ctx, r.state.Run, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", r.state.Run, err)
	}
	err := r.until(ctx, "namespace "+r.state.Run+" is gone", func(ctx context.Context) error {
		_, err := namespaces.Get(ctx, r.state.Run, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err == nil:
			err = errors.New("it is still there")
		}
		return err
	})
	if err != nil {
		return err
	}
	list, err := definitions()
	if err != nil {
		return err
	}
	for _, u := range list {
		if !slices.Contains(r.state.Definitions, u.GetName()) {
			continue
		}
		used, err := used(ctx, r.dynamic, u)
		if err != nil {
			return err
		}
		if used {
			r.say("  %s stays: others have made objects of it meanwhile", manifest.Name(u))
			continue
		}
		if err := r.applier.Delete(ctx, []*unstructured.Unstructured{u}); err != nil {
			return err
		}
	}
	return nil
}

// used reports whether there are objects of a definition.
func used(ctx context.Context, api dynamic.Interface, definition *unstructured.Unstructured) (bool, error) {
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
