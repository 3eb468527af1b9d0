package handover

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// withLiveSettings returns a copy of the stack s in which settings that its objects do not set have the values of its load
// balancer in AWS. The stack retains these values, and a Gateway with other values would change them. want is the stack of
// the Gateway.
func withLiveSettings(s, want model.Stack, have observed.Stack) model.Stack {
	live := have.LiveLoadBalancer(model.LoadBalancerID)
	if s.LoadBalancer == nil || live == nil {
		return s
	}
	s = withTrustStoreARNs(s, have)
	lb := *s.LoadBalancer
	s.LoadBalancer = &lb
	if lb.PrivateLinkRules == "" && len(live.SecurityGroups) > 0 {
		lb.PrivateLinkRules = cmp.Or(live.PrivateLinkRules, "on") // the default of AWS
	}
	if lb.IsSchemeUnset() {
		lb.Scheme = cmp.Or(live.Scheme, lb.Scheme)
	}
	lb.Attributes = withLiveAttributes(lb.Attributes, live.Attributes)
	if want.LoadBalancer != nil {
		if lb.Capacity == nil && want.LoadBalancer.Capacity != nil {
			lb.Capacity = live.Capacity
		}
		lb.AddOns = withLiveAddOns(lb.AddOns, want.LoadBalancer.AddOns, live.ARN, have.Facts)
	}
	lb.Listeners = slices.Clone(lb.Listeners)
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		on := live.ListenerOnPort(l.Port)
		if on == nil {
			continue
		}
		l.Attributes = withLiveAttributes(l.Attributes, on.Attributes)
		if l.TLS == nil {
			continue
		}
		tls := *l.TLS
		l.TLS = &tls
		tls.ALPN = cmp.Or(tls.ALPN, on.ALPN)
		if tls.MutualAuth == nil {
			tls.MutualAuth = on.MutualAuth
		}
	}
	return s
}

// withLiveAttributes returns the desired attributes of a resource, and its other attributes in AWS.
func withLiveAttributes(desired, live map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, live)
	maps.Copy(out, desired)
	return out
}

// withLiveAddOns returns the add-ons of a stack. Add-ons that the Gateway sets but the stack does not set have their values
// in AWS. desired has the add-ons of the Gateway. An add-on stays nil if its value in AWS is not known. arn is the ARN of
// the load balancer.
func withLiveAddOns(a, desired model.AddOns, arn string, facts observed.Facts) model.AddOns {
	live := func(of model.AddOn) (observed.AddOn, bool) {
		have, asked := facts.AddOns[model.AskAddOn{Of: of, ARN: arn}.Key()]
		return have, asked && have.Fault == nil
	}
	if acl, known := live(model.WAFv2); known && desired.WebACL != nil {
		switch {
		case a.WebACL == nil:
			a.WebACL = &model.WebACL{ARN: acl.ID}
		case a.WebACL.Name != "" && desired.WebACL.Name == "":
			if to := arnOf(a.WebACL.Name, "", acl.ID); to == acl.ID {
				a.WebACL = &model.WebACL{ARN: to}
			}
		}
	}
	if acl, known := live(model.WAFClassic); known && a.ClassicACL == nil && desired.ClassicACL != nil {
		a.ClassicACL = &model.ClassicACL{ID: acl.ID}
	}
	if p, known := live(model.ShieldAdvanced); known && a.Shield == nil && desired.Shield != nil {
		// A Gateway that switches Shield Advanced off does not delete a protection that another program has created.
		removable := p.Name == plan.ProtectionName || p.Name == plan.LegacyProtectionName
		a.Shield = &model.Shield{On: p.ID != "" && (desired.Shield.On || removable)}
	}
	return a
}

// withTrustStoreARNs returns a copy of a stack in which trust stores that are given by name have their ARN, because the other
// stack and AWS may have the ARN of the same trust store. A name stays if its ARN is not known.
func withTrustStoreARNs(s model.Stack, have observed.Stack) model.Stack {
	if s.LoadBalancer == nil {
		return s
	}
	lb := *s.LoadBalancer
	lb.Listeners = slices.Clone(lb.Listeners)
	s.LoadBalancer = &lb
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		if l.TLS == nil || !l.TLS.MutualAuth.HasTrustStoreName() {
			continue
		}
		tls, m := *l.TLS, *l.TLS.MutualAuth
		l.TLS, tls.MutualAuth = &tls, &m
		var live string
		if on := have.LiveLoadBalancer(model.LoadBalancerID).ListenerOnPort(l.Port); on != nil && on.MutualAuth != nil {
			live = on.MutualAuth.TrustStore
		}
		m.TrustStore = arnOf(m.TrustStore, have.Facts.TrustStores[m.TrustStore], live)
	}
	return s
}

// arnOf returns the ARN of the resource with the given name. found is the ARN that a search for the name has found; "" if
// there was no search, as for the stack that is not planned. live is the ARN of the resource that is used in AWS, which is
// the result if it contains the name. If no ARN is known, the result is the name.
func arnOf(name, found, live string) string {
	if found != "" {
		return found
	}
	if parts := strings.Split(live, "/"); len(parts) > 2 && parts[len(parts)-2] == name {
		return live
	}
	return name
}
