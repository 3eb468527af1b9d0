package gateway

import (
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// Options are the operator's settings that affect the translation. The zero value means the documented defaults of the
// flags, except for ListenerSets.
type Options struct {
	assemble.Options

	// ListenerSets reports whether ListenerSets are read.
	ListenerSets bool
}

func (o Options) withDefaults() Options {
	o.Options = o.WithDefaults()
	o.NoIPTargets = false // these feature gates and defaults are for Ingresses and Services only
	o.NoSecurityGroups = false
	o.ManageBackendRules = false
	o.ManageCertificates = false
	return o
}
