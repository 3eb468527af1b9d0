package network

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// DiffRules returns the rules to add and the rules to remove in order to change have to want. It ignores descriptions and
// compares address ranges in canonical form. Both results are sorted and without duplicates; revoke has the rules in the
// form in which have contains them.
func DiffRules(want, have []model.IngressRule) (authorize, revoke []model.IngressRule) {
	wanted, existing := rulesByIdentity(want), rulesByIdentity(have)
	for key, r := range wanted {
		if _, ok := existing[key]; !ok {
			authorize = append(authorize, canonicalRule(r))
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

// rulesByIdentity returns the rules by their canonical form without description. If several rules are equal, the result has
// the first.
func rulesByIdentity(rules []model.IngressRule) map[model.IngressRule]model.IngressRule {
	out := make(map[model.IngressRule]model.IngressRule, len(rules))
	for _, r := range rules {
		if _, ok := out[withoutDescription(r)]; !ok {
			out[withoutDescription(r)] = r
		}
	}
	return out
}

// withoutDescription returns a rule in canonical form without its description.
func withoutDescription(r model.IngressRule) model.IngressRule {
	r = canonicalRule(r)
	r.Description = ""
	return r
}

// AuthorizeUpToQuota authorizes rules in the given order until the quota of their security group is reached, and returns the
// number of authorized rules. If not all rules are authorized, it also returns the error of AWS. AWS refuses a call that
// exceeds the quota as a whole. isQuota reports whether an error is a quota error.
func AuthorizeUpToQuota(rules []model.IngressRule, authorize func([]model.IngressRule) error, isQuota func(error) bool) (int, error) {
	err := authorize(rules)
	if err == nil {
		return len(rules), nil
	}
	for len(rules) > 1 && isQuota(err) {
		half := len(rules) / 2
		if err = authorize(rules[:half]); err == nil {
			// The second half as a whole exceeds the quota, but some of its rules may not.
			n, err := AuthorizeUpToQuota(rules[half:], authorize, isQuota)
			return half + n, err
		}
		rules = rules[:half]
	}
	return 0, err
}

// canonicalRule returns a rule with its address range in canonical form and its protocol by name, as AWS returns it.
func canonicalRule(r model.IngressRule) model.IngressRule {
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
	slices.SortFunc(rules, func(a, b model.IngressRule) int { return cmp.Compare(ruleSortKey(a), ruleSortKey(b)) })
}

// ruleSortKey returns the text by which security group rules are sorted. Port numbers compare as text, so that 443 comes
// before 80.
func ruleSortKey(r model.IngressRule) string {
	kind, source := "UserIdGroupPair", r.Group
	switch {
	case strings.Contains(r.CIDR, ":"):
		kind, source = "Ipv6Range", r.CIDR
	case r.CIDR != "":
		kind, source = "IpRange", r.CIDR
	case r.PrefixList != "":
		kind, source = "PrefixListId", r.PrefixList
	}
	return fmt.Sprintf("IpProtocol: %s, FromPort: %d, ToPort: %d, %s: %s", r.Protocol, r.From, r.To, kind, source)
}
