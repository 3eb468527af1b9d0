package naming

import (
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func formatNumber(n int32) string { return strconv.FormatInt(int64(n), 10) }

// IngressTargetGroup has the values that determine the name of a target group of an Ingress stack.
type IngressTargetGroup struct {
	Cluster     string
	Stack       model.StackID
	Ingress     finding.Ref
	Service     finding.Ref
	ServiceUID  string
	ServicePort string // number or name of the port in the backend
	Port        int32  // port of the target group
	Type        model.TargetType
	Protocol    string
	Version     string
	ControlPort *int32
}

// Name returns the name of the target group, at most 32 characters.
func (g IngressTargetGroup) Name() string {
	hashed := []string{g.Cluster, g.Stack.String(), g.Ingress.Namespace, g.Ingress.Name, g.ServiceUID,
		g.ServicePort, formatNumber(g.Port), string(g.Type), g.Protocol, g.Version}
	if g.ControlPort != nil {
		hashed = append(hashed, formatNumber(*g.ControlPort))
	}
	return namespacedName(g.Service.Namespace, g.Service.Name, hashed...)
}

// FrontendTargetGroup has the values that determine the name of a target group of a frontend NLB.
type FrontendTargetGroup struct {
	Cluster        string
	Stack          model.StackID
	Port           int32 // port of the NLB
	ALBPort        int32 // port of the ALB
	Protocol       string
	HealthPort     string // traffic-port or a number
	HealthProtocol string
}

// Name returns the name of the target group, at most 32 characters. It depends on the port of the ALB, because AWS cannot
// change the port of a target group.
func (g FrontendTargetGroup) Name() string {
	hashed := []string{g.Cluster, g.Stack.String(), formatNumber(g.Port), string(model.ALBTargets), g.Protocol, g.HealthPort, g.HealthProtocol}
	if g.ALBPort != 0 && g.ALBPort != g.Port {
		hashed = append(hashed, formatNumber(g.ALBPort))
	}
	return stackName(g.Stack, hashed...)
}

// ServiceTargetGroup has the values that determine the name of a target group of a Service stack.
type ServiceTargetGroup struct {
	Cluster string
	// BaseUID is the UID of the Service that has the load balancer, if Backend is another Service; otherwise it is empty.
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

// Name returns the name of the target group, at most 32 characters.
func (g ServiceTargetGroup) Name() string {
	return namespacedName(g.Backend.Namespace, g.Backend.Name, g.Cluster, g.BaseUID, g.BackendUID, formatNumber(g.Port),
		formatNumber(g.ServicePort), string(g.Type), g.Protocol, g.HealthProtocol, formatNumber(g.HealthInterval))
}

// GatewayTargetGroup has the values that determine the name of a target group of a Gateway stack.
type GatewayTargetGroup struct {
	Cluster string
	Gateway finding.Ref
	Route   finding.Ref
	Backend finding.Ref
	// Port is the port of the target group for instance targets, otherwise the number or name of the port in the backend.
	Port        string
	Type        model.TargetType
	Protocol    string
	Version     string // empty for network load balancers
	ControlPort *int32
}

// Name returns the name of the target group, at most 32 characters.
func (g GatewayTargetGroup) Name() string {
	hashed := []string{g.Cluster, g.Gateway.Namespace, g.Gateway.Name, g.Route.Namespace, g.Route.Name, g.Route.Kind,
		g.Backend.Namespace, g.Backend.Name, g.Port, string(g.Type), g.Protocol, g.Version}
	if g.ControlPort != nil {
		hashed = append(hashed, formatNumber(*g.ControlPort))
	}
	return namespacedName(g.Route.Namespace, g.Route.Name, hashed...)
}

// IsNameOf reports whether name is one of the alternatives of the name of the target group. It computes the hash in the name
// only if name has the expected prefix.
func (g GatewayTargetGroup) IsNameOf(name string) bool {
	return strings.HasPrefix(name, namespacedPrefix(g.Route.Namespace, g.Route.Name)) && IsAlternativeName(name, g.Name())
}
