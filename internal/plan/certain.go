package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// certain is the wish with what its members could not say clearly as it is live.
func certain(want model.Stack, have observed.Stack) model.Stack {
	live := have.Live(model.LoadBalancerID)
	if want.ALB == nil || live == nil {
		return want
	}
	alb := *want.ALB
	if alb.UnsureScheme || want.Partial.Class {
		alb.Scheme = live.Scheme
	}
	if alb.UnsureAddressType || want.Partial.Class {
		alb.AddressType = live.AddressType
	}
	if want.Partial.Class {
		alb.Subnets, alb.IPAMPool = model.SubnetsDiscovered{}, live.IPAMPool
		alb.Attributes, alb.Capacity, alb.AddOns.WebACL = nil, nil, nil
	}
	if want.Partial.Ports {
		alb.Listeners = slices.Clone(alb.Listeners)
		for i := range alb.Listeners {
			certainListener(&alb.Listeners[i], live, want.Partial)
		}
	}
	want.ALB = &alb
	return want
}

// certainListener lets a live listener have what a member that cannot be read may have said of it.
func certainListener(l *model.Listener, lb *observed.LoadBalancer, open model.Partial) {
	i := slices.IndexFunc(lb.Listeners, func(o observed.Listener) bool { return o.Port == l.Port })
	if i < 0 {
		return
	}
	live := lb.Listeners[i]
	if l.TLS != nil {
		tls := *l.TLS
		if tls.KeepPolicy && live.Policy != "" {
			tls.Policy = live.Policy
		}
		if tls.KeepMutualAuth {
			tls.MutualAuth = live.MutualAuth
		}
		l.TLS = &tls
	}
	if !open.Class {
		return
	}
	l.Attributes = nil
	if l.TLS == nil && redirectsAll(live) {
		// The class may be what sends clients to HTTPS: nobody is served in the clear instead.
		l.Default, l.DefaultOf, l.DefaultHeld, l.Rules = live.Default, finding.Origin{}, false, nil
	}
}

// redirectsAll says whether a live listener does nothing but redirect.
func redirectsAll(l observed.Listener) bool {
	if len(l.Rules) > 0 || len(l.Default) != 1 {
		return false
	}
	_, ok := l.Default[0].(model.Redirect)
	return ok
}
