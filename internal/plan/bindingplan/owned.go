package bindingplan

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// A target group that several clusters fill has targets that are none of ours. Each cluster keeps a
// record of those that it is responsible for: all that it registered and has not taken out yet. It
// is written before targets are registered, so that one whose registration got no answer
// is still known as ours, and again after others were taken out.

// removable leaves those targets that may be taken out: not what another binding wants, whose runs would not
// notice. In a shared group without a record these are the targets that this process has registered:
// it is not known who registered the others.
func (f *Facts) removable(list []*observed.Target) []*observed.Target {
	r := f.Record
	return slices.DeleteFunc(slices.Clone(list), func(t *observed.Target) bool {
		id := targets.CanonicalIdentity(targets.IdentityOf(t))
		return r.Others[id] || r.Shared && !r.Identities[id] && !f.Memory.Registered.Has(t)
	})
}

// wantedIdentities returns the endpoints by canonical identity.
func (f *Facts) wantedIdentities() map[string]bool {
	out := map[string]bool{}
	for _, e := range f.Resolution.Endpoints() {
		out[targets.CanonicalIdentity(e.Identity())] = true
	}
	return out
}

// record plans the record, unless it is so already.
func (p mover) record(want map[string]bool, why string) {
	if !p.Record.Recorded || !maps.Equal(p.Record.Identities, want) {
		p.addStep(SetRecord{want}, why)
	}
}
