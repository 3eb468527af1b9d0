package gatewayconfig

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The values of spec.controllerName of a GatewayClass that this controller serves.
const (
	ALBController gwv1.GatewayController = "gateway.k8s.aws/alb"
	NLBController gwv1.GatewayController = "gateway.k8s.aws/nlb"
	// FulcrumController chooses the kind of load balancer of each Gateway from the protocol of its first listener.
	FulcrumController gwv1.GatewayController = "gateway.fulcrum.dev/aws"
)

// Controllers are all values of spec.controllerName that this controller serves.
var Controllers = []gwv1.GatewayController{ALBController, NLBController, FulcrumController}

// StackKindFor returns the kind of stack of a Gateway, which depends on the controllerName of its class; false if the class
// belongs to another controller.
func StackKindFor(controller gwv1.GatewayController, gw *gwv1.Gateway) (model.Kind, bool) {
	switch controller {
	case ALBController:
		return model.ALBGateway, true
	case NLBController:
		return model.NLBGateway, true
	case FulcrumController:
		return kindByProtocols(gw), true
	}
	return "", false
}

// IsOwnClass reports whether a GatewayClass exists and belongs to this controller. class is nil if it does not exist.
func IsOwnClass(class *gwv1.GatewayClass) bool {
	return class != nil && slices.Contains(Controllers, class.Spec.ControllerName)
}

// kindByProtocols returns the kind of stack that the protocol of the first listener of a Gateway needs.
func kindByProtocols(gw *gwv1.Gateway) model.Kind {
	if len(gw.Spec.Listeners) > 0 {
		switch gw.Spec.Listeners[0].Protocol {
		case gwv1.TCPProtocolType, gwv1.UDPProtocolType, gwv1.TLSProtocolType:
			return model.NLBGateway
		}
	}
	return model.ALBGateway
}

// ClassOf returns the GatewayClass of a Gateway; nil if it does not exist.
func ClassOf(v *cluster.View, gw *gwv1.Gateway) *gwv1.GatewayClass {
	class, ok := cluster.Get[*gwv1.GatewayClass](v, cluster.KindGatewayClass, "", string(gw.Spec.GatewayClassName))
	if !ok {
		return nil
	}
	return class
}

// StackKind returns the kind of stack of a Gateway, which depends on its class; false if the class does not exist or belongs
// to another controller.
func StackKind(v *cluster.View, gw *gwv1.Gateway) (model.Kind, bool) {
	class := ClassOf(v, gw)
	if class == nil {
		return "", false
	}
	return StackKindFor(class.Spec.ControllerName, gw)
}
