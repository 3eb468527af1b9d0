package settings

import (
	"errors"
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ServicePrefix is the prefix of the annotations that are read from Services with a load balancer of their own.
const ServicePrefix = "service.beta.kubernetes.io/"

// LoadBalancerService holds the settings of a Service that asks for a network load balancer. What the Service
// says in its spec is not part of it.
type LoadBalancerService struct {
	Object finding.Ref

	// Group names the load balancer that several Services share, as written.
	Group Opt[string]

	Shared
	ServicePorts
	Tags   Opt[map[string]string]
	Target NetworkTargets

	// oldScheme and oldAttributes are deprecated annotations that others replace.
	oldScheme     Opt[model.Scheme]
	oldAttributes oldAttributes
	// faults hold everything of the Service.
	faults []Fault
}

// ServicePorts are settings of the ports of a Service.
type ServicePorts struct {
	// TLSPorts and QUICPorts are names or numbers of ports.
	TLSPorts, QUICPorts Opt[[]string]
	// BackendProtocol means TLS towards the targets where it is BackendTLS, and nothing otherwise.
	BackendProtocol Opt[string]
	// ALPN matters to TLS listeners only.
	ALPN Opt[string]
	// MergeTCPUDP makes one listener of a TCP and a UDP port of one number.
	MergeTCPUDP Opt[bool]
	// Actions by "TLS-443": the protocol of the listener and its port.
	Actions map[string]Opt[NetworkForward]
}

// BackendTLS is the value of BackendProtocol that has a meaning.
const BackendTLS = "ssl"

// BackendProtocols are the values of BackendProtocol that are written on purpose: the others are those of classic load
// balancers, where targets of a network load balancer are reached without TLS.
var BackendProtocols = []string{BackendTLS, "tcp", "http", "https"}

// NetworkTargets are settings of the target groups of a Service.
type NetworkTargets struct {
	TargetGroup
	// PortAttributes are by the number of the Service port; empty values do not count.
	PortAttributes map[string]Opt[map[string]string]
	// ProxyProtocol switches proxy protocol on everywhere. ProxyProtocolPorts switches it on for these Service
	// ports and off for all others.
	ProxyProtocol      Opt[bool]
	ProxyProtocolPorts Opt[[]int32]
}

// Faults returns the settings of all target groups that could not be read.
func (t NetworkTargets) Faults() []Fault {
	return append(t.TargetGroup.Faults(), faultsOf(t)...)
}

// ParseLoadBalancerService reads the annotations of a Service that has a load balancer of its own. Those of a
// Service behind an Ingress are read by ParseService.
func ParseLoadBalancerService(annotations map[string]string, object finding.Ref) LoadBalancerService {
	in := LoadBalancerService{Object: object}
	in.faults = read(&in, serviceTable, annotations, object)
	if annotations[ServicePrefix+"aws-load-balancer-type"] == typeNLBIP {
		in.Target.Type = Of(model.IPTargets, finding.Origin{Object: object, Field: ServicePrefix + "aws-load-balancer-type"})
	}
	if !in.Scheme.Present() {
		in.addFault(in.oldScheme.Check())
		in.Scheme = in.oldScheme
	}
	in.addOldAttributes()
	return in
}

// MemberFaults returns the faults that hold everything of the Service, because they are about its ports or about
// the load balancer as a whole.
func (in LoadBalancerService) MemberFaults() []Fault { return in.faults }

func (in *LoadBalancerService) addFault(f *Fault) {
	if f != nil {
		in.faults = append(in.faults, *f)
	}
}

// schemeOfInternal reads the deprecated switch between the schemes.
func schemeOfInternal(raw string) (model.Scheme, error) {
	internal, err := Bool(raw)
	switch {
	case err != nil:
		return "", errors.New(`not a boolean, write "true" for internal or "false" for internet-facing`)
	case internal:
		return model.Internal, nil
	}
	return model.InternetFacing, nil
}

// oldAttributes are deprecated annotations that stand for attributes of the load balancer, and win over these.
type oldAttributes struct {
	logs           Opt[bool]
	bucket, prefix Opt[string]
	crossZone      Opt[bool]
}

func (in *LoadBalancerService) addOldAttributes() {
	old := in.oldAttributes
	add := map[string]string{}
	var from finding.Origin
	if old.logs.Or(false) {
		add["access_logs.s3.enabled"], from = "true", old.logs.Origin
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
	*at = Of(all, from)
}

// healthProtocol accepts the protocols of health checks in upper and lower case.
func healthProtocol(raw string) (string, error) {
	return Enum("TCP", "HTTP", "HTTPS")(strings.ToUpper(raw))
}
