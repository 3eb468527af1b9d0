package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// served reports whether a class of ours serves a Gateway, with whatever kind of load balancer.
func (f *Frontend) served(v *cluster.View, gw *gwv1.Gateway) bool {
	if gw == nil || gw.DeletionTimestamp != nil {
		return false
	}
	_, ours := gatewayconfig.StackKind(v, gw)
	return ours
}

// previousControllers are the names under which the stack of a Gateway wrote statuses that nothing renews any more.
func (f *Frontend) previousControllers(v *cluster.View, id model.StackID, gw *gwv1.Gateway) []gwv1.GatewayController {
	own := gatewayconfig.ALBController
	if id.Kind == model.NLBGateway {
		own = gatewayconfig.NLBController
	}
	names := []gwv1.GatewayController{own, gatewayconfig.AnyController}
	if !f.served(v, gw) {
		return names
	}
	now := gatewayconfig.ClassOf(v, gw).Spec.ControllerName
	return slices.DeleteFunc(names, func(n gwv1.GatewayController) bool { return n == now })
}

// setsOf are the ListenerSets that name the Gateway of a stack.
func setsOf(v *cluster.View, id model.StackID) []*gwv1.ListenerSet {
	return cluster.List[*gwv1.ListenerSet](v, cluster.Query{
		Kind: cluster.KindListenerSet, Index: cluster.SetByGateway, Value: id.Namespace + "/" + id.Name,
	})
}
