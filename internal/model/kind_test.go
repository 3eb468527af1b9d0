package model

import "testing"

// TestKindsAreComplete compares the table with the list of kinds. A kind without one of the required properties would
// have tags, metrics or logs with an empty name.
func TestKindsAreComplete(t *testing.T) {
	if len(kinds) != len(Kinds) {
		t.Errorf("the table has %d kinds, Kinds %d", len(kinds), len(Kinds))
	}
	prefixes, controllers := map[string]bool{}, map[string]bool{}
	for _, k := range Kinds {
		for what, got := range map[string]string{"tag prefix": k.TagPrefix(), "object": k.Object(), "controller": k.Controller(), "consumer": k.Consumer(), "log key": k.LogKey()} {
			if got == "" {
				t.Errorf("%s has no %s", k, what)
			}
		}
		if prefixes[k.TagPrefix()] || controllers[k.Controller()] {
			t.Errorf("%s has the tag prefix or controller of another kind", k)
		}
		prefixes[k.TagPrefix()], controllers[k.Controller()] = true, true
		if k.Adopter() != "" && (!k.Adopter().OfGateway() || k.Adopter().HasRules() != k.HasRules()) {
			t.Errorf("%s cannot take over load balancers of %s", k.Adopter(), k)
		}
	}
}
