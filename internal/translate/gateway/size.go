package gateway

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// sizeLimiter limits what a Gateway needs: the product of lists in its objects.
type sizeLimiter struct{ *translation }

// limitSize holds the Gateway if its configuration has too many certificates, or more client ranges than the managed security
// group can have rules for the ports of the Gateway. Ports that only ListenerSets define get the rules that are left. Beyond
// that, the clients of an existing port stay unchanged, and a new port admits none, so that a ListenerSet cannot hold the
// Gateway.
func (t sizeLimiter) limitSize() {
	clients, certificates := len(t.set.InboundCIDRs.Value)+len(t.set.PrefixLists.Value), 0
	for _, e := range valueOr(t.config.LoadBalancer.ListenerConfigurations, nil) {
		certificates += len(e.Certificates)
	}
	own := map[int32]bool{}
	for _, l := range t.attached.Listeners {
		if l.IsValid() && l.Parent == t.ref {
			own[l.Spec.Port] = true
		}
	}
	rules := clients * max(len(own), 1)
	hold := func(field, message, fix string) {
		t.member.Blocked = true
		t.Found.Add(finding.Finding{
			Object: t.ref, Field: field, Reason: finding.GatewayTooLarge, Blocks: finding.BlocksMember,
			Message: message + "; what exists in AWS stays unchanged", Fix: fix,
		})
	}
	switch {
	case rules > assemble.MaxSecurityGroupRules:
		hold(t.set.InboundCIDRs.Origin.Field,
			fmt.Sprintf("the client ranges of the Gateway (ports: %d) need %d rules, but a security group can have at most %d", len(own), rules, assemble.MaxSecurityGroupRules), "use fewer ranges, or a prefix list")
		return
	case certificates > assemble.MaxCertificates:
		hold("spec.infrastructure.parametersRef", fmt.Sprintf("the listenerConfigurations of the Gateway have %d certificates, which exceed the limit of %d", certificates, assemble.MaxCertificates), "name fewer certificates")
		return
	}
	counted := own
	for _, l := range t.attached.Listeners {
		if port := l.Spec.Port; l.IsValid() && !counted[port] {
			counted[port] = true
			if rules += clients; rules > assemble.MaxSecurityGroupRules {
				t.HeldClients[port] = true
				t.Found.Add(finding.Finding{
					Object: l.Parent, Field: fmt.Sprintf("spec.listeners[%d].port", l.Index), Reason: finding.GatewayTooLarge, Blocks: finding.BlocksListener,
					Message: fmt.Sprintf("the client ranges of port %d exceed the %d rules that a security group can have; the admitted clients of an existing port stay unchanged, and a new port admits none", port, assemble.MaxSecurityGroupRules),
					Fix:     "use a port of another listener, or another Gateway",
				})
			}
		}
	}
}

// fitsClientLimit reports whether the rules for client ranges in the security groups of targets are within MaxRules for the
// routes of a namespace. If they exceed the limit, the target group is reported, and what forwards to it is held.
func (t sizeLimiter) fitsClientLimit(a target, ranges int) bool {
	if t.ruleCounts[a.route.Namespace]+ranges <= t.opt.MaxRules {
		t.ruleCounts[a.route.Namespace] += ranges
		return true
	}
	t.Found.Add(finding.Finding{
		Object: a.route, Field: a.at.Field, Reason: finding.GatewayTooLarge, Blocks: finding.BlocksRule,
		Message: fmt.Sprintf("the client ranges for the targets of routes of namespace %q exceed the limit of %d rules; an existing listener stays unchanged, and a new listener is not created", a.route.Namespace, t.opt.MaxRules),
		Fix:     "use fewer ranges or backends, or another Gateway",
	})
	return false
}
