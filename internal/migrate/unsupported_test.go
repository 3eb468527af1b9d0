package migrate

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// TestEachAnnotationIsTranslatedOrReported checks that each annotation is either translated or reported as not translated,
// and that no other keys are in annotationTranslations.
func TestEachAnnotationIsTranslatedOrReported(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, row := range settings.IngressRows() {
		known[row.Key] = true
		isUntranslated := slices.ContainsFunc(untranslatedPrefixes, func(l struct{ key, why, fix string }) bool { return strings.HasPrefix(row.Key, l.key) })
		if (annotationTranslations[row.Key] != "") == isUntranslated {
			t.Errorf("annotation %s: translated to %q, lost: %t", row.Key, annotationTranslations[row.Key], isUntranslated)
		}
	}
	for key := range annotationTranslations {
		if !known[key] {
			t.Errorf("there is no annotation %s", key)
		}
	}
}
