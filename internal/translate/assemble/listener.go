package assemble

import (
	"reflect"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// ListenerAttributes merges the listener attributes for a port from its members and their classes. It also returns the
// origins of the attributes.
func (b *Builder) ListenerAttributes(p *members.Port) (map[string]string, []finding.Origin) {
	key := p.ListenPort().Key()
	of := func(c settings.Class) map[string]string { return c.ListenerAttributes[key] }
	get := func(m *members.Member) settings.Opt[map[string]string] { return m.Set.ListenerAttributes[key] }
	out := members.MergeMapSetting(&b.Translation, p.Members, b.settingName("listener-attributes")+"."+key, get, of, func() map[string]string { return b.LiveListenerAttributes(p.Number) }, equal.SameAttribute)
	classSettingReporter{b}.reportIgnoredSetting(p.Members, "spec.listeners", of, out, func() map[string]string { return b.LiveListenerAttributes(p.Number) })
	return out, members.OriginsOfKeys(p.Members, get, of)
}

// TLS returns the settings of the TLS listener on a port, merged from the members of the port.
func (b *Builder) TLS(p *members.Port) *model.TLS {
	policy := members.MergePortSetting(&b.Translation, p, b.settingName("ssl-policy"), func(m *members.Member) settings.Opt[string] { return settings.UnsetIfEmpty(m.Set.SSLPolicy) }, members.Equal[string], func() members.LiveValue[string] {
		if live := b.LiveLoadBalancer().ListenerOnPort(p.Number); live != nil && live.Protocol == "HTTPS" {
			return members.LiveValueOf(live.Policy, true, members.Equal[string])
		}
		return members.LiveValue[string]{}
	})
	out := &model.TLS{Policy: policy.ValueOr(b.DefaultSSLPolicy)}
	auth := func(m *members.Member) settings.Opt[mutualAuth] {
		o := m.Set.MutualAuth
		if a, ok := o.Value[p.Number]; ok {
			return settings.NewOpt(mutualAuth(a), o.Origin)
		}
		return settings.Opt[mutualAuth]{Fault: o.Fault, Origin: o.Origin}
	}
	mutual := members.MergePortSetting(&b.Translation, p, b.settingName("mutual-authentication"), auth, func(a, b mutualAuth) bool { return reflect.DeepEqual(a, b) }, func() members.LiveValue[mutualAuth] { return b.liveMutualAuth(p.Number) })
	if mutual.Set {
		out.MutualAuth = new(model.MutualAuth(mutual.Value))
		out.MutualAuth.Of = mutual.Origin
		for _, m := range p.Members {
			if auth(m).IsPresent() {
				out.MutualAuth.Members = append(out.MutualAuth.Members, m.Ref)
			}
		}
	}
	order := p.Members
	if b.Isolated {
		// The first certificate is the default certificate. A new member with a lower group.order must not replace it.
		order = slices.SortedFunc(slices.Values(order), members.CompareAge)
	}
	for _, m := range order {
		out.Certificates = append(out.Certificates, certificates(m, p.Number)...)
	}
	return out
}

// mutualAuth is a model.MutualAuth with a String method for messages about conflicts.
type mutualAuth model.MutualAuth

// String returns the mode and the trust store.
func (m mutualAuth) String() string { return strings.TrimSpace(m.Mode + " " + m.TrustStore) }

// liveMutualAuth returns the mutual authentication of the existing HTTPS listener on a port.
func (b *Builder) liveMutualAuth(port int32) members.LiveValue[mutualAuth] {
	l := b.LiveLoadBalancer().ListenerOnPort(port)
	if l == nil || l.Protocol != "HTTPS" {
		return members.LiveValue[mutualAuth]{}
	}
	var have mutualAuth
	if l.MutualAuth != nil {
		have = mutualAuth(*l.MutualAuth)
	}
	is := func(w mutualAuth) bool {
		m := model.MutualAuth(w)
		if m.HasTrustStoreName() {
			arn, asked := b.Live.Facts.TrustStores[m.TrustStore]
			if !b.RequireFact(model.AskTrustStores{Names: []string{m.TrustStore}}, asked) {
				return false
			}
			m.TrustStore = arn
		}
		return equal.SameMutualAuth(&m, l.MutualAuth)
	}
	return members.LiveValue[mutualAuth]{Known: true, Matches: is, Value: have}
}

// SameResponse reports whether an observed action equals a desired redirect or fixed response.
func SameResponse(want, have model.Action) bool {
	return equal.SameActions([]model.Action{want}, []model.Action{have}, nil)
}
