package ingress

import "github.com/fulcrum-lb/fulcrum/internal/settings"

// unknown reports annotations that hardly say what they say on purpose.
func (t *translation) unknown() {
	for _, m := range t.ingresses {
		t.Found.Add(settings.IngressAnnotations.Advice(m.ing.Annotations, m.Ref)...)
	}
}
