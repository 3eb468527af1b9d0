package bindingplan

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// NodeGroups are the security groups that carry the rules of nodes. They are the same for all bindings with the same
// selector. A node that comes costs no look at the others: what it adds is added to what is known.
type NodeGroups struct {
	list  *targets.NodeList
	since time.Time // of the oldest part
	// of is by index of the list; "" where the group is not known.
	of      []string
	groups  []string // distinct, ascending
	unclear []unclearNode
}

type unclearNode struct {
	err        error
	candidates []network.ENIGroup // none if the node has no ENI that is known
}

// NewNodeGroups begins to find the groups of nodes, from those that were found for a former list of the same selector,
// which may be nil. The answer to the query has to be given to Find.
func NewNodeGroups(list *targets.NodeList, old *NodeGroups, now time.Time) (*NodeGroups, ENIQuery) {
	g := &NodeGroups{list: list, since: now, of: make([]string, list.Len())}
	if old != nil && now.Sub(old.since) < durations.Settle {
		g.since = old.since
		for i, was := range list.Unchanged(old.list) {
			g.of[i] = old.of[was]
		}
	}
	var q ENIQuery
	for i, group := range g.of {
		if group == "" {
			id, _ := list.At(i)
			q.Instances = append(q.Instances, id)
		}
	}
	q.Instances = unique(q.Instances)
	return g, q
}

// Find completes the groups by the answer to the query.
func (g *NodeGroups) Find(found ENIs, o RuleOptions) {
	last := ""
	for i, group := range g.of {
		if group == "" {
			id, n := g.list.At(i)
			need := targets.Need{Endpoint: n.Name, Places: []targets.Place{{Instance: id}}}
			group, candidates, err := o.securityGroupOf(need, found)
			if err != nil {
				g.unclear = append(g.unclear, unclearNode{err, candidates})
				continue
			}
			g.of[i] = group
		}
		if g.of[i] != last {
			last = g.of[i]
			g.groups = append(g.groups, last)
		}
	}
	g.groups = unique(g.groups)
}

// Current reports whether these are the groups of a list, all known and young enough.
func (g *NodeGroups) Current(list *targets.NodeList, now time.Time) bool {
	return g != nil && g.list == list && len(g.unclear) == 0 && now.Sub(g.since) < durations.Settle
}

// RulesOfNodes returns what RulesAsked returns for a binding whose endpoints are nodes with these groups.
func RulesOfNodes(d Demand, g *NodeGroups) AskedRules {
	a := askedBy(d)
	a.Complete = a.Complete && len(g.unclear) == 0
	for _, u := range g.unclear {
		a.HoldsAll = a.HoldsAll || len(u.candidates) == 0
		for _, c := range u.candidates {
			a.hold(c.ID)
		}
		a.Findings.Add(unknownGroupFinding(d.Ref, u.err))
	}
	for _, group := range g.groups {
		a.addRules(group, d.NodeRules)
	}
	a.Findings = a.Findings.Sorted()
	return a
}
