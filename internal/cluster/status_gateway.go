package cluster

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
)

// gatewayStatus points to the status of an object of the Gateway API; nil for others.
func gatewayStatus(obj Object) any {
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		return &o.Status
	case *gwv1.Gateway:
		return &o.Status
	case *gwv1.ListenerSet:
		return &o.Status
	case *gwv1.HTTPRoute:
		return &o.Status
	case *gwv1.GRPCRoute:
		return &o.Status
	case *gwv1.TCPRoute:
		return &o.Status
	case *gwv1.UDPRoute:
		return &o.Status
	case *gwv1.TLSRoute:
		return &o.Status
	case *gwconfig.LoadBalancerConfiguration:
		return &o.Status
	case *gwconfig.TargetGroupConfiguration:
		return &o.Status
	case *gwconfig.ListenerRuleConfiguration:
		return &o.Status
	}
	return nil
}

// gatewayStatusOf is StatusOf for the kinds of the Gateway API.
func gatewayStatusOf(obj Object) any { return gatewayStatus(obj) }

// clearedGateway returns the fields that reset the status of a Gateway to that of a new object, apart from conditions of other
// controllers.
func clearedGateway(o *gwv1.Gateway) any {
	conditions := initialConditions(gwv1.GatewayConditionAccepted, gwv1.GatewayConditionProgrammed)
	for _, c := range o.Status.Conditions {
		if !slices.ContainsFunc(conditions, func(w metav1.Condition) bool { return w.Type == c.Type }) {
			conditions = append(conditions, c)
		}
	}
	return map[string]any{"addresses": nil, "listeners": nil, "attachedListenerSets": nil, "conditions": conditions}
}

// initialConditions returns the conditions that the API server sets in a new object.
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

// fillGatewayStatus sets the conditions that the API server sets in a new object.
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

// copyGatewayStatus sets the status of dst to that of src, or to an empty one if src is nil.
func copyGatewayStatus(dst, src Object) {
	var from any
	if src != nil {
		from = gatewayStatus(src.DeepCopyObject().(Object))
	}
	switch d := gatewayStatus(dst).(type) {
	case *gwv1.GatewayClassStatus:
		replaceStatus(d, from)
	case *gwv1.GatewayStatus:
		replaceStatus(d, from)
	case *gwv1.ListenerSetStatus:
		replaceStatus(d, from)
	case *gwv1.HTTPRouteStatus:
		replaceStatus(d, from)
	case *gwv1.GRPCRouteStatus:
		replaceStatus(d, from)
	case *gwv1.TCPRouteStatus:
		replaceStatus(d, from)
	case *gwv1.UDPRouteStatus:
		replaceStatus(d, from)
	case *gwv1.TLSRouteStatus:
		replaceStatus(d, from)
	case *gwconfig.ConfigurationStatus:
		replaceStatus(d, from)
	case *gwconfig.ListenerRuleConfigurationStatus:
		replaceStatus(d, from)
	}
}

func replaceStatus[T any](dst *T, from any) {
	var none T
	*dst = none
	if s, ok := from.(*T); ok {
		*dst = *s
	}
}

// gatewaySpecOf is specOf for the kinds of the Gateway API.
func gatewaySpecOf(obj Object) any {
	switch o := obj.(type) {
	case *gwv1.GatewayClass:
		return o.Spec
	case *gwv1.Gateway:
		return o.Spec
	case *gwv1.ListenerSet:
		return o.Spec
	case *gwv1.HTTPRoute:
		return o.Spec
	case *gwv1.GRPCRoute:
		return o.Spec
	case *gwv1.TCPRoute:
		return o.Spec
	case *gwv1.UDPRoute:
		return o.Spec
	case *gwv1.TLSRoute:
		return o.Spec
	case *gwconfig.LoadBalancerConfiguration:
		return o.Spec
	case *gwconfig.TargetGroupConfiguration:
		return o.Spec
	case *gwconfig.ListenerRuleConfiguration:
		return o.Spec
	}
	return nil
}
