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

// Annotations that the controller sets on a Gateway after it has enabled an add-on. If the configuration no longer has the
// add-on, the controller disables it only if the Gateway has the annotation. So add-ons that a user or another controller
// has enabled are not changed.
const (
	webACLAnnotation   = "gateway.k8s.aws.addon.wafv2"
	shieldAnnotation   = "gateway.k8s.aws.addon.shield"
	capacityAnnotation = "gateway.k8s.aws.addon.provisionedcapacity"
)

// isAddOnRecorded reports whether an annotation of a Gateway records that the controller has enabled an add-on.
func isAddOnRecorded(gw *gwv1.Gateway, annotation string) bool {
	on, err := strconv.ParseBool(gw.Annotations[annotation])
	return err == nil && on
}

// setAddOns copies the add-ons in the configuration to the settings of the Gateway. An add-on that the controller enabled
// earlier, and that the configuration no longer has, gets the value that disables it.
func (t *translation) setAddOns() {
	c, set := t.config.LoadBalancer, &t.member.Set
	at := func(field string) finding.Origin { return finding.Origin{Object: t.ref, Field: field} }
	switch units := c.MinimumLoadBalancerCapacity; {
	case units != nil && units.CapacityUnits != 0:
		set.Capacity = settings.NewOpt(map[string]string{settings.CapacityUnits: strconv.Itoa(int(units.CapacityUnits))}, at("minimumLoadBalancerCapacity"))
	case isAddOnRecorded(t.gw, capacityAnnotation):
		set.Capacity = settings.NewOpt(map[string]string{settings.CapacityUnits: "0"}, at("minimumLoadBalancerCapacity"))
	}
	if t.Type == model.Network {
		return
	}
	switch acl := c.WAFv2; {
	case acl != nil && acl.WebACL != "":
		set.WAFv2ARN = settings.NewOpt(acl.WebACL, at("wafV2.webACL"))
	case isAddOnRecorded(t.gw, webACLAnnotation):
		set.WAFv2ARN = settings.NewOpt("none", at("wafV2.webACL"))
	}
	switch s := c.ShieldConfiguration; {
	case s != nil && s.Enabled:
		set.Shield = settings.NewOpt(true, at("shieldConfiguration.enabled"))
	case isAddOnRecorded(t.gw, shieldAnnotation):
		set.Shield = settings.NewOpt(false, at("shieldConfiguration.enabled"))
	}
}

// addOnPatches returns patches that record in annotations of the Gateway which add-ons the run with outcome o has enabled or
// disabled. A disabled add-on is recorded only after a run that made all changes. Until then, the annotation is not changed,
// so that later runs disable the add-on.
func addOnPatches(gw *gwv1.Gateway, o engine.Outcome) []cluster.Patch {
	lb := o.Stack.LoadBalancer
	if lb == nil || gw.DeletionTimestamp != nil || o.Stack.Held.AllResources {
		return nil
	}
	var out []cluster.Patch
	add := func(annotation string, isSet, on bool) {
		if !isSet || isAddOnRecorded(gw, annotation) == on || !on && !o.Done {
			return
		}
		ref := cluster.Ref{Kind: cluster.KindGateway, Namespace: gw.Namespace, Name: gw.Name}
		out = append(out, cluster.Annotation{Ref: ref, Key: annotation, Value: strconv.FormatBool(on)})
	}
	add(capacityAnnotation, lb.Capacity != nil, lb.Capacity != nil && *lb.Capacity != 0)
	add(webACLAnnotation, lb.AddOns.WebACL != nil, lb.AddOns.WebACL != nil && lb.AddOns.WebACL.ARN != "")
	add(shieldAnnotation, lb.AddOns.Shield != nil, lb.AddOns.Shield != nil && lb.AddOns.Shield.On)
	return out
}
