package migrate

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Each annotation is translated, or its loss is reported.
func TestEachAnnotationIsTranslatedOrReported(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, row := range settings.Rows() {
		known[row.Key] = true
		isLost := slices.ContainsFunc(lost, func(l struct{ key, why, fix string }) bool { return strings.HasPrefix(row.Key, l.key) })
		if (kept[row.Key] != "") == isLost {
			t.Errorf("annotation %s: translated to %q, lost: %t", row.Key, kept[row.Key], isLost)
		}
	}
	for key := range kept {
		if !known[key] {
			t.Errorf("there is no annotation %s", key)
		}
	}
}
