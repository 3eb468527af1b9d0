package ingress

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Options are the operator's settings that translation depends on. The zero value has the
// documented defaults of the flags, except Class, whose flag defaults to "alb".
type Options struct {
	// Cluster is the name that AWS resources are tagged with.
	Cluster string
	// Class is the value of the kubernetes.io/ingress.class annotation to serve; empty serves
	// "alb" and Ingresses without any class.
	Class string

	DefaultScheme     model.Scheme     // internal if empty
	DefaultTargetType model.TargetType // instance if empty
	DefaultSSLPolicy  string           // ELBSecurityPolicy-2016-08 if empty

	// DefaultTags for all resources; DefaultTagsLow lets users' tags win over them.
	DefaultTags    map[string]string
	DefaultTagsLow bool
	// ExternalTags are keys that users may not set.
	ExternalTags []string

	// BackendGroup is the id of a shared backend group that the operator provides.
	BackendGroup string
	// NoBackendGroup switches the shared backend group off.
	NoBackendGroup bool
	// ManageBackendRules is the default of the annotation of that name.
	ManageBackendRules bool
	// UnrestrictedRules opens all TCP ports of targets to the load balancer, not single ones.
	UnrestrictedRules bool

	// RequireServices and RequireActions make a missing Service or action a fault of its rule,
	// instead of a 503.
	RequireServices bool
	RequireActions  bool
	// SecretLabel, if its key is set, must be on every Secret that is read.
	SecretLabel Label

	// NoIPTargets, NoCapacity and NoWeights switch features off.
	NoIPTargets bool
	NoCapacity  bool
	NoWeights   bool
	// ConditionValues and ConditionWildcards are how many AWS takes in a rule; 5 of each if 0.
	ConditionValues    int
	ConditionWildcards int
	// MaxListeners is on how many ports one Ingress may listen, MaxRules how many rules the Ingresses of a
	// namespace may have in one IngressGroup; 100 and 4000 if 0.
	MaxListeners int
	MaxRules     int
	// ManageCertificates requests certificates where members ask for them, from DefaultCA, the ARN of
	// a private authority, where neither names one.
	ManageCertificates bool
	DefaultCA          string
	// NoWAFv2, NoWAFClassic and NoShield leave web ACLs and protections alone.
	NoWAFv2      bool
	NoWAFClassic bool
	NoShield     bool
	// DescribePlan shows what a load balancer becomes in an annotation of the first member.
	DescribePlan bool
	// Tenancy says what members of an IngressGroup may do to each other; Cooperative if empty.
	Tenancy Tenancy
	// StrictGroups lets one fault stop the whole group.
	StrictGroups bool
	// AllowMassRemoval believes the classes also where most Ingresses that are served are given to
	// another controller at once.
	AllowMassRemoval bool
	// ExactRegexHosts keeps rules behind a redirect whose only hosts are regular expressions,
	// which older controllers drop.
	ExactRegexHosts bool
}

// shared are the options for what is not about Ingresses alone.
func (o Options) shared() assemble.Options {
	return assemble.Options{
		Cluster: o.Cluster, DefaultScheme: o.DefaultScheme, DefaultSSLPolicy: o.DefaultSSLPolicy,
		DefaultTags: o.DefaultTags, DefaultTagsLow: o.DefaultTagsLow, ExternalTags: o.ExternalTags,
		NoBackendGroup: o.NoBackendGroup, ManageBackendRules: o.ManageBackendRules,
		NoCapacity: o.NoCapacity, NoWAFv2: o.NoWAFv2, NoWAFClassic: o.NoWAFClassic, NoShield: o.NoShield,
		ManageCertificates: o.ManageCertificates, DefaultCA: o.DefaultCA,
	}
}

// Label is a key and a value.
type Label struct{ Key, Value string }

func (o Options) filled() Options {
	o.DefaultScheme = cmp.Or(o.DefaultScheme, model.Internal)
	o.DefaultTargetType = cmp.Or(o.DefaultTargetType, model.InstanceTargets)
	o.DefaultSSLPolicy = cmp.Or(o.DefaultSSLPolicy, "ELBSecurityPolicy-2016-08")
	o.MaxListeners = cmp.Or(o.MaxListeners, defaultListeners)
	o.MaxRules = cmp.Or(o.MaxRules, defaultRules)
	o.Tenancy = cmp.Or(o.Tenancy, Cooperative)
	return o
}
