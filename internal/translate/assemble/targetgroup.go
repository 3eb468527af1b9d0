package assemble

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// TargetGroupRequest is the input of NewTargetGroup, for the target group of one Service port.
type TargetGroupRequest struct {
	// Kind is the kind of the stack. Messages use the names that settings have in objects of this kind.
	Kind    model.Kind
	Service *corev1.Service
	// Port is the number or name of the port in the backend.
	Port intstr.IntOrString
	// Settings are the settings of the Service. A setting that the Service lacks comes from the object with the backend.
	Settings settings.TargetGroup
	// Protocol is the protocol of a target group behind a network load balancer: TCP, TLS, UDP, TCP_UDP, QUIC or TCP_QUIC.
	// It is empty behind an application load balancer, where Settings has the protocol.
	Protocol string
	// BasicHealthChecks ignores the success codes and the timeout of health checks, because feature gate
	// NLBHealthCheckAdvancedConfig is off.
	BasicHealthChecks bool
	// DefaultType is the target type if no setting names one.
	DefaultType model.TargetType
	// NoIPTargets reports whether target type ip is disabled. If a setting requires it, NewTargetGroup returns a
	// finding.
	NoIPTargets bool
	// ControlPort is the port of the target control agent.
	ControlPort settings.Opt[int32]
	// LoadBalancerAddressType is the address type of the load balancer.
	LoadBalancerAddressType model.AddressType
	// AddressType is the address type of the targets. If it is not set, the IP families of the Service determine it.
	AddressType settings.Opt[model.AddressType]
	// Origin is the field with the reference to the backend.
	Origin finding.Origin
}

// TargetGroup is a target group without ID, name, tags and TargetGroupBinding. The caller of NewTargetGroup adds these.
type TargetGroup struct {
	model.TargetGroup
	// TrafficPort is the port of the targets: a port of nodes, or of pods (possibly by name).
	TrafficPort intstr.IntOrString
}

// NewTargetGroup builds a target group. If it returns findings, the target group must not be used, and rules that
// forward to it are held.
func NewTargetGroup(r TargetGroupRequest) (TargetGroup, finding.List) {
	var found finding.List
	for _, f := range r.Settings.Faults() {
		found.Add(f.Finding(finding.BlocksRule))
	}
	if f := r.ControlPort.Check(); f != nil {
		found.Add(f.Finding(finding.BlocksRule))
	}
	port := ServicePort(r.Service, r.Port)
	if port == nil {
		found.Add(r.newFault(finding.BackendPortNotFound,
			network.MissingPortMessage(r.Service, r.Port),
			"use a port number or port name of the Service"))
	}
	if len(found) > 0 {
		return TargetGroup{}, found
	}
	out := TargetGroup{TargetGroup: model.TargetGroup{
		Type:        r.targetType(),
		Protocol:    r.Protocol,
		AddressType: model.IPv4,
		Attributes:  r.Settings.Attributes.Value,
		Origin:      r.Origin,
	}}
	if r.Protocol == "" {
		out.Protocol = r.Settings.Protocol.ValueOr("HTTP")
		out.ProtocolVersion = r.Settings.ProtocolVersion.ValueOr("HTTP1")
	}
	out.setPorts(r, port, &found)
	if r.Protocol == "" {
		out.setHealthCheck(r, &found)
	} else {
		out.setNetworkHealthCheck(r, &found)
	}
	if r.hasIPv6() {
		out.AddressType = model.IPv6
		if !r.LoadBalancerAddressType.HasIPv6() {
			message := fmt.Sprintf("Service %s/%s has IPv6 endpoints, which a load balancer of address type %s cannot reach", r.Service.Namespace, r.Service.Name, r.LoadBalancerAddressType)
			fix := "set " + r.settingName("ip-address-type") + " to dualstack, or "
			if r.AddressType.Set {
				message = fmt.Sprintf("ipAddressType of the target group of Service %s/%s is ipv6, and a load balancer of address type %s cannot reach IPv6 targets", r.Service.Namespace, r.Service.Name, r.LoadBalancerAddressType)
				fix += "set ipAddressType of the TargetGroupConfiguration to ipv4"
			} else {
				fix += "set spec.ipFamilies of the Service to IPv4 only"
			}
			found.Add(r.newFault(finding.BackendTypeUnsupported, message, fix))
		}
	}
	return out, found
}

// hasIPv6 reports whether the targets have IPv6 addresses.
func (r TargetGroupRequest) hasIPv6() bool {
	switch {
	case r.AddressType.Set:
		return r.AddressType.Value == model.IPv6
	case r.Kind.IsGateway() && !r.LoadBalancerAddressType.HasIPv6() && len(r.Service.Spec.IPFamilies) > 1:
		return r.Service.Spec.IPFamilies[0] == corev1.IPv6Protocol // the load balancer can reach only one address family
	}
	return hasIPv6(r.Service)
}

// settingName returns the name that a setting has in members of this kind of stack.
func (r TargetGroupRequest) settingName(setting string) string {
	return naming.SettingName(r.Kind, setting)
}

// fixForIPTargets returns the fix of findings that tells users how to set target type ip.
func (r TargetGroupRequest) fixForIPTargets() string {
	way := "set " + r.settingName("target-type") + " to ip"
	if r.Kind.IsGateway() {
		way += " in a TargetGroupConfiguration of the Service"
	}
	return way
}

func (r TargetGroupRequest) targetType() model.TargetType {
	return r.Settings.Type.ValueOr(r.DefaultType)
}

// newFault returns a finding about the reference to the backend. The message says what happens to the rule or listener.
func (r TargetGroupRequest) newFault(reason finding.Reason, message, fix string) finding.Finding {
	return finding.Finding{Object: r.Origin.Object, Field: r.Origin.Field, Reason: reason, Message: message + r.heldText(), Fix: fix, Blocks: finding.BlocksRule}
}

// RuleHeldText is the end of messages about a fault that holds a rule.
const RuleHeldText = "; an existing rule stays unchanged, and a new rule is not served"

// heldText returns the end of messages about a fault of the target group. It says what happens to the rule or listener.
func (r TargetGroupRequest) heldText() string {
	if r.Protocol != "" {
		return "; an existing listener stays unchanged, and a new listener is not created"
	}
	return RuleHeldText
}

// fixForNodePorts returns the fix of findings that tells users how to give a Service node ports.
func fixForNodePorts(svc *corev1.Service) string {
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		return "set spec.allocateLoadBalancerNodePorts to true"
	}
	return "change the type of the Service to NodePort"
}

// setPorts sets the ports of the target group, which depend on its target type. It reports ports and target types
// that cannot be used.
func (g *TargetGroup) setPorts(r TargetGroupRequest, port *corev1.ServicePort, found *finding.List) {
	if g.Type == model.InstanceTargets {
		g.Port, g.TrafficPort = port.NodePort, intstr.FromInt32(port.NodePort)
		if port.NodePort == 0 {
			found.Add(r.newFault(finding.BackendTypeUnsupported,
				fmt.Sprintf("Service %s/%s is of type %s and has no node port, which instance targets need", r.Service.Namespace, r.Service.Name, r.Service.Spec.Type),
				fixForNodePorts(r.Service)+", or "+r.fixForIPTargets()))
		}
		if r.ControlPort.Set {
			found.Add(finding.Finding{Object: r.ControlPort.Origin.Object, Field: r.ControlPort.Origin.Field, Reason: finding.AnnotationInvalid,
				Message: "a target control port needs target type ip" + r.heldText(), Fix: r.fixForIPTargets() + ", or remove the setting", Blocks: finding.BlocksRule})
		}
		return
	}
	if r.NoIPTargets {
		found.Add(r.newFault(finding.FeatureDisabled, "target type ip is disabled", "use target type instance, or ask the operator to enable feature gate EnableIPTargetType"))
	}
	g.TrafficPort = TargetPort(port)
	g.Port = g.TrafficPort.IntVal
	if g.TrafficPort.Type == intstr.String {
		// The named port can have another number in each pod, so each target is registered with its own port, and the port
		// of the target group has no effect.
		g.Port = 1
	}
	if r.ControlPort.Set {
		g.ControlPort = new(r.ControlPort.Value)
	}
}

// setHealthCheck sets the health check of a target group behind an application load balancer.
func (g *TargetGroup) setHealthCheck(r TargetGroupRequest, found *finding.List) {
	s := r.Settings
	grpc := g.ProtocolVersion == "GRPC"
	path, threshold, codes := "/", int32(2), "200"
	if r.Kind.IsGateway() {
		threshold, codes = 3, "200-399"
	}
	if grpc {
		path = "/AWS.ALB/healthcheck"
	}
	g.HealthCheck = model.HealthCheck{
		Port:               g.healthCheckPort(r, found),
		Protocol:           s.HealthProtocol.ValueOr(g.Protocol),
		Path:               s.HealthPath.ValueOr(path),
		IntervalSeconds:    s.HealthInterval.ValueOr(15),
		TimeoutSeconds:     s.HealthTimeout.ValueOr(5),
		HealthyThreshold:   s.HealthyThreshold.ValueOr(threshold),
		UnhealthyThreshold: s.UnhealthyThreshold.ValueOr(threshold),
	}
	switch {
	case grpc:
		g.HealthCheck.GRPCCodes = s.SuccessCodes.ValueOr("12")
	case g.HealthCheck.Protocol == "TCP" && r.Kind.IsGateway():
		g.HealthCheck.Path = "" // TCP health checks have neither a path nor success codes
	default:
		g.HealthCheck.HTTPCodes = s.SuccessCodes.ValueOr(codes)
	}
}

// HealthCheckOnTrafficPort is the port of a health check that uses the traffic port.
const HealthCheckOnTrafficPort = "traffic-port"

func (g *TargetGroup) healthCheckPort(r TargetGroupRequest, found *finding.List) string {
	chosen := r.Settings.HealthPort
	raw := chosen.ValueOr(g.defaultHealthCheckPort(r))
	if raw == HealthCheckOnTrafficPort {
		return raw
	}
	if n, err := strconv.ParseInt(raw, 10, 32); err == nil {
		return strconv.FormatInt(n, 10)
	}
	fault := func(message, fix string) {
		found.Add(finding.Finding{Object: chosen.Origin.Object, Field: chosen.Origin.Field, Reason: finding.AnnotationInvalid, Message: message + r.heldText(), Fix: fix, Blocks: finding.BlocksRule})
	}
	port := ServicePort(r.Service, intstr.FromString(raw))
	switch {
	case port == nil:
		fault(fmt.Sprintf("Service %s/%s has no port named %q", r.Service.Namespace, r.Service.Name, raw), "use traffic-port, a number or a port name of the Service")
	case g.Type == model.InstanceTargets:
		return strconv.Itoa(int(port.NodePort))
	case TargetPort(port).Type == intstr.String:
		fault(fmt.Sprintf("port %q of Service %s/%s has a named target port, which a health check cannot use", raw, r.Service.Namespace, r.Service.Name), "use traffic-port or a number")
	default:
		return strconv.Itoa(int(TargetPort(port).IntVal))
	}
	return ""
}
