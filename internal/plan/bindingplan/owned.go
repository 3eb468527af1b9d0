package bindingplan

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Several clusters can have targets in a shared target group. Each cluster records the targets that it has registered and
// not deregistered yet. It writes the record before it registers targets. Therefore the record contains a target even if AWS
// did not answer the registration call. It writes the record again after it has deregistered targets.

// removableTargets returns the targets that may be deregistered. It excludes targets that another binding needs, because the
// runs of that binding would not register them again. In a shared target group, it returns only targets that are in the
// record of this cluster or that this process has registered, because other targets may belong to other clusters.
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

// recordNewTargets plans to add the identities of the endpoints to the record of the shared target group, before they are
// registered.
func (p targetPlanner) recordNewTargets() {
	want := p.wantedIdentities()
	maps.Copy(want, p.Record.Identities)
	if !p.Record.HasRecord || !maps.Equal(p.Record.Identities, want) {
		p.addStep(SetRecord{want}, "before they are registered")
	}
}
