package document

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

type listenerSpec struct {
	LoadBalancer textOrReference   `json:"loadBalancerARN"`
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
	ARN textOrReference `json:"certificateARN"`
}

type mutualAuthSpec struct {
	Mode         string `json:"mode"`
	TrustStore   string `json:"trustStoreArn,omitempty"`
	IgnoreExpiry *bool  `json:"ignoreClientCertificateExpiry,omitempty"`
	AdvertiseCA  string `json:"advertiseTrustStoreCaNames,omitempty"`
}

// listenerSetting is a listener attribute in a document. Its JSON keys begin with an upper case letter, unlike those of
// setting.
type listenerSetting struct {
	Key, Value string
}

type ruleSpec struct {
	Listener   textOrReference   `json:"listenerARN"`
	Priority   int32             `json:"priority"`
	Actions    []actionSpec      `json:"actions"`
	Conditions []conditionSpec   `json:"conditions"`
	Transforms []transformSpec   `json:"transforms,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// describeListener adds a listener with its rules to the document.
func (d *Describer) describeListener(l resolved.Listener) {
	if !l.Planned {
		if l.Live != nil {
			d.describeLiveListener(l.Address().ID, l.LB.ID, l.LiveWithoutForeignRules())
		}
		return
	}
	id := l.Address().ID
	spec := listenerSpec{
		LoadBalancer: loadBalancerARNReference(l.LB.ID), Port: l.Desired.Port, Protocol: l.Desired.Protocol(),
		Default: d.actionSpecs(l.DefaultActions), Tags: d.RuleTags(l.Desired.Tags),
	}
	for _, s := range sortedSettings(l.Desired.Attributes) {
		spec.Attributes = append(spec.Attributes, listenerSetting(s))
	}
	if t := l.Desired.TLS; t != nil {
		spec.Policy = t.Policy
		if t.ALPN != "" {
			spec.ALPN = []string{t.ALPN}
		}
		if t.MutualAuth != nil {
			spec.MutualAuth = mutualAuthOf(l.MutualAuth) // nil: no client certificates are verified
		}
		spec.Certificates = d.certificateSpecs(l.Certs.Default, l.Certs.List)
	}
	d.addResource(TypeListener, id, spec)
	for i, r := range l.Rules {
		d.describeListenerRule(l.Desired.Port, int32(i+1), r.Desired)
	}
}

// describeListenerRule adds a listener rule to the document.
func (d *Describer) describeListenerRule(port, priority int32, r model.Rule) {
	d.addResource(TypeRule, naming.RuleID(port, priority), ruleSpec{
		Listener: listenerARNReference(naming.ListenerID(port)), Priority: priority, Actions: d.actionSpecs(r.Actions),
		Conditions: conditionSpecs(r.Conditions), Transforms: transformSpecs(r.Transforms), Tags: d.RuleTags(r.Tags),
	})
}

// describeLiveListener adds an observed listener that the plan does not change, with its rules, to the document.
func (d *Describer) describeLiveListener(id, lb string, l *observed.Listener) {
	spec := listenerSpec{
		LoadBalancer: loadBalancerARNReference(lb), Port: l.Port, Protocol: l.Protocol, Policy: l.Policy,
		Default: d.actionSpecs(l.Default), MutualAuth: mutualAuthOf(l.MutualAuth), Tags: d.RuleTags(owners.UserTags(l.Tags)),
	}
	if l.ALPN != "" {
		spec.ALPN = []string{l.ALPN}
	}
	if l.Certificate != "" {
		spec.Certificates = d.certificateSpecs(l.Certificate, l.Certificates)
	}
	d.addResource(TypeListener, id, spec)
	for _, r := range l.Rules {
		d.describeListenerRule(l.Port, r.Priority, model.Rule{Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Tags: owners.UserTags(r.Tags)})
	}
}

// certificateSpecs converts the ARNs of certificates to their form in a document, without duplicates. first is the default
// certificate.
func (d *Describer) certificateSpecs(first string, more []string) []certificateSpec {
	var out []certificateSpec
	for _, arn := range append([]string{first}, more...) {
		c := certificateSpec{textWithoutReference(arn)}
		if id := d.IssuedCertificates[arn]; id != "" {
			c.ARN = certificateARNReference(id)
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// mutualAuthOf converts mutual authentication settings to their form in a document, with the AWS defaults for unset fields.
func mutualAuthOf(m *model.MutualAuth) *mutualAuthSpec {
	if m == nil {
		return nil
	}
	out := &mutualAuthSpec{Mode: m.Mode}
	if m.Mode == equal.MutualAuthVerify {
		ignore := m.IgnoreExpiry != nil && *m.IgnoreExpiry
		out.TrustStore, out.IgnoreExpiry, out.AdvertiseCA = m.TrustStore, &ignore, cmp.Or(m.AdvertiseCA, equal.SettingOff)
	}
	return out
}
