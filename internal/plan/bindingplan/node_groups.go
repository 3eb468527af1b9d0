package bindingplan

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// NodeSecurityGroups has the security groups for the rules of nodes. All bindings with the same node selector share one
// NodeSecurityGroups value. If the list of nodes changes, only the security groups of new and changed nodes are read.
type NodeSecurityGroups struct {
	list           *targets.NodeList
	oldestReadTime time.Time // time at which the oldest security group was read
	// byNode has the security group of each node in list; "" if it is unknown.
	byNode       []string
	groups       []string // distinct, ascending
	unclearNodes []unclearNode
}

// unclearNode is a node whose security group cannot be determined.
type unclearNode struct {
	err        error
	candidates []network.ENISecurityGroup // all security groups of the ENI; empty if the ENI of the node is unknown
}

// NewNodeSecurityGroups returns the security groups of a list of nodes. It copies the security groups of unchanged nodes
// from old, an earlier result for the same node selector, which may be nil. The query selects the ENIs of the other nodes.
// AddENIs must be called with the answer.
func NewNodeSecurityGroups(list *targets.NodeList, old *NodeSecurityGroups, now time.Time) (*NodeSecurityGroups, ENIQuery) {
	g := &NodeSecurityGroups{list: list, oldestReadTime: now, byNode: make([]string, list.Len())}
	if old != nil && now.Sub(old.oldestReadTime) < durations.SettleWindow {
		g.oldestReadTime = old.oldestReadTime
		for i, was := range list.UnchangedNodes(old.list) {
			g.byNode[i] = old.byNode[was]
		}
	}
	var q ENIQuery
	for i, group := range g.byNode {
		if group == "" {
			id, _ := list.At(i)
			q.Instances = append(q.Instances, id)
		}
	}
	q.Instances = sortAndDeduplicate(q.Instances)
	return g, q
}

// AddENIs determines the missing security groups from the answer to the query of NewNodeSecurityGroups.
func (g *NodeSecurityGroups) AddENIs(found ENIs, o RuleOptions) {
	last := ""
	for i, group := range g.byNode {
		if group == "" {
			id, n := g.list.At(i)
			need := targets.EndpointDemand{Endpoint: n.Name, Lookups: []targets.ENILookup{{Instance: id}}}
			group, candidates, err := o.securityGroupOf(need, found)
			if err != nil {
				g.unclearNodes = append(g.unclearNodes, unclearNode{err, candidates})
				continue
			}
			g.byNode[i] = group
		}
		if g.byNode[i] != last {
			last = g.byNode[i]
			g.groups = append(g.groups, last)
		}
	}
	g.groups = sortAndDeduplicate(g.groups)
}

// IsCurrent reports whether g has the security groups of this list, all of them are known, and none is outdated. g may be
// nil.
func (g *NodeSecurityGroups) IsCurrent(list *targets.NodeList, now time.Time) bool {
	return g != nil && g.list == list && len(g.unclearNodes) == 0 && now.Sub(g.oldestReadTime) < durations.SettleWindow
}

// RulesOfNodes returns the rules that a binding requests in the security groups of its nodes.
func RulesOfNodes(d targets.RuleDemand, g *NodeSecurityGroups) RequestedRules {
	a := newRequestedRules(d)
	for _, u := range g.unclearNodes {
		a.holdCandidates(u.candidates)
		a.Findings.Add(unknownSecurityGroupFinding(d.Ref, u.err))
	}
	for _, group := range g.groups {
		a.addRules(group, d.NodeRules)
	}
	a.Findings = a.Findings.Sorted()
	return a
}
