package ingress

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// Options are the operator's settings that affect the translation. The zero value has the documented defaults of the
// flags, except for Class, whose flag defaults to "alb".
type Options struct {
	assemble.Options

	// Class is the value of the kubernetes.io/ingress.class annotation that is served. If it is empty, "alb" and Ingresses
	// without any class are served.
	Class string
	// RequireServices and RequireActions hold a rule with a Service or action that does not exist. Otherwise the rule
	// answers with status 503.
	RequireServices bool
	RequireActions  bool
	// ConditionValues and ConditionWildcards are the maximum numbers in a rule, which are AWS quotas; 0 means 5.
	ConditionValues    int
	ConditionWildcards int
	// MaxListeners is the maximum number of ports of one Ingress; 0 means 100. MaxRules is the maximum number of rules
	// that the Ingresses of a namespace can have in one IngressGroup; 0 means 4000.
	MaxListeners int
	MaxRules     int
	// DescribePlan writes the plan of a load balancer into an annotation of the first member.
	DescribePlan bool
	// Tenancy is the degree of isolation between members of an IngressGroup; Cooperative if empty.
	Tenancy Tenancy
	// ExactRegexHosts keeps rules after a redirect whose host is only a regular expression. Older controllers omit such
	// rules, as if the redirect answered requests for all hosts.
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
