package migrate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate/check"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Compile adds the objects of a result to the store, and translates the Gateways of the result as the controller does. It
// returns the desired state and the findings by Gateway.
func Compile(store *cluster.Memory, r Result, opt Options) (map[finding.Ref]model.Stack, map[finding.Ref]finding.List, error) {
	for _, o := range r.Objects() {
		if err := store.Put(o.Object); err != nil {
			return nil, nil, err
		}
	}
	stacks, found := map[finding.Ref]model.Stack{}, map[finding.Ref]finding.List{}
	for _, g := range r.IngressGroups {
		if !g.Gateway.IsZero() {
			id := model.StackID{Kind: model.ALBGateway, Namespace: g.Gateway.Namespace, Name: g.Gateway.Name}
			stacks[g.Gateway], found[g.Gateway] = opt.ALBGateway.Translate(cluster.NewView(store), id, nil)
		}
		if !g.FrontendGateway.IsZero() {
			if err := markProgrammed(store, g.Gateway); err != nil {
				return nil, nil, err
			}
			id := model.StackID{Kind: model.NLBGateway, Namespace: g.FrontendGateway.Namespace, Name: g.FrontendGateway.Name}
			stacks[g.FrontendGateway], found[g.FrontendGateway] = opt.NLBGateway.Translate(cluster.NewView(store), id, nil)
		}
	}
	return stacks, found, nil
}

// markProgrammed sets the status of a Gateway as if its ALB were active, because a network load balancer in front of an ALB
// is translated only if the ALB is active.
func markProgrammed(store *cluster.Memory, gateway finding.Ref) error {
	obj, _ := store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: gateway.Namespace, Name: gateway.Name})
	gw := obj.(*gwv1.Gateway).DeepCopy()
	gw.Status.Conditions = []metav1.Condition{{Type: string(gwv1.GatewayConditionProgrammed), Status: metav1.ConditionTrue, Message: placeholderARN(gateway)}}
	return store.Put(gw)
}

// placeholderARN returns a placeholder for the ARN of the ALB of a Gateway, which does not exist yet.
func placeholderARN(gateway finding.Ref) string {
	return fmt.Sprintf("arn:aws:elasticloadbalancing:::loadbalancer/app/%s.%s/0", gateway.Namespace, gateway.Name)
}

// Compare compares the desired state of the Ingresses with that of the Gateways. stacks is the result of Compile. port
// returns the number of the Service port of a binding.
func (g IngressGroup) Compare(stacks map[finding.Ref]model.Stack, port func(*model.Binding) string) check.Result {
	to := check.Side{Stack: stacks[g.Gateway], Port: port, ALBARN: placeholderARN(g.Gateway)}
	if !g.FrontendGateway.IsZero() {
		frontend := stacks[g.FrontendGateway]
		to.FrontendStack = &frontend
	}
	return check.Compare(check.Side{Stack: g.IngressStack, Port: port}, to, naming.MigratedFromTag)
}
