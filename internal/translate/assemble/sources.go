package assemble

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// AllClients returns the client ranges of a listener that names none.
func AllClients() []string { return []string{"0.0.0.0/0", "::/0"} }

// Sources returns the rules of a managed security group that admit clients to one port over tcp or udp. IPv6
// ranges are left out where the load balancer has no IPv6 address.
func Sources(protocol string, port int32, cidrs, prefixLists []string, ipv6 bool) []model.IngressRule {
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

// PathMTU returns the rule that lets a client range find out how large its packets may be: ICMP messages that a
// packet is too big. AWS has the type of a message in place of a first port and its code in place of a last one.
func PathMTU(cidr string) model.IngressRule {
	if IsIPv6(cidr) {
		return model.IngressRule{Protocol: "icmpv6", From: 2, To: 0, CIDR: cidr}
	}
	return model.IngressRule{Protocol: "icmp", From: 3, To: 4, CIDR: cidr}
}

// IsIPv6 reports whether an address range is one of IPv6.
func IsIPv6(cidr string) bool { return strings.Contains(cidr, ":") }
