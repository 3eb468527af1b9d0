package naming

import (
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func number(n int32) string { return strconv.FormatInt(int64(n), 10) }

// IngressTargetGroup is what the name of an Ingress target group is made of.
type IngressTargetGroup struct {
	Cluster     string
	Stack       model.StackID
	Ingress     finding.Ref
	Service     finding.Ref
	ServiceUID  string
	ServicePort string // as referenced: a number or a name
	Port        int32  // of the target group
	Type        model.TargetType
	Protocol    string
	Version     string
	ControlPort *int32
}

// Name returns at most 32 characters.
func (g IngressTargetGroup) Name() string {
	hashed := []string{g.Cluster, g.Stack.String(), g.Ingress.Namespace, g.Ingress.Name, g.ServiceUID,
		g.ServicePort, number(g.Port), string(g.Type), g.Protocol, g.Version}
	if g.ControlPort != nil {
		hashed = append(hashed, number(*g.ControlPort))
	}
	return namespacedName(g.Service.Namespace, g.Service.Name, hashed...)
}

// FrontendTargetGroup is what the name of a target group is made of whose target is the ALB
// behind a frontend NLB.
type FrontendTargetGroup struct {
	Cluster        string
	Stack          model.StackID
	Port           int32 // of the NLB
	Target         int32 // of the ALB
	Protocol       string
	HealthPort     string // traffic-port or a number
	HealthProtocol string
}

// Name returns at most 32 characters. A target group of type alb has the port of its ALB, so one for
// another port is another target group and needs a name of its own.
func (g FrontendTargetGroup) Name() string {
	hashed := []string{g.Cluster, g.Stack.String(), number(g.Port), string(model.ALBTargets), g.Protocol, g.HealthPort, g.HealthProtocol}
	if g.Target != 0 && g.Target != g.Port {
		hashed = append(hashed, number(g.Target))
	}
	return stackName(g.Stack, hashed...)
}

// ServiceTargetGroup is what the name of a target group of a Service stack is made of.
type ServiceTargetGroup struct {
	Cluster string
	// BaseUID is the uid of the Service that owns the stack, for a backend that is another one.
	BaseUID        string
	Backend        finding.Ref
	BackendUID     string
	Port           int32 // of the target group
	ServicePort    int32
	Type           model.TargetType
	Protocol       string
	HealthProtocol string
	HealthInterval int32 // seconds
}

// Name returns at most 32 characters.
func (g ServiceTargetGroup) Name() string {
	return namespacedName(g.Backend.Namespace, g.Backend.Name, g.Cluster, g.BaseUID, g.BackendUID, number(g.Port),
		number(g.ServicePort), string(g.Type), g.Protocol, g.HealthProtocol, number(g.HealthInterval))
}

// GatewayTargetGroup is what the name of a target group of a Gateway stack is made of.
type GatewayTargetGroup struct {
	Cluster string
	Gateway finding.Ref
	Route   finding.Ref
	Backend finding.Ref
	// Port is the target group's port for instance targets and otherwise the port, by number or
	// name, that identifies the backend.
	Port        string
	Type        model.TargetType
	Protocol    string
	Version     string // empty for network load balancers
	ControlPort *int32
}

// Name returns at most 32 characters.
func (g GatewayTargetGroup) Name() string {
	hashed := []string{g.Cluster, g.Gateway.Namespace, g.Gateway.Name, g.Route.Namespace, g.Route.Name, g.Route.Kind,
		g.Backend.Namespace, g.Backend.Name, g.Port, string(g.Type), g.Protocol, g.Version}
	if g.ControlPort != nil {
		hashed = append(hashed, number(*g.ControlPort))
	}
	return namespacedName(g.Route.Namespace, g.Route.Name, hashed...)
}
