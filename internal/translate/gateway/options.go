package gateway

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// Options are the operator's settings that affect the translation. The zero value means the documented defaults of the
// flags, except for ListenerSets.
type Options struct {
	assemble.Options

	// ListenerSets reports whether ListenerSets are read.
	ListenerSets bool
	// ConditionValues and ConditionWildcards are the maximum numbers of condition values and of wildcards in a rule, which
	// are AWS quotas; 0 means 5.
	ConditionValues    int
	ConditionWildcards int
	// MaxRules is the maximum number of rules that the routes of one namespace can have on one Gateway; 0 means 4000.
	MaxRules int
}

const defaultMaxRules = 4000

func (o Options) withDefaults() Options {
	o.Options = o.WithDefaults()
	o.NoIPTargets = false // these feature gates and defaults are for Ingresses and Services only
	o.NoSecurityGroups = false
	o.ManageBackendRules = false
	o.ManageCertificates = false
	o.MaxRules = cmp.Or(o.MaxRules, defaultMaxRules)
	return o
}

func (o Options) limits() assemble.ConditionLimits {
	return assemble.ConditionLimits{Values: o.ConditionValues, Wildcards: o.ConditionWildcards}.WithDefaults()
}
