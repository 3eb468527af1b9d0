package network

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// SharedDescription is the description of every rule that bindings add to security groups of
// nodes and pods. Rules whose description has it as a label belong to this controller.
const SharedDescription = "elbv2.k8s.aws/targetGroupBinding=shared"

// labels in a description: key=value, the value followed by a comma or the end of the text.
var label = regexp.MustCompile(`([^\s,=]+)=([^\s,=]+)(?:,|$)`)

// OwnedEndpointRule reports whether a rule of a node's or pod's security group was made for
// bindings.
func OwnedEndpointRule(r model.IngressRule) bool {
	for _, m := range label.FindAllStringSubmatch(r.Description, -1) {
		if m[1]+"="+m[2] == SharedDescription {
			return true
		}
	}
	return false
}

// AggregateRules makes the rules of one endpoint security group out of what bindings need. With
// merge, all ports of one protocol and source security group become one range, which keeps a
// security group within its quota of rules; address ranges stay as they are. The answer is sorted,
// without repeats, and every rule has the shared description.
func AggregateRules(asked []model.IngressRule, merge bool) []model.IngressRule {
	out := map[model.IngressRule]bool{}
	type peer struct{ protocol, group string }
	ranges := map[peer]model.IngressRule{}
	for _, r := range asked {
		r = identity(r)
		r.Description = SharedDescription
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

// EndpointDiff returns which rules to add to an endpoint security group and which to remove. Only
// rules that were made for bindings are removed, and only if complete is set: then want is all
// that the bindings of the cluster need.
func EndpointDiff(want, have []model.IngressRule, complete bool) (authorize, revoke []model.IngressRule) {
	authorize, revoke = RuleDiff(want, have)
	if !complete {
		return authorize, nil
	}
	return authorize, slices.DeleteFunc(revoke, func(r model.IngressRule) bool { return !OwnedEndpointRule(r) })
}

// Covers reports whether a rule admits all that another does.
func Covers(r, other model.IngressRule) bool {
	r, other = identity(r), identity(other)
	same := r
	same.From, same.To = other.From, other.To
	return same == other && r.From <= other.From && r.To >= other.To
}

// ENIGroup is a security group of an ENI.
type ENIGroup struct {
	ID   string
	Tags map[string]string
}

// ChooseEndpointGroup picks the security group of an ENI that carries the rules of its endpoints:
// the only one, or the only one that is tagged for the cluster and has the extra tags. The error
// is for the operator who tags security groups.
func ChooseEndpointGroup(cluster, eni string, groups []ENIGroup, extra map[string]string) (string, error) {
	if len(groups) == 1 {
		return groups[0].ID, nil
	}
	key := clusterTagPrefix + "/" + cluster
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
	for _, k := range slices.SortedFunc(maps.Keys(extra), cmp.Compare) {
		tags = append(tags, k+"="+extra[k])
	}
	return "", fmt.Errorf("exactly one security group of network interface %s of cluster %s has to be tagged with %s, and %d are: [%s]",
		eni, cluster, strings.Join(tags, ", "), len(fit), strings.Join(fit, ", "))
}
