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

// GroupRequest asks for the target group of one Service port.
type GroupRequest struct {
	// Kind of the stack, whose spelling of settings messages use.
	Kind    model.Kind
	Service *corev1.Service
	// Port as the backend names it, by number or name.
	Port intstr.IntOrString
	// Settings in which those of the Service are laid over those of the referring object.
	Settings settings.TargetGroup
	// Protocol of a target group behind a network load balancer: TCP, TLS, UDP, TCP_UDP, QUIC or TCP_QUIC. Empty
	// behind an application load balancer, where it is a setting.
	Protocol string
	// PlainChecks leaves it to AWS which codes of a health check mean success, and reads no timeout: feature gate
	// NLBHealthCheckAdvancedConfig is off.
	PlainChecks bool
	// DefaultType where no setting names one.
	DefaultType model.TargetType
	// NoIPTargets refuses ip targets.
	NoIPTargets bool
	// ControlPort of the target control agent.
	ControlPort settings.Opt[int32]
	// LoadBalancer is the address type of the load balancer.
	LoadBalancer model.AddressType
	// AddressType of the targets; unset, it is that of the Service.
	AddressType settings.Opt[model.AddressType]
	// Origin is the backend reference.
	Origin finding.Origin
}

// Group is a target group without id, name, tags and binding, which depend on the dialect, and
// the ports that have to be open for it.
type Group struct {
	model.TargetGroup
	// Data is where traffic goes: a port of nodes, or of pods (possibly by name).
	Data intstr.IntOrString
}

// TargetGroup builds a target group. Findings hold the rules that use it; with any of them the
// group is not usable.
func TargetGroup(r GroupRequest) (Group, finding.List) {
	var found finding.List
	for _, f := range r.Settings.Faults() {
		found.Add(f.Finding(finding.BlocksRule))
	}
	if f := r.ControlPort.Check(); f != nil {
		found.Add(f.Finding(finding.BlocksRule))
	}
	port := ServicePort(r.Service, r.Port)
	if port == nil {
		found.Add(r.fault(finding.BackendPortNotFound,
			network.NoSuchPort(r.Service, r.Port),
			"use a port number or port name of the Service"))
	}
	if len(found) > 0 {
		return Group{}, found
	}
	out := Group{TargetGroup: model.TargetGroup{
		Type:        r.targetType(),
		Protocol:    r.Protocol,
		AddressType: model.IPv4,
		Attributes:  r.Settings.Attributes.Value,
		Origin:      r.Origin,
	}}
	if r.Protocol == "" {
		out.Protocol = r.Settings.Protocol.Or("HTTP")
		out.ProtocolVersion = r.Settings.ProtocolVersion.Or("HTTP1")
	}
	out.setTargetType(r, port, &found)
	if r.Protocol == "" {
		out.check(r, &found)
	} else {
		out.networkCheck(r, &found)
	}
	if r.hasIPv6() {
		out.AddressType = model.IPv6
		if !r.LoadBalancer.HasIPv6() {
			found.Add(r.fault(finding.BackendTypeUnsupported,
				fmt.Sprintf("Service %s/%s has IPv6 endpoints, which a load balancer of address type %s cannot reach", r.Service.Namespace, r.Service.Name, r.LoadBalancer),
				"set "+r.name("ip-address-type")+" to dualstack, or give the Service the family IPv4 only"))
		}
	}
	return out, found
}

// hasIPv6 reports whether the targets have IPv6 addresses.
func (r GroupRequest) hasIPv6() bool {
	switch {
	case r.AddressType.Set:
		return r.AddressType.Value == model.IPv6
	case r.Kind.OfGateway() && !r.LoadBalancer.HasIPv6() && len(r.Service.Spec.IPFamilies) > 1:
		return r.Service.Spec.IPFamilies[0] == corev1.IPv6Protocol // the load balancer reaches one family only
	}
	return hasIPv6(r.Service)
}

// name returns how objects of the stack spell a setting.
func (r GroupRequest) name(setting string) string { return naming.SettingName(r.Kind, setting) }

// ipTargetsFix returns how the target group gets ip targets.
func (r GroupRequest) ipTargetsFix() string {
	way := "set " + r.name("target-type") + " to ip"
	if r.Kind.OfGateway() {
		way += " in a TargetGroupConfiguration of the Service"
	}
	return way
}

func (r GroupRequest) targetType() model.TargetType {
	return r.Settings.Type.Or(r.DefaultType)
}

func (r GroupRequest) fault(reason finding.Reason, message, fix string) finding.Finding {
	now := "; a live rule stays as it is, and a new one is not served"
	if r.Protocol != "" {
		now = "; a live listener stays as it is, and a new one is not made"
	}
	return finding.Finding{Object: r.Origin.Object, Field: r.Origin.Field, Reason: reason, Message: message + now, Fix: fix, Blocks: finding.BlocksRule}
}

// nodePortFix returns how a Service gets node ports.
func nodePortFix(svc *corev1.Service) string {
	if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
		return "set spec.allocateLoadBalancerNodePorts to true"
	}
	return "change its type to NodePort"
}

// setTargetType fills in what depends on the target type.
func (g *Group) setTargetType(r GroupRequest, port *corev1.ServicePort, found *finding.List) {
	if g.Type == model.InstanceTargets {
		g.Port, g.Data = port.NodePort, intstr.FromInt32(port.NodePort)
		if port.NodePort == 0 {
			found.Add(r.fault(finding.BackendTypeUnsupported,
				fmt.Sprintf("Service %s/%s is of type %s and has no node port, which instance targets need", r.Service.Namespace, r.Service.Name, r.Service.Spec.Type),
				nodePortFix(r.Service)+", or "+r.ipTargetsFix()))
		}
		if r.ControlPort.Set {
			found.Add(finding.Finding{Object: r.ControlPort.Origin.Object, Field: r.ControlPort.Origin.Field, Reason: finding.AnnotationInvalid,
				Message: "a target control port needs ip targets", Fix: r.ipTargetsFix() + ", or remove the annotation", Blocks: finding.BlocksRule})
		}
		return
	}
	if r.NoIPTargets {
		found.Add(r.fault(finding.FeatureDisabled, "ip targets are switched off", "use target type instance, or ask the operator for feature gate EnableIPTargetType"))
	}
	g.Data = TargetPort(port)
	g.Port = g.Data.IntVal
	if g.Data.Type == intstr.String {
		// Pods may differ in what the name stands for; each target carries its own port.
		g.Port = 1
	}
	if r.ControlPort.Set {
		g.ControlPort = new(r.ControlPort.Value)
	}
}

// check fills in the health check.
func (g *Group) check(r GroupRequest, found *finding.List) {
	s := r.Settings
	grpc := g.ProtocolVersion == "GRPC"
	path, threshold, codes := "/", int32(2), "200"
	if r.Kind.OfGateway() {
		threshold, codes = 3, "200-399"
	}
	if grpc {
		path = "/AWS.ALB/healthcheck"
	}
	g.HealthCheck = model.HealthCheck{
		Port:               g.checkPort(r, found),
		Protocol:           s.HealthProtocol.Or(g.Protocol),
		Path:               s.HealthPath.Or(path),
		IntervalSeconds:    s.HealthInterval.Or(15),
		TimeoutSeconds:     s.HealthTimeout.Or(5),
		HealthyThreshold:   s.HealthyThreshold.Or(threshold),
		UnhealthyThreshold: s.UnhealthyThreshold.Or(threshold),
	}
	switch {
	case grpc:
		g.HealthCheck.GRPCCodes = s.SuccessCodes.Or("12")
	case g.HealthCheck.Protocol == "TCP" && r.Kind.OfGateway():
		g.HealthCheck.Path = "" // which such checks do not have, nor codes
	default:
		g.HealthCheck.HTTPCodes = s.SuccessCodes.Or(codes)
	}
}

// TrafficPort reports that a health check goes where the traffic goes.
const TrafficPort = "traffic-port"

func (g *Group) checkPort(r GroupRequest, found *finding.List) string {
	chosen := r.Settings.HealthPort
	raw := chosen.Or(g.defaultCheckPort(r))
	if raw == TrafficPort {
		return raw
	}
	if n, err := strconv.ParseInt(raw, 10, 32); err == nil {
		return strconv.FormatInt(n, 10)
	}
	fault := func(message, fix string) {
		found.Add(finding.Finding{Object: chosen.Origin.Object, Field: chosen.Origin.Field, Reason: finding.AnnotationInvalid, Message: message, Fix: fix, Blocks: finding.BlocksRule})
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
