package migrate

import (
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// TestEachAnnotationIsTranslatedOrReported checks that each annotation either has a counterpart or is reported as not
// translated, and that no other keys are in untranslatedAnnotations.
func TestEachAnnotationIsTranslatedOrReported(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, row := range settings.IngressAnnotations.Rows() {
		known[row.Key] = true
		isUntranslated := untranslatedAnnotations[row.Key] != ""
		if (row.Counterpart != "") == isUntranslated {
			t.Errorf("annotation %s: translated to %q, lost: %t", row.Key, row.Counterpart, isUntranslated)
		}
	}
	for key := range untranslatedAnnotations {
		if !known[key] {
			t.Errorf("there is no annotation %s", key)
		}
	}
}

// TestPortsWithDifferentClients checks that a Gateway admits only clients that each port of the Ingresses admits, because it
// admits the same clients on all ports.
func TestPortsWithDifferentClients(t *testing.T) {
	for _, c := range []struct{ a, b, want portClients }{
		{portClients{ranges: []string{"0.0.0.0/0", "::/0"}}, portClients{ranges: []string{"10.0.0.0/8"}}, portClients{ranges: []string{"10.0.0.0/8"}}},
		{portClients{ranges: []string{"10.0.0.0/8", "192.0.2.0/24"}}, portClients{ranges: []string{"10.1.0.0/16", "192.0.0.0/16"}}, portClients{ranges: []string{"10.1.0.0/16", "192.0.2.0/24"}}},
		{portClients{ranges: []string{"10.0.0.0/8"}}, portClients{ranges: []string{"11.0.0.0/8"}, lists: []string{"pl-1"}}, portClients{}},
		{portClients{lists: []string{"pl-1", "pl-2"}}, portClients{lists: []string{"pl-2", "pl-3"}}, portClients{lists: []string{"pl-2"}}},
		{portClients{lists: []string{"pl-1"}}, portClients{ranges: []string{"0.0.0.0/0"}}, portClients{lists: []string{"pl-1"}}},
	} {
		if got := c.a.intersect(&c.b, []string{"0.0.0.0/0"}); !slices.Equal(got.ranges, c.want.ranges) || !slices.Equal(got.lists, c.want.lists) {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, *got, c.want)
		}
	}
}
