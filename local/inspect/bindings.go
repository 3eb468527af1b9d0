package inspect

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var bindingsResource = schema.GroupVersionResource{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"}

// TargetGroupsOf returns the sorted ARNs of the target groups that TargetGroupBindings bind to a Service.
func TargetGroupsOf(ctx context.Context, client dynamic.Interface, namespace, service string) ([]string, error) {
	list, err := client.Resource(bindingsResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, b := range list.Items {
		name, _, _ := unstructured.NestedString(b.Object, "spec", "serviceRef", "name")
		arn, _, _ := unstructured.NestedString(b.Object, "spec", "targetGroupARN")
		if name == service && arn != "" {
			out = append(out, arn)
		}
	}
	slices.Sort(out)
	return out, nil
}

// CountBindings returns the number of TargetGroupBindings in a namespace.
func CountBindings(ctx context.Context, client dynamic.Interface, namespace string) (int, error) {
	list, err := client.Resource(bindingsResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	return len(list.Items), nil
}
