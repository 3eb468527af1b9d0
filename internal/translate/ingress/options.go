package ingress

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// Options are the operator's settings that translation depends on. The zero value has the
// documented defaults of the flags, except Class, whose flag defaults to "alb".
type Options struct {
	assemble.Options

	// Class is the value of the kubernetes.io/ingress.class annotation to serve; empty serves
	// "alb" and Ingresses without any class.
	Class string
	// RequireServices and RequireActions make a missing Service or action a fault of its rule,
	// instead of a 503.
	RequireServices bool
	RequireActions  bool
	// ConditionValues and ConditionWildcards are how many AWS takes in a rule; 5 of each if 0.
	ConditionValues    int
	ConditionWildcards int
	// MaxListeners is on how many ports one Ingress may listen, MaxRules how many rules the Ingresses of a
	// namespace may have in one IngressGroup; 100 and 4000 if 0.
	MaxListeners int
	MaxRules     int
	// DescribePlan shows what a load balancer becomes in an annotation of the first member.
	DescribePlan bool
	// Tenancy is what members of an IngressGroup may do to each other; Cooperative if empty.
	Tenancy Tenancy
	// ExactRegexHosts keeps rules behind a redirect whose only hosts are regular expressions,
	// which older controllers drop.
	ExactRegexHosts bool
}

func (o Options) filled() Options {
	o.Options = o.WithDefaults()
	o.MaxListeners = cmp.Or(o.MaxListeners, defaultListeners)
	o.MaxRules = cmp.Or(o.MaxRules, defaultRules)
	o.Tenancy = cmp.Or(o.Tenancy, Cooperative)
	return o
}
