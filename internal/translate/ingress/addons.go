package ingress

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// reportProbableMistakes reports annotations and class parameters that are probably misspelled.
func (t *translation) reportProbableMistakes() {
	for _, m := range t.ingresses {
		t.Found.Add(settings.IngressAnnotations.FindProbableMistakes(m.ing.Annotations, m.Ref)...)
		of := m.Set.Class
		advise := func(known settings.AttributeKeys, attributes map[string]string, field string) {
			from := finding.Origin{Object: of.Origin.Object, Field: field}
			t.Found.Add(known.FindProbableMistakes(attributes, m.Ref, members.FieldForObject(m.Ref, from), finding.AnnotationInvalid)...)
		}
		advise(settings.ALBAttributeKeys, of.Attributes, "spec.loadBalancerAttributes")
		for _, port := range slices.Sorted(maps.Keys(of.ListenerAttributes)) {
			advise(settings.ListenerAttributeKeys, of.ListenerAttributes[port], "spec.listeners")
		}
	}
}
