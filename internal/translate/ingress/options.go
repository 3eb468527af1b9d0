package ingress

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// Options are the operator's settings that translation depends on. The zero value has the
// documented defaults of the flags, except Class, whose flag defaults to "alb".
type Options struct {
	assemble.Options

	// Class is the value of the kubernetes.io/ingress.class annotation that is served. If it is empty, "alb" and Ingresses
	// without any class are served.
	Class string
	// RequireServices and RequireActions hold a rule with a Service or action that does not exist. Otherwise the rule
	// answers with status 503.
	RequireServices bool
	RequireActions  bool
	// ConditionValues and ConditionWildcards are the maximum numbers in a rule, which are quotas of AWS; 5 if 0.
	ConditionValues    int
	ConditionWildcards int
	// MaxListeners is the maximum number of ports of one Ingress, MaxRules that of rules of the Ingresses of a namespace in
	// one IngressGroup; 100 and 4000 if 0.
	MaxListeners int
	MaxRules     int
	// DescribePlan writes the plan of a load balancer into an annotation of the first member.
	DescribePlan bool
	// Tenancy is how far members of an IngressGroup are isolated from each other; Cooperative if empty.
	Tenancy Tenancy
	// ExactRegexHosts keeps rules after a redirect for hosts by regular expression alone. Older controllers leave such rules
	// out, as if the redirect answered all hosts.
	ExactRegexHosts bool
}

// withDefaults returns the options with defaults for those that are not set.
func (o Options) withDefaults() Options {
	o.Options = o.WithDefaults()
	o.MaxListeners = cmp.Or(o.MaxListeners, defaultMaxListeners)
	o.MaxRules = cmp.Or(o.MaxRules, defaultMaxRules)
	o.Tenancy = cmp.Or(o.Tenancy, Cooperative)
	return o
}
