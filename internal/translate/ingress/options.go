package ingress

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// Options are the operator's settings that affect the translation. The zero value means the documented defaults of the
// flags, except for Class, whose flag defaults to "alb".
type Options struct {
	assemble.Options

	// Class is the value of annotation kubernetes.io/ingress.class of the Ingresses that are served. If it is empty,
	// Ingresses with the value "alb" and Ingresses without any class are served.
	Class string
	// RequireServices and RequireActions hold a rule whose Service or action does not exist. If they are false, requests for
	// the rule are answered with status 503.
	RequireServices bool
	RequireActions  bool
	// MaxListeners is the maximum number of ports of one Ingress; 0 means 100.
	MaxListeners int
	// DescribePlan writes the plan for a load balancer into an annotation of its first member.
	DescribePlan bool
	// Tenancy is how far the members of an IngressGroup are isolated from each other; Cooperative if empty.
	Tenancy Tenancy
	// ExactRegexHosts keeps rules that follow a redirect whose only hosts are regular expressions. AWS Load Balancer
	// Controller omits such rules, as if the redirect answered the requests for all hosts.
	ExactRegexHosts bool
}

// withDefaults returns the options with defaults for those that are not set.
func (o Options) withDefaults() Options {
	o.Options = o.WithDefaults()
	o.MaxListeners = cmp.Or(o.MaxListeners, assemble.DefaultMaxListeners)
	o.Tenancy = cmp.Or(o.Tenancy, Cooperative)
	return o
}
