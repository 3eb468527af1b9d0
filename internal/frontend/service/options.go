package service

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// DefaultClass is the class of load balancer that is served unless the operator names another.
const DefaultClass = "service.k8s.aws/nlb"

// Options are the operator's settings that translation depends on. The zero value has the documented defaults
// of the flags.
type Options struct {
	// Cluster is the name that AWS resources are tagged with.
	Cluster string
	// Class is the spec.loadBalancerClass to serve.
	Class string
	// OnlyLoadBalancers serves Services of type LoadBalancer only.
	OnlyLoadBalancers bool

	DefaultScheme     model.Scheme     // internal if empty
	DefaultTargetType model.TargetType // instance if empty
	DefaultSSLPolicy  string           // ELBSecurityPolicy-2016-08 if empty

	// DefaultTags for all resources; DefaultTagsLow lets users' tags win over them.
	DefaultTags    map[string]string
	DefaultTagsLow bool
	// ExternalTags are keys that users may not set.
	ExternalTags []string

	// BackendGroup is the id of a shared backend security group that the operator provides.
	BackendGroup string
	// NoBackendGroup switches the shared backend security group off.
	NoBackendGroup bool
	// ManageBackendRules is the default of the annotation of that name.
	ManageBackendRules bool
	// UnrestrictedRules opens all ports of targets to the load balancer, not single ones.
	UnrestrictedRules bool
	// NoSecurityGroups makes load balancers without security groups.
	NoSecurityGroups bool

	// MergeTCPUDP makes one listener of a TCP and a UDP port of the same number where a Service does not say.
	MergeTCPUDP bool
	// PlainChecks, NoIPTargets, NoCapacity and NoWeights switch features off.
	PlainChecks bool
	NoIPTargets bool
	NoCapacity  bool
	NoWeights   bool
	// MaxListeners is on how many ports one Service may listen; 100 if 0.
	MaxListeners int
	// CrossNamespaceGroups lets Services share load balancers of other namespaces.
	CrossNamespaceGroups bool
	// StrictGroups lets one fault stop the whole load balancer.
	StrictGroups bool
	// AllowMassRemoval lets load balancers go of Services that the controller's own flags exclude.
	AllowMassRemoval bool
}

func (o Options) filled() Options {
	o.Class = cmp.Or(o.Class, DefaultClass)
	o.DefaultScheme = cmp.Or(o.DefaultScheme, model.Internal)
	o.DefaultTargetType = cmp.Or(o.DefaultTargetType, model.InstanceTargets)
	o.DefaultSSLPolicy = cmp.Or(o.DefaultSSLPolicy, "ELBSecurityPolicy-2016-08")
	o.MaxListeners = cmp.Or(o.MaxListeners, defaultListeners)
	return o
}

// shared are the options for what is not about Services alone.
func (o Options) shared() assemble.Options {
	return assemble.Options{
		Cluster: o.Cluster, DefaultScheme: o.DefaultScheme, DefaultSSLPolicy: o.DefaultSSLPolicy,
		DefaultTags: o.DefaultTags, DefaultTagsLow: o.DefaultTagsLow, ExternalTags: o.ExternalTags,
		NoBackendGroup: o.NoBackendGroup, ManageBackendRules: o.ManageBackendRules, NoSecurityGroups: o.NoSecurityGroups,
		NoCapacity: o.NoCapacity,
	}
}
