package network

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// RuleDiff returns which rules to add and which to remove to get from have to want. Descriptions
// are ignored, and ranges are compared in canonical form. Both answers are without repeats and in
// the order in which they are sent; the rules of revoke are taken from have as they are.
func RuleDiff(want, have []model.IngressRule) (authorize, revoke []model.IngressRule) {
	wanted, existing := byIdentity(want), byIdentity(have)
	for key, r := range wanted {
		if _, ok := existing[key]; !ok {
			authorize = append(authorize, canonical(r))
		}
	}
	for key, r := range existing {
		if _, ok := wanted[key]; !ok {
			revoke = append(revoke, r)
		}
	}
	sortRules(authorize)
	sortRules(revoke)
	return authorize, revoke
}

func byIdentity(rules []model.IngressRule) map[model.IngressRule]model.IngressRule {
	out := make(map[model.IngressRule]model.IngressRule, len(rules))
	for _, r := range rules {
		if _, ok := out[identity(r)]; !ok {
			out[identity(r)] = r
		}
	}
	return out
}

// identity returns the rule in canonical form without its description.
func identity(r model.IngressRule) model.IngressRule {
	r = canonical(r)
	r.Description = ""
	return r
}

func canonical(r model.IngressRule) model.IngressRule {
	if r.CIDR != "" {
		if c, err := CanonicalCIDR(r.CIDR); err == nil {
			r.CIDR = c
		}
	}
	switch r.Protocol {
	case "6":
		r.Protocol = "tcp"
	case "17":
		r.Protocol = "udp"
	case "1":
		r.Protocol = "icmp"
	case "58":
		r.Protocol = "icmpv6"
	}
	return r
}

func sortRules(rules []model.IngressRule) {
	slices.SortFunc(rules, func(a, b model.IngressRule) int { return cmp.Compare(sortKey(a), sortKey(b)) })
}

// sortKey returns the text by which rules are ordered; numbers compare as text, so 443 is before 80.
func sortKey(r model.IngressRule) string {
	kind, source := "UserIdGroupPair", r.Group
	switch {
	case r.CIDR != "" && isIPv6(r.CIDR):
		kind, source = "Ipv6Range", r.CIDR
	case r.CIDR != "":
		kind, source = "IpRange", r.CIDR
	case r.PrefixList != "":
		kind, source = "PrefixListId", r.PrefixList
	}
	return fmt.Sprintf("IpProtocol: %s, FromPort: %d, ToPort: %d, %s: %s", r.Protocol, r.From, r.To, kind, source)
}

func isIPv6(cidr string) bool {
	for i := range len(cidr) {
		if cidr[i] == ':' {
			return true
		}
	}
	return false
}
