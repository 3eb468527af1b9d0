package settings

import (
	"errors"
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ServicePrefix is the prefix of the annotations that are read from Services that have a load balancer.
const ServicePrefix = "service.beta.kubernetes.io/"

// LoadBalancerService has the settings in the annotations of a Service that has a network load balancer. Settings in the
// spec of the Service are not included.
type LoadBalancerService struct {
	Shared
	ServicePorts
	Tags   Opt[map[string]string]
	Target NetworkTargets

	// deprecatedScheme and deprecatedAttributes are the values of deprecated annotations. The scheme is used only if Scheme
	// is not present; the attributes have precedence over Attributes.
	deprecatedScheme     Opt[model.Scheme]
	deprecatedAttributes deprecatedAttributes
	// faults are the faults that hold all resources of the Service.
	faults []Fault
}

// ServicePorts has the settings of the ports of a Service.
type ServicePorts struct {
	// TLSPorts and QUICPorts are names or numbers of ports of the Service.
	TLSPorts, QUICPorts Opt[[]string]
	// BackendProtocol enables TLS between the load balancer and the targets if it is BackendTLS. Other values have no
	// effect.
	BackendProtocol Opt[string]
	// ALPN is the ALPN policy of TLS listeners.
	ALPN Opt[string]
	// MergeTCPUDP creates one listener for a TCP and a UDP port with the same number.
	MergeTCPUDP Opt[bool]
	// Actions has protocol and port of the listener as key, such as "TLS-443".
	Actions map[string]Opt[NetworkForward]
}

// BackendTLS is the only value of BackendProtocol that has an effect.
const BackendTLS = "ssl"

// BackendProtocols are the values of BackendProtocol that are not reported as mistakes: BackendTLS, and values for Classic
// Load Balancers, which do not enable TLS between the load balancer and the targets.
var BackendProtocols = []string{BackendTLS, "tcp", "http", "https"}

// NetworkTargets has the settings of the target groups of a Service.
type NetworkTargets struct {
	TargetGroup
	// PortAttributes has the number of the Service port as key. Attributes with an empty value are left out.
	PortAttributes map[string]Opt[map[string]string]
	// ProxyProtocol enables proxy protocol for all ports. ProxyProtocolPorts enables it for the listed Service ports and
	// disables it for all other ports.
	ProxyProtocol      Opt[bool]
	ProxyProtocolPorts Opt[[]int32]
}

// UsesNLBIPType reports whether the targets are pods only because the value of annotation aws-load-balancer-type is nlb-ip.
// aws-load-balancer-controller permits such targets even if feature gate EnableIPTargetType is off.
func (t NetworkTargets) UsesNLBIPType() bool { return t.Type.Origin.Field == typeAnnotation }

// Faults returns the faults of the settings that apply to all target groups of the Service.
func (t NetworkTargets) Faults() []Fault {
	return append(t.TargetGroup.Faults(), faultsOf(t)...)
}

// ParseLoadBalancerService parses the annotations of a Service that has a load balancer. For a Service behind an Ingress,
// see ParseService.
func ParseLoadBalancerService(annotations map[string]string, object finding.Ref) LoadBalancerService {
	var in LoadBalancerService
	in.faults = readAnnotations(&in, serviceTable, annotations, object)
	if annotations[typeAnnotation] == typeNLBIP && in.Target.Type.Value != model.IPTargets {
		in.Target.Type = NewOpt(model.IPTargets, finding.Origin{Object: object, Field: typeAnnotation})
	}
	if !in.Scheme.IsPresent() {
		in.addFault(in.deprecatedScheme.Check())
		in.Scheme = in.deprecatedScheme
	}
	in.addDeprecatedAttributes()
	return in
}

// MemberFaults returns the faults that hold all resources of the Service: faults that concern its ports or the whole load
// balancer.
func (in LoadBalancerService) MemberFaults() []Fault { return in.faults }

func (in *LoadBalancerService) addFault(f *Fault) {
	if f != nil {
		in.faults = append(in.faults, *f)
	}
}

// parseInternalScheme parses the deprecated annotation aws-load-balancer-internal, which is a boolean, into a scheme.
func parseInternalScheme(raw string) (model.Scheme, error) {
	internal, err := ParseBool(raw)
	switch {
	case err != nil:
		return "", errors.New(`not a boolean, write "true" for internal or "false" for internet-facing`)
	case internal:
		return model.Internal, nil
	}
	return model.InternetFacing, nil
}

// deprecatedAttributes has the values of deprecated annotations, each of which sets one attribute of the load balancer. They
// have precedence over annotation aws-load-balancer-attributes.
type deprecatedAttributes struct {
	accessLogs     Opt[bool]
	bucket, prefix Opt[string]
	crossZone      Opt[bool]
}

func (in *LoadBalancerService) addDeprecatedAttributes() {
	old := in.deprecatedAttributes
	add := map[string]string{}
	var from finding.Origin
	if old.accessLogs.ValueOr(false) {
		add["access_logs.s3.enabled"], from = "true", old.accessLogs.Origin
		for key, o := range map[string]Opt[string]{"access_logs.s3.bucket": old.bucket, "access_logs.s3.prefix": old.prefix} {
			if o.Set {
				add[key] = o.Value
			}
		}
	}
	if old.crossZone.Set {
		add["load_balancing.cross_zone.enabled"], from = "false", old.crossZone.Origin
		if old.crossZone.Value {
			add["load_balancing.cross_zone.enabled"] = "true"
		}
	}
	at := &in.LoadBalancer.Attributes
	if len(add) == 0 || at.Fault != nil {
		return
	}
	if at.Set {
		from = at.Origin
	}
	all := maps.Clone(at.Value)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, add)
	*at = NewOpt(all, from)
}

// parseHealthCheckProtocol parses the protocol of health checks, in upper or lower case.
func parseHealthCheckProtocol(raw string) (string, error) {
	return EnumParser("TCP", "HTTP", "HTTPS")(strings.ToUpper(raw))
}
