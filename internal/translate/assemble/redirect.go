package assemble

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// SSLRedirect returns the HTTPS port to which HTTP listeners redirect, merged from all members. It holds a member that
// sets a port without an HTTPS listener, because the rules of the member must not be served over HTTP without the
// redirect.
func (b *Builder) SSLRedirect() settings.Opt[int32] {
	chosen := map[*members.Member]settings.Opt[int32]{}
	for _, m := range b.Members {
		o := m.Set.SSLRedirect
		switch {
		case !o.Set || slices.ContainsFunc(b.Ports, func(p *members.Port) bool { return p.TLS && p.Number == o.Value }):
		case m.Undetermined:
			// The ports of the member are unknown. If the existing load balancer serves the member and has an HTTPS
			// listener on the port, it already has the redirect.
			if l := b.LiveLoadBalancer().ListenerOnPort(o.Value); l == nil || l.Protocol != "HTTPS" || !b.IsServed(m) {
				o = settings.Opt[int32]{}
			}
		default:
			err := fmt.Errorf("port %d is not an HTTPS listener of the IngressGroup", o.Value)
			m.Blocked = true
			b.Found.Add(finding.Finding{
				Object: m.Ref, Field: members.FieldForObject(m.Ref, o.Origin), Reason: finding.RedirectPortInvalid,
				Message: err.Error() + "; the existing rules of the Ingress stay unchanged", Fix: "add the port to " + b.settingName("listen-ports") + ", or correct " + b.settingName("ssl-redirect"), Blocks: finding.BlocksMember,
			})
			o = settings.Opt[int32]{Fault: err, Origin: o.Origin}
		}
		chosen[m] = o
	}
	return members.MergeSetting(&b.Translation, b.Members, b.settingName("ssl-redirect"), func(m *members.Member) settings.Opt[int32] { return chosen[m] }, members.Equal[int32], b.liveRedirect).Opt
}

// liveRedirect returns the port to which an HTTP listener of the existing load balancer redirects all requests. Known is
// false if no listener does so.
func (b *Builder) liveRedirect() members.LiveValue[int32] {
	lb := b.LiveLoadBalancer()
	if lb == nil {
		return members.LiveValue[int32]{}
	}
	for _, l := range lb.Listeners {
		if l.Protocol != "HTTP" || len(l.Rules) > 0 || len(l.Default) != 1 {
			continue
		}
		to, ok := l.Default[0].(model.Redirect)
		if port, err := strconv.ParseInt(to.Port, 10, 32); ok && err == nil && to.Protocol == "HTTPS" {
			return members.LiveValueOf(int32(port), true, members.Equal[int32])
		}
	}
	return members.LiveValue[int32]{}
}
