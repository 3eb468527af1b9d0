package assemble

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// MergeAddOns sets AddOns of alb, the associations with AWS WAF and AWS Shield, from the settings of all members.
func (b *Builder) MergeAddOns(alb *model.LoadBalancer) {
	for _, m := range b.Members {
		for _, f := range settings.NonNilFaults(m.Set.Shield.Check(), m.Set.CreateCertificate.Check()) {
			b.ReportFault(m, f, finding.BlocksNothing)
		}
	}
	alb.AddOns.WebACL = addOnBuilder{b}.webACL()
	classic := members.MergeSetting(&b.Translation, b.Members, b.settingName("waf-acl-id"), func(m *members.Member) settings.Opt[string] { return settings.UnsetIfEmpty(m.Set.WAFClassic) }, func(a, b string) bool { return emptyIfNone(a) == emptyIfNone(b) }, func() members.LiveValue[string] {
		return liveAddOn(b, model.WAFClassic, func(have observed.AddOn) string { return have.ID }, func(have observed.AddOn, asked string) bool { return have.ID == emptyIfNone(asked) })
	})
	if classic.Set && (addOnBuilder{b}).reportIfDisabled(classic.Origin, !b.NoWAFClassic, "--enable-waf") {
		alb.AddOns.ClassicACL = &model.ClassicACL{ID: emptyIfNone(classic.Value), Of: classic.Origin}
	}
	shield := members.MergeSetting(&b.Translation, b.Members, b.settingName("shield-advanced-protection"), func(m *members.Member) settings.Opt[bool] { return m.Set.Shield }, members.Equal[bool], func() members.LiveValue[bool] {
		return liveAddOn(b, model.ShieldAdvanced, func(have observed.AddOn) bool { return have.ID != "" }, func(have observed.AddOn, asked bool) bool { return asked == (have.ID != "") })
	})
	if shield.Set && (addOnBuilder{b}).reportIfDisabled(shield.Origin, !b.NoShield, "--enable-shield") {
		alb.AddOns.Shield = &model.Shield{On: shield.Value, Of: shield.Origin}
	}
}

// noWebACL is the value of a web ACL setting that removes the web ACL from the load balancer.
const noWebACL = "none"

func emptyIfNone(s string) string {
	if s == noWebACL {
		return ""
	}
	return s
}

// addOnBuilder builds the associations of a load balancer with AWS WAF and AWS Shield.
type addOnBuilder struct{ *Builder }

// webACL returns the desired web ACL of WAFv2, or nil if no member sets one. If a member sets a name and an ARN, the
// name has precedence.
func (b addOnBuilder) webACL() *model.WebACL {
	named := slices.ContainsFunc(b.Members, func(m *members.Member) bool { return settings.UnsetIfEmpty(m.Set.WAFv2Name).Set })
	won := members.MergeSetting(&b.Translation, b.Members, "web ACL", func(m *members.Member) settings.Opt[webACL] {
		name, arn := settings.UnsetIfEmpty(m.Set.WAFv2Name), settings.UnsetIfEmpty(m.Set.WAFv2ARN)
		switch {
		case name.IsPresent():
			return settings.Opt[webACL]{Value: webACL{Name: emptyIfNone(name.Value)}, Set: name.Set, Fault: name.Fault, Origin: name.Origin}
		case b.LiveLoadBalancer() == nil && named && arn.Set:
			b.Stack.Contested = true // a name has precedence, unless the existing load balancer has the web ACL of the ARN
			return settings.Opt[webACL]{}
		}
		return settings.Opt[webACL]{Value: webACL{ARN: emptyIfNone(arn.Value)}, Set: arn.Set, Fault: arn.Fault, Origin: arn.Origin}
	}, members.Equal[webACL], b.liveWebACL)
	if !won.Set || !b.reportIfDisabled(won.Origin, !b.NoWAFv2, "--enable-wafv2") {
		return nil
	}
	out := model.WebACL(won.Value)
	out.Of = won.Origin
	return &out
}

// webACL is a model.WebACL with a String method for messages about conflicts. If ARN and Name are empty, the load
// balancer must not have a web ACL.
type webACL model.WebACL

// String returns the name or the ARN.
func (w webACL) String() string { return cmp.Or(w.Name, w.ARN, noWebACL) }

// reportIfDisabled reports a setting with origin o if on is false, because then a flag of the controller disables the
// feature. It returns on.
func (b addOnBuilder) reportIfDisabled(o finding.Origin, on bool, flag string) bool {
	if !on {
		ref := b.MemberOf(o).Ref
		b.Found.Add(finding.Finding{
			Object: ref, Field: members.FieldForObject(ref, o), Reason: finding.FeatureDisabled,
			Message: "the setting has no effect because of " + flag + "=false; nothing is changed", Fix: "ask the operator, or remove the setting",
		})
	}
	return on
}

// liveAddOn returns the association of the existing load balancer with an AWS service, for comparison with the values of a
// setting. value converts the association to a value of the setting. is reports whether the association in AWS is the one
// that the value asked requests.
func liveAddOn[T any](b *Builder, of model.AddOn, value func(observed.AddOn) T, is func(have observed.AddOn, asked T) bool) members.LiveValue[T] {
	lb := b.LiveLoadBalancer()
	if lb == nil {
		return members.LiveValue[T]{}
	}
	q := model.AskAddOn{Of: of, ARN: lb.ARN}
	have, asked := b.Live.Facts.AddOns[q.Key()]
	known := b.RequireFact(q, asked) && have.Fault == nil
	return members.LiveValue[T]{Known: known, Value: value(have), Matches: func(v T) bool { return is(have, v) }, Unavailable: have.Fault != nil}
}

// liveWebACL returns the WAFv2 web ACL of the existing load balancer, for comparison with a web ACL by ARN or by name.
func (b addOnBuilder) liveWebACL() members.LiveValue[webACL] {
	is := func(have observed.AddOn, w webACL) bool {
		if w.Name == "" {
			return w.ARN == have.ID
		}
		acl, asked := b.Live.Facts.WebACLs[w.Name]
		if acl.Fault != nil {
			b.CountUnknownLiveValue()
		}
		return b.RequireFact(model.AskWebACL{Name: w.Name}, asked) && acl.Fault == nil && acl.ARN != "" && acl.ARN == have.ID
	}
	return liveAddOn(b.Builder, model.WAFv2, func(have observed.AddOn) webACL { return webACL{ARN: have.ID} }, is)
}
