package gateway

import (
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Annotations of a Gateway that note which add-ons the controller has switched on, so that it switches them off when
// nothing asks for them any more. An add-on that was never noted is left alone.
const (
	webACLNote   = "gateway.k8s.aws.addon.wafv2"
	shieldNote   = "gateway.k8s.aws.addon.shield"
	capacityNote = "gateway.k8s.aws.addon.provisionedcapacity"
)

func noted(gw *gwv1.Gateway, annotation string) bool {
	on, err := strconv.ParseBool(gw.Annotations[annotation])
	return err == nil && on
}

// capacityUnits is the key of the reservation among the settings.
const capacityUnits = "CapacityUnits"

// addOnSettings are the add-ons that the configuration asks for, and those that are to be switched off.
func (t *translation) addOnSettings() {
	c, set := t.config.LoadBalancer, &t.member.Set
	at := func(field string) finding.Origin { return finding.Origin{Object: t.ref, Field: field} }
	switch units := c.MinimumLoadBalancerCapacity; {
	case units != nil && units.CapacityUnits != 0:
		set.Capacity = settings.NewOpt(map[string]string{capacityUnits: strconv.Itoa(int(units.CapacityUnits))}, at("minimumLoadBalancerCapacity"))
	case noted(t.gw, capacityNote):
		set.Capacity = settings.NewOpt(map[string]string{capacityUnits: "0"}, at("minimumLoadBalancerCapacity"))
	}
	if t.Type == model.Network {
		return
	}
	switch acl := c.WAFv2; {
	case acl != nil && acl.WebACL != "":
		set.WAFv2ARN = settings.NewOpt(acl.WebACL, at("wafV2.webACL"))
	case noted(t.gw, webACLNote):
		set.WAFv2ARN = settings.NewOpt("none", at("wafV2.webACL"))
	}
	switch s := c.ShieldConfiguration; {
	case s != nil && s.Enabled:
		set.Shield = settings.NewOpt(true, at("shieldConfiguration.enabled"))
	case noted(t.gw, shieldNote):
		set.Shield = settings.NewOpt(false, at("shieldConfiguration.enabled"))
	}
}

// addOnNotes returns the annotations that note what was switched on, or off, with a run that was carried out.
func addOnNotes(gw *gwv1.Gateway, o engine.Outcome) []cluster.Patch {
	lb := o.Stack.LoadBalancer
	if lb == nil || gw.DeletionTimestamp != nil || o.Stack.Held.Everything {
		return nil
	}
	var out []cluster.Patch
	note := func(annotation string, asked, on bool) {
		if !asked || noted(gw, annotation) == on || !on && !o.Done {
			return
		}
		ref := cluster.Ref{Kind: cluster.KindGateway, Namespace: gw.Namespace, Name: gw.Name}
		out = append(out, cluster.Annotation{Ref: ref, Key: annotation, Value: strconv.FormatBool(on)})
	}
	note(capacityNote, lb.Capacity != nil, lb.Capacity != nil && *lb.Capacity != 0)
	note(webACLNote, lb.AddOns.WebACL != nil, lb.AddOns.WebACL != nil && lb.AddOns.WebACL.ARN != "")
	note(shieldNote, lb.AddOns.Shield != nil, lb.AddOns.Shield != nil && lb.AddOns.Shield.On)
	return out
}
