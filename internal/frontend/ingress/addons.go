package ingress

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// unknown reports annotations with our prefix that nobody reads, which are spelling mistakes or
// leftovers, and those that are read but say what nobody can have meant.
func (t *translation) unknown() {
	for _, m := range t.members {
		for i, key := range settings.Unknown(m.ing.Annotations) {
			meant := ""
			if i < mostSuggestions {
				meant = didYouMean(settings.Nearest(key))
			}
			t.found.Add(finding.Finding{
				Object: m.ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: "there is no such annotation" + meant + "; it has no effect", Fix: "correct its name or remove it",
			})
		}
		for _, key := range settings.OfMistypedPrefix(m.ing.Annotations) {
			t.found.Add(finding.Finding{
				Object: m.ref, Field: key, Reason: finding.AnnotationInvalid,
				Message: fmt.Sprintf("the prefix is not %q; it has no effect", settings.Prefix), Fix: "correct the prefix or remove it",
			})
		}
		for _, f := range settings.UnknownFields(m.ing.Annotations) {
			t.found.Add(finding.Finding{
				Object: m.ref, Field: f.Annotation, Reason: finding.AnnotationInvalid,
				Message: fmt.Sprintf("there is no field %q%s; it has no effect", f.Field, f.Meant), Fix: "correct its name or remove it",
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

// mostSuggestions is for how many unknown annotations of an Ingress the nearest known one is looked for.
const mostSuggestions = 32

// didYouMean is a suggestion in brackets, "" if there is none.
func didYouMean(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", near)
}

// addOns merges what the members say about other services that the load balancer is tied to.
func (t *translation) addOns(alb *model.LoadBalancer) {
	for _, m := range t.members {
		for _, f := range settings.Faults(m.set.Shield.Check(), m.set.CreateCertificate.Check()) {
			t.fault(m, f, finding.BlocksNothing)
		}
	}
	alb.AddOns.WebACL = t.webACL()
	classic := agree(t, t.members, "waf-acl-id", func(m *member) settings.Opt[string] { return written(m.set.WAFClassic) }, func(a, b string) bool { return unlessNone(a) == unlessNone(b) }, func() incumbent[string] {
		return liveAddOn(t, model.WAFClassic, func(have observed.AddOn) string { return have.ID }, func(have observed.AddOn, asked string) bool { return have.ID == unlessNone(asked) })
	})
	if classic.Set && t.switchedOn(classic.Origin, !t.opt.NoWAFClassic, "--enable-waf") {
		alb.AddOns.ClassicACL = &model.ClassicACL{ID: unlessNone(classic.Value), Of: classic.Origin}
	}
	shield := agree(t, t.members, "shield-advanced-protection", func(m *member) settings.Opt[bool] { return m.set.Shield }, equal[bool], func() incumbent[bool] {
		return liveAddOn(t, model.ShieldPlan, func(have observed.AddOn) bool { return have.ID != "" }, func(have observed.AddOn, asked bool) bool { return asked == (have.ID != "") })
	})
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

// webACL is the web ACL of WAFv2 that is asked for; nil where no member speaks of one. A name of a member
// counts before its ARN.
func (t *translation) webACL() *model.WebACL {
	named := slices.ContainsFunc(t.members, func(m *member) bool { return written(m.set.WAFv2Name).Set })
	won := agree(t, t.members, "web ACL", func(m *member) settings.Opt[webACL] {
		name, arn := written(m.set.WAFv2Name), written(m.set.WAFv2ARN)
		switch {
		case name.Present():
			return settings.Opt[webACL]{Value: webACL{Name: unlessNone(name.Value)}, Set: name.Set, Fault: name.Fault, Origin: name.Origin}
		case t.liveALB() == nil && named && arn.Set:
			t.stack.Contested = true // which of them is live decides; before anything is, a name does
			return settings.Opt[webACL]{}
		}
		return settings.Opt[webACL]{Value: webACL{ARN: unlessNone(arn.Value)}, Set: arn.Set, Fault: arn.Fault, Origin: arn.Origin}
	}, equal[webACL], t.liveWebACL)
	if !won.Set || !t.switchedOn(won.Origin, !t.opt.NoWAFv2, "--enable-wafv2") {
		return nil
	}
	out := model.WebACL(won.Value)
	out.Of = won.Origin
	return &out
}

// webACL is a web ACL by ARN or name, with a text for conflicts; with neither, there is to be none.
type webACL model.WebACL

// String is the name or the ARN.
func (w webACL) String() string { return cmp.Or(w.Name, w.ARN, noACL) }

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
