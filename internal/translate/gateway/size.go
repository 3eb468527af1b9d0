package gateway

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
)

// limitSize holds the Gateway if its configuration has more certificates, or more client ranges for a port, than AWS
// accepts. Each port repeats the ranges, and each listener repeats the certificates. The limit does not depend on the number
// of ports, because ListenerSets of other namespaces add ports and must not hold the Gateway.
func limitSize(t *translation) {
	hold := func(field, message, fix string) {
		t.member.Blocked = true
		t.Found.Add(finding.Finding{
			Object: t.ref, Field: field, Reason: finding.GatewayTooLarge, Blocks: finding.BlocksMember,
			Message: message + "; what exists in AWS stays unchanged", Fix: fix,
		})
	}
	const field = "spec.infrastructure.parametersRef"
	ipv6 := 0
	for _, c := range t.set.InboundCIDRs.Value {
		if assemble.IsIPv6(c) {
			ipv6++
		}
	}
	// AWS counts rules for IPv4 and IPv6 separately. The ranges have no effect if the configuration names security groups.
	clients := max(len(t.set.InboundCIDRs.Value)-ipv6, ipv6) + len(t.set.PrefixLists.Value)
	certificates := 0
	for _, e := range valueOr(t.config.LoadBalancer.ListenerConfigurations, nil) {
		certificates += len(e.Certificates)
	}
	switch {
	case clients > assemble.MaxSecurityGroupRules && len(t.set.SecurityGroups.Value) == 0:
		hold(field, fmt.Sprintf("the configuration of the Gateway has %d client ranges and prefix lists, but a security group can have at most %d rules", clients, assemble.MaxSecurityGroupRules), "use fewer ranges, or a prefix list")
	case certificates > assemble.MaxCertificates:
		hold(field, fmt.Sprintf("the listenerConfigurations of the Gateway have %d certificates, which exceed the limit of %d", certificates, assemble.MaxCertificates), "name fewer certificates")
	}
}
