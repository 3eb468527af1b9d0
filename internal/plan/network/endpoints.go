package network

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// SharedRuleDescription is the description of every rule that the controller adds for bindings to the security groups of
// nodes and pods. A rule whose description contains this label belongs to the controller.
const SharedRuleDescription = "elbv2.k8s.aws/targetGroupBinding=shared"

// labelPattern matches a label in a description: key=value, followed by a comma or the end of the text.
var labelPattern = regexp.MustCompile(`([^\s,=]+)=([^\s,=]+)(?:,|$)`)

// IsSharedRule reports whether the description of a rule of a node or pod security group has the label
// SharedRuleDescription, which means that the controller has added the rule for bindings.
func IsSharedRule(r model.IngressRule) bool {
	for _, m := range labelPattern.FindAllStringSubmatch(r.Description, -1) {
		if m[1]+"="+m[2] == SharedRuleDescription {
			return true
		}
	}
	return false
}

// AggregateRules returns the rules of one node or pod security group from the rules that bindings request. If merge is set,
// all ports of one protocol and source security group become one range, so that the security group remains below its quota
// of rules; rules for address ranges are not changed. The result is sorted, without repetition, and each rule has
// SharedRuleDescription.
func AggregateRules(asked []model.IngressRule, merge bool) []model.IngressRule {
	out := map[model.IngressRule]bool{}
	type peer struct{ protocol, group string }
	ranges := map[peer]model.IngressRule{}
	for _, r := range asked {
		r = withoutDescription(r)
		r.Description = SharedRuleDescription
		if !merge || r.CIDR != "" || r.PrefixList != "" {
			out[r] = true
			continue
		}
		if r.From == 0 && r.To == 0 {
			r.To = 65535
		}
		p := peer{r.Protocol, r.Group}
		if have, ok := ranges[p]; ok {
			r.From, r.To = min(have.From, r.From), max(have.To, r.To)
		}
		ranges[p] = r
	}
	for _, r := range ranges {
		out[r] = true
	}
	rules := slices.Collect(maps.Keys(out))
	sortRules(rules)
	return rules
}

// DiffEndpointRules returns the rules to add to a node or pod security group, and the rules to remove from it. It removes
// only rules of the controller, and only if complete is set. complete means that want has all rules that the bindings of the
// cluster request.
func DiffEndpointRules(want, have []model.IngressRule, complete bool) (authorize, revoke []model.IngressRule) {
	authorize, revoke = DiffRules(want, have)
	if !complete {
		return authorize, nil
	}
	return authorize, slices.DeleteFunc(revoke, func(r model.IngressRule) bool { return !IsSharedRule(r) })
}

// RuleCovers reports whether the rule r admits all traffic that the rule other admits.
func RuleCovers(r, other model.IngressRule) bool {
	r, other = withoutDescription(r), withoutDescription(other)
	same := r
	same.From, same.To = other.From, other.To
	return same == other && r.From <= other.From && r.To >= other.To
}

// ENISecurityGroup is a security group of an ENI.
type ENISecurityGroup struct {
	ID   string
	Tags map[string]string
}

// ChooseSecurityGroup returns the security group of an ENI that gets the rules for its endpoints: the only security group of
// the ENI, or the only one that is tagged for the cluster and has the extra tags. The error is for the operator, who tags
// the security groups.
func ChooseSecurityGroup(cluster, eni string, groups []ENISecurityGroup, extra map[string]string) (string, error) {
	if len(groups) == 1 {
		return groups[0].ID, nil
	}
	key := ClusterTagPrefix + cluster
	var fit []string
	for _, g := range groups {
		_, ours := g.Tags[key]
		for k, v := range extra {
			got, ok := g.Tags[k]
			ours = ours && ok && got == v
		}
		if ours {
			fit = append(fit, g.ID)
		}
	}
	if len(fit) == 1 {
		return fit[0], nil
	}
	slices.Sort(fit)
	tags := []string{key}
	for _, k := range slices.Sorted(maps.Keys(extra)) {
		tags = append(tags, k+"="+extra[k])
	}
	return "", fmt.Errorf("exactly one security group of network interface %s of cluster %s must be tagged with %s, but %d are: [%s]",
		eni, cluster, strings.Join(tags, ", "), len(fit), strings.Join(fit, ", "))
}
