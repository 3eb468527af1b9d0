package scenario

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// GatewayHostname returns the DNS name of the load balancer in a Gateway's status. It returns an error if there is
// none, or if the Gateway's newest generation is not Programmed.
func (s *Scenario) GatewayHostname(ctx context.Context, namespace, gateway string) (string, error) {
	got, err := s.GatewayObject(ctx, "Gateway", namespace, gateway)
	if err != nil {
		return "", err
	}
	if err := checkCondition(got, "Programmed=True"); err != nil {
		return "", err
	}
	addresses, _, err := unstructured.NestedSlice(got.Object, "status", "addresses")
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if m, _ := a.(map[string]any); m["type"] == string(gatewayv1.HostnameAddressType) {
			return fmt.Sprint(m["value"]), nil
		}
	}
	return "", fmt.Errorf("gateway %s/%s has no host name in its status", namespace, gateway)
}

// CheckCondition returns an error unless a Gateway API object has a condition for its newest generation. state is
// "TYPE=STATUS" or "TYPE=STATUS REASON". A route must have the condition for each parent in its status.
func (s *Scenario) CheckCondition(ctx context.Context, kind, namespace, name, state string) error {
	got, err := s.GatewayObject(ctx, kind, namespace, name)
	if err != nil {
		return err
	}
	return checkCondition(got, state)
}

// GatewayObject returns a Gateway API object, such as a Gateway or an HTTPRoute, from the API server. For a GatewayClass,
// namespace has no effect.
func (s *Scenario) GatewayObject(ctx context.Context, kind, namespace, name string) (*unstructured.Unstructured, error) {
	if kind == "GatewayClass" {
		return s.dynamic.Resource(gatewayResource("gatewayclasses")).Get(ctx, name, metav1.GetOptions{})
	}
	resource := strings.ToLower(kind) + "s"
	return s.dynamic.Resource(gatewayResource(resource)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func gatewayResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Resource: name}
}

// checkCondition returns an error if an object, or one of the parents of a route, does not have the condition state, such as
// "Accepted=True" or "Accepted=False REASON", for the current generation of the object.
func checkCondition(u *unstructured.Unstructured, state string) error {
	lists := [][]any{}
	if own, ok, _ := unstructured.NestedSlice(u.Object, "status", "conditions"); ok {
		lists = append(lists, own)
	}
	parents, _, _ := unstructured.NestedSlice(u.Object, "status", "parents")
	if refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "parentRefs"); len(parents) < len(refs) {
		return fmt.Errorf("%s %s/%s has %d parents in its status, want %d", u.GetKind(), u.GetNamespace(), u.GetName(), len(parents), len(refs))
	}
	for _, p := range parents {
		m, _ := p.(map[string]any)
		of, _, _ := unstructured.NestedSlice(m, "conditions")
		lists = append(lists, of)
	}
	if len(lists) == 0 {
		return fmt.Errorf("%s %s/%s has no conditions", u.GetKind(), u.GetNamespace(), u.GetName())
	}
	for _, l := range lists {
		if !hasCondition(l, state, u.GetGeneration()) {
			return fmt.Errorf("%s %s/%s is not %s: %v", u.GetKind(), u.GetNamespace(), u.GetName(), state, l)
		}
	}
	return nil
}

func hasCondition(conditions []any, state string, generation int64) bool {
	for _, c := range conditions {
		m, _ := c.(map[string]any)
		is := fmt.Sprintf("%s=%s %s", m["type"], m["status"], m["reason"])
		if (is == state || strings.HasPrefix(is, state+" ")) && m["observedGeneration"] == generation {
			return true
		}
	}
	return false
}
