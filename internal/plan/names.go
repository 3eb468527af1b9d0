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

// Names are what people call the resources of a stack that AWS knows by ARNs and ids.
type Names struct{ replace *strings.Replacer }

// longestRuleName bounds the conditions in the name of a rule.
const longestRuleName = 80

// NamesOf returns the names of what a stack has: of a load balancer its name, of a listener protocol and port, of a
// rule its listener, priority and conditions, of a target group its id in the stack and its name, of a security group
// its name and id.
func NamesOf(have observed.Stack) Names {
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
				byID[r.ARN] = fmt.Sprintf("%s/%d (%s)", listener, r.Priority, clipTo(longestRuleName, ConditionsText(r.Conditions)))
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
	if g := have.Facts.BackendGroup; g != nil {
		groups = append(slices.Clone(groups), *g)
	}
	for _, g := range groups {
		byID[g.ID] = fmt.Sprintf("%s (%s)", g.Name, g.ID)
	}
	// One id may begin with another: the longer one counts.
	ids := slices.SortedFunc(maps.Keys(byID), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	var list []string
	for _, id := range ids {
		if id != "" && byID[id] != "" {
			list = append(list, id, byID[id])
		}
	}
	return Names{strings.NewReplacer(list...)}
}

// Replace returns a text with names in place of ARNs and ids.
func (n Names) Replace(text string) string {
	if n.replace == nil {
		return text
	}
	return n.replace.Replace(text)
}
