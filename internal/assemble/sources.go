package assemble

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Everybody are the client ranges of a listener that names none.
func Everybody() []string { return []string{"0.0.0.0/0", "::/0"} }

// Sources are the rules of a managed security group that admit clients to one TCP port. IPv6
// ranges are left out where the load balancer has no IPv6 address.
func Sources(port int32, cidrs, prefixLists []string, ipv6 bool) []model.IngressRule {
	var out []model.IngressRule
	for _, c := range cidrs {
		if IsIPv6(c) && !ipv6 {
			continue
		}
		out = append(out, model.IngressRule{Protocol: "tcp", From: port, To: port, CIDR: c})
	}
	for _, l := range prefixLists {
		out = append(out, model.IngressRule{Protocol: "tcp", From: port, To: port, PrefixList: l})
	}
	return out
}

// IsIPv6 says whether an address range is one of IPv6.
func IsIPv6(cidr string) bool { return strings.Contains(cidr, ":") }
