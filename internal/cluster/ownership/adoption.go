package ownership

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// adoptingGatewayStack returns the stack of the Gateway that may take over the load balancer of an object, as named by
// naming.AdoptedByAnnotation of the object. kind is the kind of the stack of the object. The result is zero if the
// annotation is empty, or if no Gateway can take over load balancers of this kind.
func adoptingGatewayStack(obj cluster.Object, kind model.Kind) model.StackID {
	value := obj.GetAnnotations()[naming.AdoptedByAnnotation]
	id := model.StackID{Kind: kind.AdopterKind(), Namespace: obj.GetNamespace(), Name: value}
	if id.Kind == "" || value == "" {
		return model.StackID{}
	}
	if namespace, name, ok := strings.Cut(value, "/"); ok {
		id.Namespace, id.Name = namespace, name
	}
	return id
}

// Adopters returns the stacks of the Gateways whose naming.AdoptAnnotation names the stack id, sorted.
func Adopters(v *cluster.View, id model.StackID) (out []model.StackID) {
	for _, gw := range cluster.List[cluster.Object](v, cluster.Query{Kind: cluster.KindGateway, Index: cluster.GatewayByAdoptedStack, Value: naming.AdoptAnnotationValue(id)}) {
		out = append(out, model.StackID{Kind: id.Kind.AdopterKind(), Namespace: gw.GetNamespace(), Name: gw.GetName()})
	}
	slices.SortFunc(out, model.StackID.Compare)
	return out
}
