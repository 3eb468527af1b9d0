package assemble

import (
	"cmp"
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// networkSettingsBuilder builds the settings that only network load balancers have.
type networkSettingsBuilder struct{ *Builder }

// hasNoSecurityGroups reports whether a network load balancer has no security groups. AWS accepts the first security
// group only when the load balancer is created, and does not remove the last one. So for an existing load balancer, the
// result depends only on its state in AWS. If there are no security groups, hasNoSecurityGroups sets RulesByAddress.
func (b networkSettingsBuilder) hasNoSecurityGroups() bool {
	b.Stack.Contested = true // the result depends on the existing load balancer
	live := b.LiveLoadBalancer()
	off := members.MergeSetting(&b.Translation, b.Members, b.settingName("disable-nlb-sg"), func(m *members.Member) settings.Opt[bool] { return m.Set.NoSecurityGroups }, members.Equal[bool],
		members.LiveField(live, func(lb *observed.LoadBalancer) bool { return len(lb.SecurityGroups) == 0 }))
	switch {
	case live == nil && !off.Value && !b.NoSecurityGroups:
		return false
	case live != nil && len(live.SecurityGroups) > 0:
		if off.Value || b.NoSecurityGroups {
			b.reportCreateOnlySetting(off.Origin, "the load balancer has security groups, and AWS cannot remove all of them; the security groups stay",
				b.fixForSecurityGroups(off.Value)+", or recreate the load balancer")
		}
		return false
	}
	for _, m := range b.Members {
		if given := settings.UnsetIfEmptyList(m.Set.SecurityGroups); given.Set {
			message := "the load balancer has no security groups, and AWS accepts the first ones only when a load balancer is created; the setting has no effect"
			fix := "remove " + b.settingName("security-groups") + ", or "
			if off.Value || b.NoSecurityGroups {
				fix += b.fixForSecurityGroups(off.Value)
				message = "load balancers are created without security groups; the setting has no effect"
				if live != nil {
					message = "the load balancer has no security groups; the setting has no effect"
					fix += " and recreate the load balancer"
				}
			} else {
				fix += "recreate the load balancer"
			}
			b.reportCreateOnlySetting(given.Origin, message, fix)
		}
		b.HoldMember(m, m.Set.ManageBackendRules.Check(), true)
	}
	if b.ID.Kind.IsGateway() { // the setting of Gateways is only for load balancers with security groups
		b.RulesByAddress = true
		return true
	}
	b.RulesByAddress = members.MergeSetting(&b.Translation, b.Members, b.settingName("manage-backend-security-group-rules"), func(m *members.Member) settings.Opt[bool] { return m.Set.ManageBackendRules },
		members.Equal[bool], func() members.LiveValue[bool] { return members.LiveValue[bool]{} }).ValueOr(true)
	return true
}

// fixForSecurityGroups returns the fix of a finding: how users permit security groups on new load balancers. If isSetting is
// true, a setting of the object excludes security groups. Otherwise, a feature gate of the controller excludes them.
func (b networkSettingsBuilder) fixForSecurityGroups(isSetting bool) string {
	if isSetting {
		return "remove " + b.settingName("disable-nlb-sg")
	}
	return "set feature gate NLBSecurityGroup of the controller to true"
}

// reportCreateOnlySetting reports a setting that has no effect because AWS accepts it only when a load balancer is created.
func (b networkSettingsBuilder) reportCreateOnlySetting(o finding.Origin, message, fix string) {
	ref := b.MemberOf(o).Ref
	b.Found.Add(finding.Finding{Object: ref, Field: members.FieldForObject(ref, o), Reason: finding.SettingFixed, Message: message, Fix: fix})
}

// EffectiveScheme returns the desired scheme of lb. If no member sets a scheme, it returns that of the existing load
// balancer.
func (b *Builder) EffectiveScheme(lb *model.LoadBalancer) model.Scheme {
	if live := b.LiveLoadBalancer(); live != nil && lb.IsSchemeUnset() {
		return live.Scheme
	}
	return lb.Scheme
}

// mergeNetworkSettings sets the fields of lb that only network load balancers have, merged from the settings of all
// members.
func (b networkSettingsBuilder) mergeNetworkSettings(lb *model.LoadBalancer) {
	list := func(setting, field string, get func(*members.Member) settings.Opt[[]string], live func(*observed.LoadBalancer) []string, refused string) []string {
		var current *observed.LoadBalancer
		if live != nil {
			current = b.LiveLoadBalancer()
		}
		won := members.MergeSetting(&b.Translation, b.Members, b.settingName(setting), func(m *members.Member) settings.Opt[[]string] { return settings.UnsetIfEmptyList(get(m)) }, members.SameSet, func() members.LiveValue[[]string] {
			if current == nil {
				return members.LiveValue[[]string]{}
			}
			return members.LiveValueOf(live(current), true, members.SameSet)
		})
		setOrigin(lb, field, won.Origin)
		if len(won.Value) > 0 && refused != "" {
			b.reportUnsupportedAddresses(setting, won.Origin, refused)
			return nil
		}
		return won.Value
	}
	missing := func(met bool, requirement string) string {
		if met {
			return ""
		}
		return requirement
	}
	scheme, dual := b.EffectiveScheme(lb), missing(lb.AddressType.HasIPv6(), "address type dualstack")
	lb.Addresses = list("eip-allocations", "addresses", func(m *members.Member) settings.Opt[[]string] { return m.Set.ElasticAddresses },
		func(lb *observed.LoadBalancer) []string { return lb.Addresses }, missing(scheme == model.InternetFacing, "scheme internet-facing"))
	lb.PrivateIPv4 = list("private-ipv4-addresses", "privateIPv4Addresses", func(m *members.Member) settings.Opt[[]string] { return m.Set.PrivateIPv4 }, nil, missing(scheme == model.Internal, "scheme internal"))
	lb.IPv6 = list("ipv6-addresses", "ipv6Addresses", func(m *members.Member) settings.Opt[[]string] { return m.Set.IPv6 }, nil, dual)
	lb.SourceNAT = b.mergeOnOffSetting(lb, "enable-prefix-for-ipv6-source-nat", "sourceNAT", func(m *members.Member) settings.Opt[string] { return m.Set.SourceNAT },
		func(lb *observed.LoadBalancer) string { return lb.SourceNAT })
	// If guests share an existing load balancer, it keeps a setting that its owner does not set.
	if b.Owner == nil || b.LiveLoadBalancer() == nil {
		lb.SourceNAT = cmp.Or(lb.SourceNAT, equal.SettingOff)
	}
	if lb.SourceNAT == "on" && dual != "" {
		b.reportUnsupportedAddresses("enable-prefix-for-ipv6-source-nat", lb.Origins["sourceNAT"], dual)
		lb.SourceNAT = ""
	}
	lb.SourceNATPrefixes = list("source-nat-ipv6-prefixes", "sourceNATPrefixes", func(m *members.Member) settings.Opt[[]string] { return m.Set.SourceNATPrefixes }, nil,
		missing(lb.SourceNAT == "on", b.settingName("enable-prefix-for-ipv6-source-nat")+" on"))
	lb.PrivateLinkRules = b.mergeOnOffSetting(lb, "inbound-sg-rules-on-private-link-traffic", "privateLinkRules", func(m *members.Member) settings.Opt[string] { return m.Set.PrivateLinkRules },
		func(lb *observed.LoadBalancer) string { return lb.PrivateLinkRules })
	if lb.PrivateLinkRules != "" && lb.SecurityGroups == nil {
		b.reportCreateOnlySetting(lb.Origins["privateLinkRules"], "the load balancer has no security groups, so no rules can apply to AWS PrivateLink traffic; the setting has no effect",
			"remove "+b.settingName("inbound-sg-rules-on-private-link-traffic"))
		lb.PrivateLinkRules = ""
	}
}

// mergeOnOffSetting merges a setting that is "on" or "off". It returns "" if no member sets it. live returns the value of the
// existing load balancer.
func (b networkSettingsBuilder) mergeOnOffSetting(lb *model.LoadBalancer, setting, field string, get func(*members.Member) settings.Opt[string], live func(*observed.LoadBalancer) string) string {
	won := members.MergeSetting(&b.Translation, b.Members, b.settingName(setting), get, members.Equal[string], members.LiveField(b.LiveLoadBalancer(), live))
	setOrigin(lb, field, won.Origin)
	return won.Value
}

// reportUnsupportedAddresses reports addresses that the load balancer cannot have because another setting is missing.
// needs names this other setting. If there is no load balancer yet, none is created, because AWS cannot add the
// addresses later.
func (b networkSettingsBuilder) reportUnsupportedAddresses(setting string, o finding.Origin, needs string) {
	what := "the addresses of the existing load balancer stay unchanged"
	if b.LiveLoadBalancer() == nil {
		what = "no load balancer is created"
		b.Stack.Held.Creation = true
	}
	ref := b.MemberOf(o).Ref
	b.Found.Add(finding.Finding{
		Object: ref, Field: members.FieldForObject(ref, o), Reason: finding.AnnotationInvalid, Severity: finding.Error,
		Message: fmt.Sprintf("%s needs %s; %s", b.settingName(setting), needs, what), Fix: "correct one of the two settings, or remove this setting",
	})
}
