package ownership

import (
	"testing"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestAdoptersAreFoundByAnnotation checks that a Gateway is found by the stack that its adopt annotation names, in each form
// of the annotation for Ingresses and IngressGroups.
func TestAdoptersAreFoundByAnnotation(t *testing.T) {
	gateway := model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}
	for value, of := range map[string]model.StackID{
		"ingress-group/edge": {Kind: model.Ingress, Name: "edge"},
		"ingress/web":        {Kind: model.Ingress, Namespace: "shop", Name: "web"},
		"ingress/shop/web":   {Kind: model.Ingress, Namespace: "shop", Name: "web"},
		"ingress/blog/web":   {Kind: model.Ingress, Namespace: "blog", Name: "web"},
	} {
		store, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		gw := &gwv1.Gateway{}
		gw.Namespace, gw.Name, gw.Annotations = gateway.Namespace, gateway.Name, map[string]string{naming.AdoptAnnotation: value}
		if err := store.Put(gw); err != nil {
			t.Fatal(err)
		}
		if got := Adopters(cluster.NewView(store), of); len(got) != 1 || got[0] != gateway {
			t.Errorf("%s: %v ask for %v", value, got, of)
		}
		if got := Adopters(cluster.NewView(store), model.StackID{Kind: model.Ingress, Name: "other"}); len(got) != 0 {
			t.Errorf("%s: %v ask for another group", value, got)
		}
	}
}
