package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// resourcesByKind are the resources of the kinds that the script commands "annotate", "describe" and "await released"
// support.
var resourcesByKind = map[string]schema.GroupVersionResource{
	"Ingress":   {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	"Service":   {Version: "v1", Resource: "services"},
	"Gateway":   {Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"},
	"HTTPRoute": {Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
	"TCPRoute":  {Group: "gateway.networking.k8s.io", Version: "v1", Resource: "tcproutes"},
}

// resourceClient returns a client for the objects of a kind in a namespace.
func resourceClient(s *scriptCluster, kind, namespace string) (dynamic.ResourceInterface, error) {
	resource, ok := resourcesByKind[kind]
	if !ok {
		return nil, fmt.Errorf("kind %s is not supported", kind)
	}
	c, err := dynamic.NewForConfig(s.World.RESTConfig())
	if err != nil {
		return nil, err
	}
	return c.Resource(resource).Namespace(namespace), nil
}

// annotateObject changes an annotation of the object ref, which is NAMESPACE/NAME. change is KEY=VALUE, which sets the
// annotation, or KEY-, which removes it.
func annotateObject(ts *testscript.TestScript, kind, ref, change string) error {
	s := scriptClusterOf(ts)
	namespace, name := splitReference(ts, ref)
	c, err := resourceClient(s, kind, namespace)
	if err != nil {
		return err
	}
	var value any
	key, text, ok := strings.Cut(change, "=")
	if ok {
		value = text
	} else if key, ok = strings.CutSuffix(change, "-"); !ok {
		return fmt.Errorf("%q is neither KEY=VALUE nor KEY-", change)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}})
	if err != nil {
		return err
	}
	_, err = c.Patch(s.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// describeObject returns a line "address NAME" for each address in the status of the object ref (NAMESPACE/NAME), "condition
// TYPE=STATUS REASON: MESSAGE" for each condition, and "event TYPE REASON: MESSAGE" for each event about the object.
func describeObject(ts *testscript.TestScript, kind, ref string) (string, error) {
	s := scriptClusterOf(ts)
	namespace, name := splitReference(ts, ref)
	c, err := resourceClient(s, kind, namespace)
	if err != nil {
		return "", err
	}
	u, err := c.Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	parents, _, _ := unstructured.NestedSlice(u.Object, "status", "parents")
	for _, p := range parents {
		m, _ := p.(map[string]any)
		its, _, _ := unstructured.NestedSlice(m, "conditions")
		conditions = append(conditions, its...)
	}
	var b strings.Builder
	addresses, _, _ := unstructured.NestedSlice(u.Object, "status", "addresses")
	for _, a := range addresses {
		m, _ := a.(map[string]any)
		fmt.Fprintf(&b, "address %v\n", m["value"])
	}
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		fmt.Fprintf(&b, "condition %v=%v %v: %v\n", m["type"], m["status"], m["reason"], m["message"])
	}
	events, err := s.World.KubeClient().CoreV1().Events(namespace).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, e := range events.Items {
		if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name {
			fmt.Fprintf(&b, "event %s %s: %s\n", e.Type, e.Reason, e.Message)
		}
	}
	return b.String(), nil
}

// checkReleased returns an error if an object has a finalizer, or a load balancer or address in its status.
func checkReleased(ctx context.Context, s *scriptCluster, kind, namespace, name string) error {
	c, err := resourceClient(s, kind, namespace)
	if err != nil {
		return err
	}
	u, err := c.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	ingress, _, _ := unstructured.NestedSlice(u.Object, "status", "loadBalancer", "ingress")
	addresses, _, _ := unstructured.NestedSlice(u.Object, "status", "addresses")
	if shown := slices.Concat(ingress, addresses); len(shown)+len(u.GetFinalizers()) > 0 {
		return fmt.Errorf("%s %s/%s has the finalizers %v, and %v in its status", kind, namespace, name, u.GetFinalizers(), shown)
	}
	return nil
}
