package ownership

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// adoptingGateway returns the stack of the Gateway that an object permits to take over its load balancer; zero if it names
// none.
func adoptingGateway(obj cluster.Object, kind model.Kind) model.StackID {
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

// Adopters returns the stacks of the Gateways that ask for the load balancer of a stack.
func Adopters(v *cluster.View, id model.StackID) (out []model.StackID) {
	for _, gw := range cluster.List[cluster.Object](v, cluster.Query{Kind: cluster.KindGateway, Index: cluster.GatewayByAdoptedStack, Value: naming.AdoptAnnotationValue(id)}) {
		out = append(out, model.StackID{Kind: id.Kind.AdopterKind(), Namespace: gw.GetNamespace(), Name: gw.GetName()})
	}
	slices.SortFunc(out, model.StackID.Compare)
	return out
}
