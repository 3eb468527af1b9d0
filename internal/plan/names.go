package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ResourceNames replaces AWS ARNs and ids in texts by human-readable names. The zero value replaces nothing.
type ResourceNames struct{ replacer *strings.Replacer }

// maxRuleNameLength is the maximum length, in characters, of the conditions that are part of the name of a rule.
const maxRuleNameLength = 80

// ResourceNamesOf returns names for the observed resources. The name of a listener has its protocol and port; the name of a
// rule has protocol, port, priority and conditions. A target group is shown with resource id and name, a security group with
// name and id. An endpoint group is shown with its listener and region, and load balancers and accelerators with their
// names.
func ResourceNamesOf(have observed.Stack) ResourceNames {
	byID := map[string]string{}
	for _, lb := range have.LoadBalancers {
		byID[lb.ARN] = lb.Name
		of := ""
		if len(have.LoadBalancers) > 1 {
			of = lb.Name + "/"
		}
		for _, l := range lb.Listeners {
			listener := fmt.Sprintf("%s%s:%d", of, l.Protocol, l.Port)
			byID[l.ARN] = listener
			for _, r := range l.Rules {
				byID[r.ARN] = fmt.Sprintf("%s/%d (%s)", listener, r.Priority, clipToLength(maxRuleNameLength, ConditionsText(r.Conditions)))
			}
		}
	}
	for _, g := range have.TargetGroups {
		byID[g.ARN] = fmt.Sprintf("%s (%s)", cmp.Or(g.ResourceID, "unknown"), g.Name)
	}
	for _, a := range have.Accelerators {
		byID[a.ARN] = a.Name
		for _, l := range a.Listeners {
			listener := fmt.Sprintf("%s:%s", l.Protocol, model.PortRangesText(l.Ports))
			byID[l.ARN] = listener
			for _, g := range l.Groups {
				byID[g.ARN] = listener + "/" + g.Region
			}
		}
	}
	groups := have.SecurityGroups
	if g := have.Facts.BackendSecurityGroup; g != nil {
		groups = append(slices.Clone(groups), *g)
	}
	for _, g := range groups {
		byID[g.ID] = fmt.Sprintf("%s (%s)", g.Name, g.ID)
	}
	// An id may be a prefix of another id. Longer ids are replaced first, so that a shorter id does not replace a part of
	// them.
	ids := slices.SortedFunc(maps.Keys(byID), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var list []string
	for _, id := range ids {
		if id != "" && byID[id] != "" {
			list = append(list, id, byID[id])
		}
	}
	return ResourceNames{strings.NewReplacer(list...)}
}

// Replace returns the text with names in place of the ARNs and ids of observed resources.
func (n ResourceNames) Replace(text string) string {
	if n.replacer == nil {
		return text
	}
	return n.replacer.Replace(text)
}
