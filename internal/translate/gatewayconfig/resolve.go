package gatewayconfig

import (
	"fmt"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Level is the configuration that one reference names: of a GatewayClass, or of a Gateway.
type Level struct {
	// LoadBalancer is nil where nothing is referenced.
	LoadBalancer *gwconfig.LoadBalancerConfiguration
	// Targets are the defaults of target groups; nil where LoadBalancer names none.
	Targets *gwconfig.TargetGroupConfiguration
}

func (l Level) spec() *gwconfig.LoadBalancerConfigurationSpec {
	if l.LoadBalancer == nil {
		return nil
	}
	return &l.LoadBalancer.Spec
}

// Problem is a reference that does not lead to a configuration.
type Problem struct {
	// Field of the object that has the reference.
	Field string
	// Reason is a reason of the condition Accepted of a GatewayClass.
	Reason string
	// Message and Fix are for people.
	Message, Fix string
}

// The reasons of problems.
const (
	ReasonNamespaceMissing = "InvalidParametersRef"
	ReasonNotFound         = "NotFound"
	ReasonInvalid          = "InvalidParameters"
)

// OfClass is the configuration that a GatewayClass names.
func OfClass(v *cluster.View, class *gwv1.GatewayClass) (Level, *Problem) {
	const field = "spec.parametersRef"
	ref := class.Spec.ParametersRef
	switch {
	case ref == nil:
		return Level{}, nil
	case !isConfiguration(ref.Group, ref.Kind):
		return Level{}, foreignKind(field, ref.Group, ref.Kind)
	case ref.Namespace == nil || *ref.Namespace == "":
		return Level{}, &Problem{Field: field, Reason: ReasonNamespaceMissing,
			Message: fmt.Sprintf("parametersRef %q has no namespace", finding.Cut(ref.Name)), Fix: "set spec.parametersRef.namespace"}
	}
	return level(v, field, string(*ref.Namespace), ref.Name)
}

// OfGateway is the configuration that a Gateway names itself.
func OfGateway(v *cluster.View, gw *gwv1.Gateway) (Level, *Problem) {
	const field = "spec.infrastructure.parametersRef"
	if gw.Spec.Infrastructure == nil || gw.Spec.Infrastructure.ParametersRef == nil {
		return Level{}, nil
	}
	ref := gw.Spec.Infrastructure.ParametersRef
	if !isConfiguration(ref.Group, ref.Kind) {
		return Level{}, foreignKind(field, ref.Group, ref.Kind)
	}
	return level(v, field, gw.Namespace, ref.Name)
}

func isConfiguration(group gwv1.Group, kind gwv1.Kind) bool {
	return string(group) == gwconfig.GroupVersion.Group && string(kind) == string(cluster.KindLoadBalancerConfiguration)
}

func foreignKind(field string, group gwv1.Group, kind gwv1.Kind) *Problem {
	return &Problem{Field: field, Reason: ReasonInvalid,
		Message: fmt.Sprintf("kind %q of group %q is not a configuration of load balancers", finding.Cut(string(kind)), finding.Cut(string(group))),
		Fix:     "name a LoadBalancerConfiguration of group " + gwconfig.GroupVersion.Group}
}

// level reads a configuration and the defaults of target groups that it names.
func level(v *cluster.View, field, namespace, name string) (Level, *Problem) {
	lb, ok := cluster.Get[*gwconfig.LoadBalancerConfiguration](v, cluster.KindLoadBalancerConfiguration, namespace, name)
	if !ok {
		return Level{}, &Problem{Field: field, Reason: ReasonNotFound,
			Message: fmt.Sprintf("LoadBalancerConfiguration %q does not exist", namespace+"/"+finding.Cut(name)), Fix: "create it, or correct the reference"}
	}
	out := Level{LoadBalancer: lb}
	if lb.Spec.DefaultTargetGroupConfiguration == nil {
		return out, nil
	}
	name = lb.Spec.DefaultTargetGroupConfiguration.Name
	where := fmt.Sprintf("spec.defaultTargetGroupConfiguration of LoadBalancerConfiguration %s/%s", lb.Namespace, lb.Name)
	targets, ok := cluster.Get[*gwconfig.TargetGroupConfiguration](v, cluster.KindTargetGroupConfiguration, lb.Namespace, name)
	switch {
	case !ok:
		return out, &Problem{Field: where, Reason: ReasonInvalid,
			Message: fmt.Sprintf("TargetGroupConfiguration %q does not exist", lb.Namespace+"/"+finding.Cut(name)), Fix: "create it, or correct the name"}
	case targets.Spec.TargetReference != nil:
		return out, &Problem{Field: where, Reason: ReasonInvalid,
			Message: fmt.Sprintf("TargetGroupConfiguration %q has a targetReference, so it is no default", lb.Namespace+"/"+finding.Cut(name)),
			Fix:     "remove spec.targetReference, or name another one"}
	}
	out.Targets = targets
	return out, nil
}

// Configuration is what counts for a Gateway.
type Configuration struct {
	Class, Gateway Level
	// LoadBalancer is merged of both.
	LoadBalancer gwconfig.LoadBalancerConfigurationSpec
	// Targets are the defaults of target groups, merged of both.
	Targets gwconfig.TargetGroupConfigurationSpec
}

// Of is the configuration of a Gateway of a class, and what is wrong with its references. With a finding the
// configuration is not to be used.
func Of(v *cluster.View, gw *gwv1.Gateway, class *gwv1.GatewayClass) (Configuration, finding.List) {
	var out Configuration
	var found finding.List
	blame := func(reason finding.Reason, p *Problem, prefix string) {
		if p != nil {
			found.Add(finding.Finding{
				Object: finding.Ref{Kind: string(cluster.KindGateway), Namespace: gw.Namespace, Name: gw.Name}, Field: prefix + p.Field,
				Reason: reason, Message: p.Message + "; what is live stays as it is", Fix: p.Fix, Blocks: finding.BlocksMember,
			})
		}
	}
	var p *Problem
	out.Class, p = OfClass(v, class)
	blame(finding.GatewayClassInvalid, p, "GatewayClass "+class.Name+" ")
	out.Gateway, p = OfGateway(v, gw)
	blame(finding.ParametersInvalid, p, "")
	out.LoadBalancer = Merge(out.Class.spec(), out.Gateway.spec())
	out.Targets = out.mergeTargets()
	return out, found
}

// mergeTargets lays the defaults of target groups over each other. Those for single routes are taken from one of them
// alone.
func (c Configuration) mergeTargets() gwconfig.TargetGroupConfigurationSpec {
	high, low := c.Class.Targets, c.Gateway.Targets
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
		DefaultConfiguration: MergeProps(high.Spec.DefaultConfiguration, low.Spec.DefaultConfiguration),
		RouteConfigurations:  high.Spec.RouteConfigurations,
	}
}

// origin names the configuration that a field was taken from, as a field of the Gateway: configurations get no events.
func (c Configuration) origin(gw finding.Ref, field string, given func(*gwconfig.LoadBalancerConfigurationSpec) bool) finding.Origin {
	levels := []Level{c.Class, c.Gateway}
	if prefersGateway(c.Class.spec()) {
		levels = []Level{c.Gateway, c.Class}
	}
	for _, l := range levels {
		if l.LoadBalancer != nil && given(&l.LoadBalancer.Spec) {
			return finding.Origin{Object: gw, Field: fmt.Sprintf("spec.%s of LoadBalancerConfiguration %s/%s", field, l.LoadBalancer.Namespace, l.LoadBalancer.Name)}
		}
	}
	return finding.Origin{Object: gw, Field: "spec.infrastructure.parametersRef"}
}
