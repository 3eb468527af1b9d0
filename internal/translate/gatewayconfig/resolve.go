package gatewayconfig

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// ConfigurationLevel has the configurations to which the parametersRef of a GatewayClass or a Gateway refers.
type ConfigurationLevel struct {
	// LoadBalancer is the LoadBalancerConfiguration; nil if there is no reference.
	LoadBalancer *gwconfig.LoadBalancerConfiguration
	// TargetGroup has the default configuration of target groups; nil if LoadBalancer refers to none.
	TargetGroup *gwconfig.TargetGroupConfiguration
}

func (l ConfigurationLevel) spec() *gwconfig.LoadBalancerConfigurationSpec {
	if l.LoadBalancer == nil {
		return nil
	}
	return &l.LoadBalancer.Spec
}

// Problem describes a reference to a configuration that cannot be used.
type Problem struct {
	// Field is the field with the reference.
	Field string
	// Message and Fix are the message and the fix of the finding about the problem.
	Message, Fix string
}

// ClassConfiguration returns the configurations to which a GatewayClass refers. The problem is nil if they can be used.
func ClassConfiguration(v *cluster.View, class *gwv1.GatewayClass) (ConfigurationLevel, *Problem) {
	const field = "spec.parametersRef"
	ref := class.Spec.ParametersRef
	switch {
	case ref == nil:
		return ConfigurationLevel{}, nil
	case !isConfiguration(ref.Group, ref.Kind):
		return ConfigurationLevel{}, unsupportedKindProblem(field, ref.Group, ref.Kind)
	case ref.Namespace == nil || *ref.Namespace == "":
		return ConfigurationLevel{}, &Problem{Field: field,
			Message: fmt.Sprintf("parametersRef %q has no namespace", finding.TruncateValue(ref.Name)), Fix: "set spec.parametersRef.namespace"}
	}
	return readConfiguration(v, field, string(*ref.Namespace), ref.Name)
}

// gatewayConfigurationLevel returns the configurations to which a Gateway itself refers. The problem is nil if they can be
// used.
func gatewayConfigurationLevel(v *cluster.View, gw *gwv1.Gateway) (ConfigurationLevel, *Problem) {
	const field = "spec.infrastructure.parametersRef"
	if gw.Spec.Infrastructure == nil || gw.Spec.Infrastructure.ParametersRef == nil {
		return ConfigurationLevel{}, nil
	}
	ref := gw.Spec.Infrastructure.ParametersRef
	if !isConfiguration(ref.Group, ref.Kind) {
		return ConfigurationLevel{}, unsupportedKindProblem(field, ref.Group, ref.Kind)
	}
	return readConfiguration(v, field, gw.Namespace, ref.Name)
}

func isConfiguration(group gwv1.Group, kind gwv1.Kind) bool {
	return string(group) == gwconfig.GroupVersion.Group && string(kind) == cluster.KindLoadBalancerConfiguration
}

func unsupportedKindProblem(field string, group gwv1.Group, kind gwv1.Kind) *Problem {
	return &Problem{Field: field,
		Message: fmt.Sprintf("kind %q of group %q is not a configuration of load balancers", finding.TruncateValue(string(kind)), finding.TruncateValue(string(group))),
		Fix:     "name a LoadBalancerConfiguration of group " + gwconfig.GroupVersion.Group}
}

// readConfiguration reads a LoadBalancerConfiguration and the TargetGroupConfiguration to which it refers.
func readConfiguration(v *cluster.View, field, namespace, name string) (ConfigurationLevel, *Problem) {
	lb, ok := cluster.Get[*gwconfig.LoadBalancerConfiguration](v, cluster.KindLoadBalancerConfiguration, namespace, name)
	if !ok {
		return ConfigurationLevel{}, &Problem{Field: field,
			Message: fmt.Sprintf("LoadBalancerConfiguration %q does not exist", namespace+"/"+finding.TruncateValue(name)), Fix: "create it, or correct the reference"}
	}
	out := ConfigurationLevel{LoadBalancer: lb}
	if lb.Spec.DefaultTargetGroupConfiguration == nil {
		return out, nil
	}
	name = lb.Spec.DefaultTargetGroupConfiguration.Name
	where := fmt.Sprintf("spec.defaultTargetGroupConfiguration of LoadBalancerConfiguration %s/%s", lb.Namespace, lb.Name)
	targets, ok := cluster.Get[*gwconfig.TargetGroupConfiguration](v, cluster.KindTargetGroupConfiguration, lb.Namespace, name)
	switch {
	case !ok:
		return out, &Problem{Field: where,
			Message: fmt.Sprintf("TargetGroupConfiguration %q does not exist", lb.Namespace+"/"+finding.TruncateValue(name)), Fix: "create it, or correct the name"}
	case targets.Spec.TargetReference != nil:
		return out, &Problem{Field: where,
			Message: fmt.Sprintf("TargetGroupConfiguration %q has a targetReference, so it cannot be a default", lb.Namespace+"/"+finding.TruncateValue(name)),
			Fix:     "remove spec.targetReference, or name another TargetGroupConfiguration"}
	}
	out.TargetGroup = targets
	return out, nil
}

// Configuration is the configuration of a Gateway: that of its class, that of the Gateway itself, and both merged.
type Configuration struct {
	Class, Gateway ConfigurationLevel
	// LoadBalancer is the configuration of the load balancer, merged from Class and Gateway.
	LoadBalancer gwconfig.LoadBalancerConfigurationSpec
	// Targets has the default configuration of target groups, merged from those of Class and Gateway.
	Targets gwconfig.TargetGroupConfigurationSpec
}

// Resolve returns the merged configuration of a Gateway and its class, and findings about references that cannot be used. If
// there are findings, the configuration must not be used.
func Resolve(v *cluster.View, gw *gwv1.Gateway, class *gwv1.GatewayClass) (Configuration, finding.List) {
	var out Configuration
	var found finding.List
	report := func(reason finding.Reason, p *Problem, prefix string) {
		if p != nil {
			found.Add(finding.Finding{
				Object: finding.Ref{Kind: cluster.KindGateway, Namespace: gw.Namespace, Name: gw.Name}, Field: prefix + p.Field,
				Reason: reason, Message: p.Message + "; what exists in AWS stays unchanged", Fix: p.Fix, Blocks: finding.BlocksMember,
			})
		}
	}
	var p *Problem
	out.Class, p = ClassConfiguration(v, class)
	report(finding.GatewayClassInvalid, p, "GatewayClass "+class.Name+" ")
	out.Gateway, p = gatewayConfigurationLevel(v, gw)
	report(finding.ParametersInvalid, p, "")
	out.LoadBalancer = Merge(out.Class.spec(), out.Gateway.spec())
	out.Targets = out.mergeTargetGroupDefaults()
	return out, found
}

// mergeTargetGroupDefaults merges the default configurations of target groups. Entries in routeConfigurations are taken only
// from the configuration that has precedence.
func (c Configuration) mergeTargetGroupDefaults() gwconfig.TargetGroupConfigurationSpec {
	high, low := c.Class.TargetGroup, c.Gateway.TargetGroup
	if prefersGateway(c.Class.spec()) {
		high, low = low, high
	}
	switch {
	case high == nil && low == nil:
		return gwconfig.TargetGroupConfigurationSpec{}
	case high == nil:
		return low.Spec
	case low == nil:
		return high.Spec
	}
	return gwconfig.TargetGroupConfigurationSpec{
		DefaultConfiguration: mergeProps(high.Spec.DefaultConfiguration, low.Spec.DefaultConfiguration),
		RouteConfigurations:  high.Spec.RouteConfigurations,
	}
}

// origin returns the origin of a field: the configuration with the highest precedence for which isSet returns true,
// otherwise the parametersRef of the Gateway. The origin is reported as a field of the Gateway, because configurations get
// no events.
func (c Configuration) origin(gw finding.Ref, field string, isSet func(*gwconfig.LoadBalancerConfigurationSpec) bool) finding.Origin {
	levels := []ConfigurationLevel{c.Class, c.Gateway}
	if prefersGateway(c.Class.spec()) {
		levels = []ConfigurationLevel{c.Gateway, c.Class}
	}
	for _, l := range levels {
		if l.LoadBalancer != nil && isSet(&l.LoadBalancer.Spec) {
			return finding.Origin{Object: gw, Field: fmt.Sprintf("spec.%s of LoadBalancerConfiguration %s/%s", field, l.LoadBalancer.Namespace, l.LoadBalancer.Name)}
		}
	}
	return finding.Origin{Object: gw, Field: "spec.infrastructure.parametersRef"}
}
