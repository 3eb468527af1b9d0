package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// certain is the wish with what its members could not say clearly as it is live. What is not live
// is made as those who can be read wish it.
func certain(want model.Stack, have observed.Stack) model.Stack {
	live := have.Live(model.LoadBalancerID)
	if want.ALB == nil {
		return want
	}
	alb := *want.ALB
	want.ALB = &alb
	certainGroups(&want, have, live)
	if alb.Unsure.AddressType {
		certainAddresses(&want, live)
	}
	if want.Front != nil && want.Front.SchemeOpen() {
		front := *want.Front
		front.Scheme = schemeOf(have, model.FrontendNLBID, front.Scheme)
		want.Front = &front
	}
	if live == nil {
		return want
	}
	if alb.Unsure.Scheme {
		alb.Scheme = live.Scheme
	}
	if alb.SchemeOpen() {
		alb.Scheme = schemeOf(have, model.LoadBalancerID, alb.Scheme)
	}
	if alb.Unsure.Subnets {
		alb.Subnets = model.SubnetsDiscovered{} // those that are live
	}
	if alb.Unsure.IPAMPool {
		alb.IPAMPool = live.IPAMPool
	}
	if alb.Unsure.WebACL {
		alb.AddOns.WebACL = nil
	}
	alb.Listeners = slices.Clone(alb.Listeners)
	for i := range alb.Listeners {
		for _, l := range live.Listeners {
			if l.Port == alb.Listeners[i].Port {
				certainListener(&alb.Listeners[i], l)
			}
		}
	}
	return want
}

// schemeOf is the scheme of a live load balancer for which nobody names one. AWS cannot change it, so
// that a default that has changed would cost the load balancer and its name.
func schemeOf(have observed.Stack, resourceID string, byDefault model.Scheme) model.Scheme {
	scheme := byDefault
	for _, lb := range have.LoadBalancers {
		switch {
		case lb.ResourceID != resourceID:
		case lb.Scheme == byDefault:
			return byDefault
		case scheme == byDefault:
			scheme = lb.Scheme
		}
	}
	return scheme
}

// tellScheme reports load balancers that keep a scheme which is not the default.
func (b *builder) tellScheme(wished model.Stack) {
	tell := func(what string, is, byDefault model.Scheme, annotation string) {
		if is == byDefault || len(b.want.Members) == 0 {
			return
		}
		b.found.Add(finding.Finding{
			Object: b.want.Members[0].Ref, Reason: finding.SchemeKept, Severity: finding.Warning,
			Message: fmt.Sprintf("the %s is %s and nobody asks for a scheme; it stays so, since to make it %s, as is the default, another would have to take its place", what, is, byDefault),
			Fix:     "set the annotation " + annotation,
		})
	}
	if wished.ALB != nil && wished.ALB.SchemeOpen() && !wished.ALB.Unsure.Scheme {
		tell("load balancer", b.want.ALB.Scheme, wished.ALB.Scheme, "alb.ingress.kubernetes.io/scheme")
	}
	if wished.Front != nil && wished.Front.SchemeOpen() && !wished.Front.Hold {
		tell("network load balancer in front", b.want.Front.Scheme, wished.Front.Scheme, "alb.ingress.kubernetes.io/frontend-nlb-scheme")
	}
}

// certainAddresses keeps the live address type, and clients by IPv6 only where there is IPv6.
func certainAddresses(want *model.Stack, live *observed.LoadBalancer) {
	if live != nil {
		want.ALB.AddressType = live.AddressType
		if want.Front != nil {
			front := *want.Front
			front.AddressType = live.AddressType
			want.Front = &front
		}
	}
	if groups, ok := want.ALB.SecurityGroups.(model.GroupsManaged); ok && !want.ALB.AddressType.HasIPv6() {
		groups.Group.Ingress = slices.DeleteFunc(slices.Clone(groups.Group.Ingress), func(r model.IngressRule) bool { return strings.Contains(r.CIDR, ":") })
		want.ALB.SecurityGroups = groups
	}
}

func certainListener(w *model.Listener, live observed.Listener) {
	// One whose wished default action is that redirect may only have no rules yet.
	if w.Unsure.Redirect && redirectsAll(live) && !sameActions(w.Default, live.Default, func(model.GroupRef) string { return "" }) {
		w.Default, w.DefaultHeld, w.DefaultOf, w.Rules = live.Default, false, finding.Origin{}, nil
	}
	if w.TLS == nil || live.Protocol != w.Protocol() {
		return
	}
	tls := *w.TLS
	w.TLS = &tls
	if w.Unsure.Policy {
		tls.Policy = live.Policy
	}
	if w.Unsure.MutualAuth {
		tls.MutualAuth = live.MutualAuth
	}
}

// redirectsAll says whether a live listener does nothing but redirect.
func redirectsAll(live observed.Listener) bool {
	if len(live.Rules) > 0 || len(live.Default) != 1 {
		return false
	}
	_, ok := live.Default[0].(model.Redirect)
	return ok
}

// certainGroups settles whether given security groups come with the shared backend group: where
// that cannot be read, a load balancer that carries it goes on to do so.
func certainGroups(want *model.Stack, have observed.Stack, live *observed.LoadBalancer) {
	given, ok := want.ALB.SecurityGroups.(model.GroupsGiven)
	if !ok || !given.UnsureBackend {
		return
	}
	id := want.BackendGroup.Given
	if g := have.Facts.BackendGroup; id == "" && g != nil {
		id = g.ID
	}
	if live != nil && slices.Contains(live.SecurityGroups, id) {
		return
	}
	given.Backend = false
	want.ALB.SecurityGroups = given
	want.BackendGroup.Needed = false
	want.TargetGroups = slices.Clone(want.TargetGroups)
	for i := range want.TargetGroups {
		g := &want.TargetGroups[i]
		if g.Binding != nil {
			closed := *g.Binding
			closed.Networking, closed.Managed = nil, false
			g.Binding = &closed
		}
	}
}
