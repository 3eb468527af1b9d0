package plan

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

type listenerSpec struct {
	LoadBalancer token             `json:"loadBalancerARN"`
	Port         int32             `json:"port"`
	Protocol     string            `json:"protocol"`
	Default      []actionSpec      `json:"defaultActions"`
	Certificates []certificateSpec `json:"certificates,omitempty"`
	Policy       string            `json:"sslPolicy,omitempty"`
	ALPN         []string          `json:"alpnPolicy,omitempty"`
	MutualAuth   *mutualAuthSpec   `json:"mutualAuthentication,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	Attributes   []listenerSetting `json:"listenerAttributes,omitempty"`
}

type certificateSpec struct {
	ARN token `json:"certificateARN"`
}

type mutualAuthSpec struct {
	Mode         string `json:"mode"`
	TrustStore   string `json:"trustStoreArn,omitempty"`
	IgnoreExpiry *bool  `json:"ignoreClientCertificateExpiry,omitempty"`
	AdvertiseCA  string `json:"advertiseTrustStoreCaNames,omitempty"`
}

// listenerSetting is a setting whose keys begin with capitals; others do not.
type listenerSetting struct {
	Key, Value string
}

type ruleSpec struct {
	Listener   token             `json:"listenerARN"`
	Priority   int32             `json:"priority"`
	Actions    []actionSpec      `json:"actions"`
	Conditions []conditionSpec   `json:"conditions"`
	Transforms []transformSpec   `json:"transforms,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// listener describes a port with its rules.
func (d *describer) listener(l listenerPlan) {
	if !l.make {
		if l.live != nil {
			d.liveListener(l.address().ID, l.lb.id, l.staying())
		}
		return
	}
	id := l.address().ID
	spec := listenerSpec{
		LoadBalancer: loadBalancerToken(l.lb.id), Port: l.desired.Port, Protocol: l.desired.Protocol(),
		Default: d.actions(l.defaults), Tags: d.ruleTags(l.desired.Tags),
	}
	for _, s := range settings(l.desired.Attributes) {
		spec.Attributes = append(spec.Attributes, listenerSetting(s))
	}
	if t := l.desired.TLS; t != nil {
		spec.Policy = t.Policy
		if t.ALPN != "" {
			spec.ALPN = []string{t.ALPN}
		}
		if t.MutualAuth != nil {
			spec.MutualAuth = mutualAuth(l.mutual) // without one no client is checked
		}
		spec.Certificates = d.certificates(l.certs.Default, l.certs.Extra)
	}
	d.put(TypeListener, id, spec)
	for i, r := range l.rules {
		d.rule(l.desired.Port, int32(i+1), r.desired)
	}
}

func (d *describer) rule(port, priority int32, r model.Rule) {
	d.put(TypeRule, naming.RuleID(port, priority), ruleSpec{
		Listener: listenerToken(naming.ListenerID(port)), Priority: priority, Actions: d.actions(r.Actions),
		Conditions: conditionSpecs(r.Conditions), Transforms: transformSpecs(r.Transforms), Tags: d.ruleTags(r.Tags),
	})
}

// liveListener describes a listener that stays as it is.
func (d *describer) liveListener(id, lb string, l *observed.Listener) {
	spec := listenerSpec{
		LoadBalancer: loadBalancerToken(lb), Port: l.Port, Protocol: l.Protocol, Policy: l.Policy,
		Default: d.actions(l.Default), MutualAuth: mutualAuth(l.MutualAuth), Tags: d.ruleTags(userTags(l.Tags)),
	}
	if l.ALPN != "" {
		spec.ALPN = []string{l.ALPN}
	}
	if l.Certificate != "" {
		spec.Certificates = d.certificates(l.Certificate, l.Certificates)
	}
	d.put(TypeListener, id, spec)
	for _, r := range l.Rules {
		d.rule(l.Port, r.Priority, model.Rule{Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Tags: userTags(r.Tags)})
	}
}

// certificates are in the order of the desired state, the default first.
func (d *describer) certificates(first string, more []string) []certificateSpec {
	var out []certificateSpec
	for _, arn := range append([]string{first}, more...) {
		c := certificateSpec{literal(arn)}
		if id := d.issued[arn]; id != "" {
			c.ARN = certificateToken(id)
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// mutualAuth fills in what AWS puts in place of unset fields.
func mutualAuth(m *model.MutualAuth) *mutualAuthSpec {
	if m == nil {
		return nil
	}
	out := &mutualAuthSpec{Mode: m.Mode}
	if m.Mode == verify {
		ignore := m.IgnoreExpiry != nil && *m.IgnoreExpiry
		out.TrustStore, out.IgnoreExpiry, out.AdvertiseCA = m.TrustStore, &ignore, cmp.Or(m.AdvertiseCA, "off")
	}
	return out
}
