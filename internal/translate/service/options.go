package service

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// DefaultClass is the spec.loadBalancerClass of the Services that the controller serves by default.
const DefaultClass = "service.k8s.aws/nlb"

// Options are the operator's settings that affect the translation. The zero value means the documented defaults of the
// flags.
type Options struct {
	assemble.Options

	// Class is the spec.loadBalancerClass of the Services that the controller serves.
	Class string
	// OnlyLoadBalancers excludes Services of types other than LoadBalancer.
	OnlyLoadBalancers bool
	// MergeTCPUDP creates one listener for a TCP port and a UDP port with the same number. An annotation of the Service has
	// precedence over it.
	MergeTCPUDP bool
	// BasicHealthChecks ignores the success codes and the timeout of health checks. It is true if feature gate
	// NLBHealthCheckAdvancedConfig is off.
	BasicHealthChecks bool
	// CrossNamespaceGroups permits Services to share load balancers of other namespaces.
	CrossNamespaceGroups bool
}

// withDefaults returns the options with defaults for the fields that are not set.
func (o Options) withDefaults() Options {
	o.Options = o.WithDefaults()
	o.Class = cmp.Or(o.Class, DefaultClass)
	return o
}
