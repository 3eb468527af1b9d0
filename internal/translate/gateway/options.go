package gateway

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// Options are the operator's settings that translation depends on. The zero value has the documented defaults of the
// flags, except ListenerSets.
type Options struct {
	assemble.Options

	// ListenerSets reports whether ListenerSets are read.
	ListenerSets bool
	// ConditionValues and ConditionWildcards are how many AWS takes in a rule; 5 of each if 0.
	ConditionValues    int
	ConditionWildcards int
	// MaxRules is how many rules the routes of one namespace may have on one Gateway; 4000 if 0.
	MaxRules int
}

const defaultRules = 4000

func (o Options) filled() Options {
	o.Options = o.WithDefaults()
	o.NoIPTargets = false // gates and defaults of Ingresses and Services, which Gateways do not obey
	o.NoSecurityGroups = false
	o.ManageBackendRules = false
	o.ManageCertificates = false
	o.MaxRules = cmp.Or(o.MaxRules, defaultRules)
	return o
}

func (o Options) limits() assemble.ConditionLimits {
	return assemble.ConditionLimits{Values: o.ConditionValues, Wildcards: o.ConditionWildcards}.WithDefaults()
}
