package plantest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// setMappings sets the subnets of an NLB as AWS would. It keeps the addresses of existing subnets, and panics if a step
// changes them. If source NAT is on, it assigns missing prefixes. An empty sourceNAT keeps the current setting.
func setMappings(lb *observed.LoadBalancer, to []model.SubnetMapping, sourceNAT string) {
	lb.SourceNAT = cmp.Or(sourceNAT, lb.SourceNAT, "off")
	var out []model.SubnetMapping
	for i, m := range to {
		at := slices.IndexFunc(lb.Mappings, func(h model.SubnetMapping) bool { return h.Subnet == m.Subnet })
		if at >= 0 {
			had := lb.Mappings[at]
			checkAddressUnchanged(m.Subnet, m.Allocation, had.Allocation)
			checkAddressUnchanged(m.Subnet, m.PrivateIPv4, had.PrivateIPv4)
			if had.IPv6 != "" {
				checkAddressUnchanged(m.Subnet, m.IPv6, had.IPv6)
			}
			m.Allocation, m.PrivateIPv4, m.IPv6 = had.Allocation, had.PrivateIPv4, cmp.Or(had.IPv6, m.IPv6)
			if m.SourceNATPrefix == "" {
				m.SourceNATPrefix = had.SourceNATPrefix
			}
		}
		switch {
		case lb.SourceNAT == "off":
			m.SourceNATPrefix = ""
		case m.SourceNATPrefix == "" || m.SourceNATPrefix == "auto_assigned":
			m.SourceNATPrefix = fmt.Sprintf("2001:db8:0:%x:ffff::/80", i)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b model.SubnetMapping) int { return strings.Compare(a.Subnet, b.Subnet) })
	lb.Mappings = out
}

// checkAddressUnchanged panics if a step changes an address, which AWS does not allow.
func checkAddressUnchanged(subnet, want, had string) {
	if want != "" && want != had {
		panic(fmt.Sprintf("simulate: the address %q of %s cannot become %q", had, subnet, want))
	}
}
