package bindingplan

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// A shared target group has targets of several clusters. Each cluster records the targets that it has registered and not
// deregistered yet. It writes the record before it registers targets, so that the record contains a target even if the
// registration call got no answer, and again after it has deregistered targets.

// removableTargets returns the targets that may be deregistered. It excludes targets that another binding needs, because the
// runs of that binding would not register them again. In a shared target group without a record, it returns only targets
// that this process has registered, because it is unknown which cluster registered the other targets.
func (f *Facts) removableTargets(list []*observed.Target) []*observed.Target {
	r := f.Record
	return slices.DeleteFunc(slices.Clone(list), func(t *observed.Target) bool {
		id := targets.CanonicalIdentity(targets.IdentityOf(t))
		return r.NeededByOthers[id] || r.Shared && !r.Identities[id] && !f.Memory.RegisteredTargets.Has(t)
	})
}

// wantedIdentities returns the canonical identities of the endpoints.
func (f *Facts) wantedIdentities() map[string]bool {
	out := map[string]bool{}
	for _, e := range f.Resolution.Endpoints() {
		out[targets.CanonicalIdentity(e.Identity())] = true
	}
	return out
}

// recordTargets plans to write the identities into the record of the shared target group, unless the record has exactly
// these.
func (p targetPlanner) recordTargets(want map[string]bool, why string) {
	if !p.Record.HasRecord || !maps.Equal(p.Record.Identities, want) {
		p.addStep(SetRecord{want}, why)
	}
}
