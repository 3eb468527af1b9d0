package assemble

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// allClientRanges returns the CIDRs of clients that a listener admits by default: all addresses.
func allClientRanges() []string { return []string{"0.0.0.0/0", "::/0"} }

// ClientIngressRules returns the rules of a managed security group that admit clients to one port. protocol is "tcp" or
// "udp". ipv6 reports whether the load balancer has IPv6 addresses. If it has none, IPv6 CIDRs are left out.
func ClientIngressRules(protocol string, port int32, cidrs, prefixLists []string, ipv6 bool) []model.IngressRule {
	var out []model.IngressRule
	for _, c := range cidrs {
		if IsIPv6(c) && !ipv6 {
			continue
		}
		out = append(out, model.IngressRule{Protocol: protocol, From: port, To: port, CIDR: c})
	}
	for _, l := range prefixLists {
		out = append(out, model.IngressRule{Protocol: protocol, From: port, To: port, PrefixList: l})
	}
	return out
}

// PathMTURule returns the rule that admits the ICMP messages of path MTU discovery ("fragmentation needed", "packet too
// big") from a CIDR. AWS stores the ICMP type in From and the ICMP code in To.
func PathMTURule(cidr string) model.IngressRule {
	if IsIPv6(cidr) {
		return model.IngressRule{Protocol: "icmpv6", From: 2, To: 0, CIDR: cidr}
	}
	return model.IngressRule{Protocol: "icmp", From: 3, To: 4, CIDR: cidr}
}

// IsIPv6 reports whether a CIDR is an IPv6 CIDR.
func IsIPv6(cidr string) bool { return strings.Contains(cidr, ":") }
