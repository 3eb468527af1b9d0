package model

import "testing"

// TestKindsAreComplete checks that kindProperties has each of Kinds with all required properties. Without them, tags,
// metrics or logs would have empty names.
func TestKindsAreComplete(t *testing.T) {
	if len(kindProperties) != len(Kinds) {
		t.Errorf("the table has %d kinds, Kinds %d", len(kindProperties), len(Kinds))
	}
	prefixes, controllers := map[string]bool{}, map[string]bool{}
	for _, k := range Kinds {
		for what, got := range map[string]string{"tag prefix": k.TagPrefix(), "object": k.ObjectKind(), "controller": k.ControllerName(), "consumer": k.ConsumerName(), "log key": k.LogKey()} {
			if got == "" {
				t.Errorf("%s has no %s", k, what)
			}
		}
		if prefixes[k.TagPrefix()] || controllers[k.ControllerName()] {
			t.Errorf("%s has the tag prefix or controller of another kind", k)
		}
		prefixes[k.TagPrefix()], controllers[k.ControllerName()] = true, true
		if k.AdopterKind() != "" && (!k.AdopterKind().IsGateway() || k.AdopterKind().HasRules() != k.HasRules()) {
			t.Errorf("%s cannot take over load balancers of %s", k.AdopterKind(), k)
		}
	}
}
