package ingress

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// unknown reports annotations with our prefix that nobody reads, which are spelling mistakes or
// leftovers, and those that are read but say what nobody can have meant.
func (t *translation) unknown() {
	for _, m := range t.members {
		for _, key := range settings.Unknown(m.ing.Annotations) {
			t.found.Add(finding.Finding{
				Object: m.ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: "there is no such annotation, so it has no effect", Fix: "correct its name or remove it",
			})
		}
		for _, key := range settings.EndingInComma(m.ing.Annotations) {
			t.found.Add(finding.Finding{
				Object: m.ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: "the comma at the end is taken for a part of the last value", Fix: "remove it",
			})
		}
	}
}

// addOns merges what the members say about other services that the load balancer is tied to.
func (t *translation) addOns(alb *model.ALB) {
	for _, m := range t.members {
		for _, f := range settings.Faults(m.set.Shield.Check(), m.set.CreateCertificate.Check()) {
			t.fault(m, f, finding.BlocksNothing)
		}
	}
	alb.AddOns.WebACL, alb.Unsure.WebACL = t.webACL()
	classic := agree(t, t.members, "waf-acl-id", func(m *member) settings.Opt[string] { return written(m.set.WAFClassic) }, equal[string])
	if classic.Set && t.switchedOn(classic.Origin, !t.opt.NoWAFClassic, "--enable-waf") {
		alb.AddOns.ClassicACL = &model.ClassicACL{ID: unlessNone(classic.Value), Of: classic.Origin}
	}
	shield := agree(t, t.members, "shield-advanced-protection", func(m *member) settings.Opt[bool] { return m.set.Shield }, equal[bool])
	if shield.Set && t.switchedOn(shield.Origin, !t.opt.NoShield, "--enable-shield") {
		alb.AddOns.Shield = &model.Shield{On: shield.Value, Of: shield.Origin}
	}
}

// noACL in place of a web ACL asks for there to be none.
const noACL = "none"

func unlessNone(s string) string {
	if s == noACL {
		return ""
	}
	return s
}

// webACL is the wished web ACL. If any member gives a name, ARNs do not count. It is unsure where
// a class that is not known may pin another.
func (t *translation) webACL() (_ *model.WebACL, unsure bool) {
	var out *model.WebACL
	name, unsure := guarded(t, "wafv2-acl-name", func(m *member) settings.Opt[string] { return written(m.set.WAFv2Name) }, equal[string])
	if name.Set {
		out = &model.WebACL{Name: unlessNone(name.Value), Of: name.Origin}
	} else {
		arn, unsureARN := guarded(t, "wafv2-acl-arn", func(m *member) settings.Opt[string] { return written(m.set.WAFv2ARN) }, equal[string])
		unsure = unsure || unsureARN
		if !arn.Set {
			return nil, unsure
		}
		out = &model.WebACL{ARN: unlessNone(arn.Value), Of: arn.Origin}
	}
	if !t.switchedOn(out.Of, !t.opt.NoWAFv2, "--enable-wafv2") {
		return nil, unsure
	}
	return out, unsure
}

// switchedOn reports a setting whose flag is off.
func (t *translation) switchedOn(o finding.Origin, on bool, flag string) bool {
	if !on {
		ref := t.refOf(o)
		t.found.Add(finding.Finding{
			Object: ref, Field: fieldOn(ref, o), Reason: finding.FeatureDisabled,
			Message: "this is switched off by " + flag + "=false, so nothing is changed", Fix: "ask the operator, or remove the setting",
		})
	}
	return on
}

// refOf is the member that an origin belongs to; class parameters get no events, so what is written
// there is reported on the first member.
func (t *translation) refOf(o finding.Origin) finding.Ref {
	for _, m := range t.members {
		if m.ref == o.Object {
			return m.ref
		}
	}
	return t.members[0].ref
}
