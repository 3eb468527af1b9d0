package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Report notes which add-ons the controller has switched on.
func (f *Frontend) Report(v *cluster.View, o engine.Outcome) []cluster.Patch {
	gw, ok := cluster.Get[*gwv1.Gateway](v, cluster.KindGateway, o.ID.Namespace, o.ID.Name)
	if !ok {
		return nil
	}
	return addOnNotes(gw, o)
}
