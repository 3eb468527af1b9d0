package gateway

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/cluster/ownership"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// Frontend translates the Gateways of one kind of load balancer. It has no state.
type Frontend struct {
	kind model.Kind
	opt  Options
}

// New returns the frontend for stacks of kind model.ALBGateway or model.NLBGateway.
func New(kind model.Kind, opt Options) *Frontend {
	return &Frontend{kind: kind, opt: opt.withDefaults()}
}

// Stacks returns the stacks of the frontend's kind to which an object belongs. A Gateway belongs to its own stack if its
// class is of the kind, and to the stack whose finalizer it has. A GatewayClass belongs to the stacks of its Gateways.
func (f *Frontend) Stacks(v *cluster.View, obj cluster.Object) []model.StackID {
	var out []model.StackID
	switch o := obj.(type) {
	case *gwv1.Gateway:
		out = f.stacksOf(v, o)
	case *gwv1.GatewayClass:
		for _, gw := range cluster.List[*gwv1.Gateway](v, cluster.Query{Kind: cluster.KindGateway, Index: cluster.GatewayByClass, Value: o.Name}) {
			out = append(out, f.stacksOf(v, gw)...)
		}
	}
	slices.SortFunc(out, model.StackID.Compare)
	return slices.Compact(out)
}

func (f *Frontend) stacksOf(v *cluster.View, gw *gwv1.Gateway) []model.StackID {
	out := slices.DeleteFunc(ownership.ClaimedStacks(v, gw), func(id model.StackID) bool { return id.Kind != f.kind })
	if kind, ours := gatewayconfig.StackKind(v, gw); ours && kind == f.kind && gw.DeletionTimestamp == nil && f.routesInstalled(v) {
		out = append(out, model.StackID{Kind: f.kind, Namespace: gw.Namespace, Name: gw.Name})
	}
	return out
}

// routesInstalled reports whether the API server serves the routes for this kind of load balancer. If not, its Gateways are
// not served, because without routes their listeners would be deleted.
func (f *Frontend) routesInstalled(v *cluster.View) bool {
	if f.kind == model.NLBGateway {
		return v.Installed(cluster.KindTCPRoute)
	}
	return v.Installed(cluster.KindHTTPRoute)
}

// HasObjects reports whether a Gateway belongs to the stack, or has not left the stack yet.
func (f *Frontend) HasObjects(v *cluster.View, id model.StackID) bool {
	l := f.loadGateway(v, id)
	return l.class != nil || len(l.leaving) > 0 || l.excluded
}
