package service

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// DefaultClass is the class of load balancer that is served unless the operator names another.
const DefaultClass = "service.k8s.aws/nlb"

// Options are the operator's settings that translation depends on. The zero value has the documented defaults
// of the flags.
type Options struct {
	assemble.Options

	// Class is the spec.loadBalancerClass to serve.
	Class string
	// OnlyLoadBalancers serves Services of type LoadBalancer only.
	OnlyLoadBalancers bool
	// MergeTCPUDP makes one listener of a TCP and a UDP port of the same number where a Service does not say.
	MergeTCPUDP bool
	// PlainChecks leaves out what AWS did not take once in health checks.
	PlainChecks bool
	// MaxListeners is on how many ports one Service may listen; 100 if 0.
	MaxListeners int
	// CrossNamespaceGroups lets Services share load balancers of other namespaces.
	CrossNamespaceGroups bool
}

func (o Options) withDefaults() Options {
	o.Options = o.WithDefaults()
	o.Class = cmp.Or(o.Class, DefaultClass)
	o.MaxListeners = cmp.Or(o.MaxListeners, defaultListeners)
	return o
}
