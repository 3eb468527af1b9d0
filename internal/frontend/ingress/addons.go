package ingress

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// unknown reports annotations with our prefix that nobody reads, which are spelling mistakes or
// leftovers, and those that are read but say what nobody can have meant.
func (t *translation) unknown() {
	for _, m := range t.ingresses {
		for i, key := range settings.Unknown(m.ing.Annotations) {
			meant := ""
			if i < mostSuggestions {
				meant = didYouMean(settings.Nearest(key))
			}
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: "there is no such annotation" + meant + "; it has no effect", Fix: "correct its name or remove it",
			})
		}
		for _, key := range settings.OfMistypedPrefix(m.ing.Annotations) {
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: fmt.Sprintf("the prefix is not %q; it has no effect", settings.Prefix), Fix: "correct the prefix or remove it",
			})
		}
		for _, f := range settings.UnknownFields(m.ing.Annotations) {
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: f.Annotation, Reason: finding.AnnotationInvalid,
				Message: fmt.Sprintf("there is no field %q%s; it has no effect", f.Field, f.Meant), Fix: "correct its name or remove it",
			})
		}
		for _, key := range settings.EndingInComma(m.ing.Annotations) {
			t.Found.Add(finding.Finding{
				Object: m.Ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: "the comma at the end is taken for a part of the last value", Fix: "remove it",
			})
		}
	}
}

// mostSuggestions is for how many unknown annotations of an Ingress the nearest known one is looked for.
const mostSuggestions = 32

// didYouMean is a suggestion in brackets, "" if there is none.
func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}
