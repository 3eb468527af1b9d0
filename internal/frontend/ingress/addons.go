package ingress

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// unknown reports annotations with our prefix that nobody reads, which are spelling mistakes or
// leftovers.
func (t *translation) unknown() {
	for _, m := range t.members {
		for _, key := range settings.Unknown(m.ing.Annotations) {
			t.found.Add(finding.Finding{
				Object: m.ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: "there is no such annotation, so it has no effect", Fix: "correct its name or remove it",
			})
		}
	}
}

// addOns reports settings that are recognised but cannot be built yet. They stop nothing else.
func (t *translation) addOns() {
	for _, m := range t.members {
		s := m.set
		for _, o := range []settings.Opt[string]{written(s.WAFv2ARN), written(s.WAFv2Name), written(s.WAFClassic)} {
			if o.Set {
				t.unsupported(m, o.Origin, fmt.Sprintf("web ACL %s is not associated", o.Value))
			}
		}
		for _, f := range settings.Faults(s.Shield.Check(), s.FrontendNLB.Check(), s.CreateCertificate.Check()) {
			t.fault(m, f, finding.BlocksNothing)
		}
		if s.Shield.Set {
			t.unsupported(m, s.Shield.Origin, "Shield Advanced protection is left as it is")
		}
		if s.FrontendNLB.Or(false) {
			t.unsupported(m, s.FrontendNLB.Origin, "no network load balancer is put in front")
			for _, key := range s.FrontendKeys {
				t.unsupported(m, finding.Origin{Object: m.ref, Field: settings.Prefix + key}, "it has no effect without a network load balancer in front")
			}
		}
		if s.CreateCertificate.Or(false) && len(s.Certificates.Value) == 0 {
			t.unsupported(m, s.CreateCertificate.Origin, "no certificate is requested; existing ones are looked for by host")
		}
	}
}

func (t *translation) unsupported(m *member, o finding.Origin, what string) {
	t.found.Add(finding.Finding{
		Object: m.ref, Field: fieldOn(m.ref, o), Reason: finding.Unsupported,
		Message: "this version cannot build this yet: " + what, Fix: "remove the setting, or wait for a version that can",
	})
}
