package cluster

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// clearedGatewayStatus returns the fields that reset the status of a Gateway to the status of a new Gateway. It retains the
// conditions that other controllers have added.
func clearedGatewayStatus(o *gwv1.Gateway) any {
	conditions := initialConditions(gwv1.GatewayConditionAccepted, gwv1.GatewayConditionProgrammed)
	for _, c := range o.Status.Conditions {
		if !slices.ContainsFunc(conditions, func(w metav1.Condition) bool { return w.Type == c.Type }) {
			conditions = append(conditions, c)
		}
	}
	return map[string]any{"addresses": nil, "listeners": nil, "attachedListenerSets": nil, "conditions": conditions}
}

// initialConditions returns the conditions that the API server sets in a new object of the Gateway API.
func initialConditions[T ~string](types ...T) []metav1.Condition {
	var out []metav1.Condition
	for _, t := range types {
		out = append(out, metav1.Condition{
			Type: string(t), Status: metav1.ConditionUnknown, Reason: string(gwv1.GatewayReasonPending),
			Message: "Waiting for controller", LastTransitionTime: metav1.Time{Time: time.Unix(0, 0).UTC()},
		})
	}
	return out
}

// fillGatewayStatus sets the conditions of a GatewayClass, Gateway or ListenerSet that has none, as the API server does for
// a new object.
func fillGatewayStatus(obj Object) {
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		if o.Status.Conditions == nil {
			o.Status.Conditions = initialConditions(gwv1.GatewayClassConditionStatusAccepted)
		}
	case *gwv1.Gateway:
		if o.Status.Conditions == nil {
			o.Status.Conditions = initialConditions(gwv1.GatewayConditionAccepted, gwv1.GatewayConditionProgrammed)
		}
	case *gwv1.ListenerSet:
		if o.Status.Conditions == nil {
			o.Status.Conditions = initialConditions(gwv1.ListenerSetConditionAccepted, gwv1.ListenerSetConditionProgrammed)
		}
	}
}
