package bindingplan

import (
	"errors"
	"maps"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// GroupRule is a rule of a security group.
type GroupRule struct {
	Group string
	Rule  model.IngressRule
}

// RuleSet is a set of rules of security groups.
type RuleSet map[GroupRule]struct{}

// add adds rules of a security group.
func (s RuleSet) add(group string, rules []model.IngressRule) {
	for _, r := range rules {
		s[GroupRule{group, r}] = struct{}{}
	}
}

// IsSubsetOf reports whether another set has all rules.
func (s RuleSet) IsSubsetOf(o RuleSet) bool {
	for r := range s {
		if _, ok := o[r]; !ok {
			return false
		}
	}
	return true
}

// Union returns the rules of both sets.
func (s RuleSet) Union(o RuleSet) RuleSet {
	if o.IsSubsetOf(s) {
		return s
	}
	out := maps.Clone(o)
	maps.Copy(out, s)
	return out
}

// Without returns the rules that another set does not have.
func (s RuleSet) Without(o RuleSet) RuleSet {
	out := RuleSet{}
	for r := range s {
		if _, ok := o[r]; !ok {
			out[r] = struct{}{}
		}
	}
	return out
}

// Groups returns the security groups of the rules.
func (s RuleSet) Groups() map[string]bool {
	out := map[string]bool{}
	for r := range s {
		out[r.Group] = true
	}
	return out
}

// Contribution has the effect of one binding on the rules of security groups. It is immutable.
type Contribution struct {
	// Rules has the rules that must exist.
	Rules RuleSet
	// Retained has the rules that are not removed if they exist.
	Retained RuleSet
	// Held has the security groups in which no rule is removed, because it is unknown which rules the binding needs there.
	Held map[string]bool
	// HoldsAll is set if no rule of any security group is removed, because the security groups of the binding are unknown.
	HoldsAll bool
}

// All returns the rules that must exist and those that are retained.
func (c Contribution) All() RuleSet { return c.Rules.Union(c.Retained) }

// Retaining returns the contribution with the rules of the previous one as retained. These include the rules of endpoints that
// are unknown now.
func (c Contribution) Retaining(was Contribution) Contribution {
	return Contribution{Rules: c.Rules, Retained: was.All().Without(c.Rules), Held: was.Held, HoldsAll: was.HoldsAll}
}

// Inheriting returns the contribution with rules that other bindings do not retain any more.
func (c Contribution) Inheriting(rules RuleSet) Contribution {
	c.Retained = c.Retained.Union(rules).Without(c.Rules)
	return c
}

// Empty reports whether the contribution has no effect.
func (c Contribution) Empty() bool {
	return len(c.Rules)+len(c.Retained)+len(c.Held) == 0 && !c.HoldsAll
}

// hold adds a security group to Held.
func (c *Contribution) hold(group string) {
	if c.Held == nil {
		c.Held = map[string]bool{}
	}
	c.Held[group] = true
}

// RequestedRules has the rules that a binding requests.
type RequestedRules struct {
	Contribution
	Complete bool         // all rules are known
	Faulty   bool         // some rules are unknown until the binding is corrected
	Findings finding.List // why the rules are not complete
	Unseen   finding.List // see RulesResult
}

// newRequestedRules returns requested rules without those of endpoints.
func newRequestedRules(d targets.Demand) RequestedRules {
	a := RequestedRules{Contribution: Contribution{Rules: RuleSet{}, HoldsAll: d.ENIUnknown}, Complete: !d.ENIUnknown && !d.Faulty, Faulty: d.Faulty}
	a.Findings.Add(d.Findings...)
	return a
}

// RulesOfPods returns the rules that a binding requests in the security groups of its pods; see RulesOfNodes for nodes.
func RulesOfPods(d targets.Demand, found ENIs, o RuleOptions) RequestedRules {
	a := newRequestedRules(d)
	var last ruleList
	for _, n := range d.Needs {
		group, candidates, err := o.securityGroupOf(n, found)
		if err != nil {
			a.Complete = false
			a.HoldsAll = a.HoldsAll || len(candidates) == 0
			for _, c := range candidates {
				a.hold(c.ID)
			}
			o.addUnknownSecurityGroup(&a, n, unknownSecurityGroupFinding(d.Ref, err), err)
			continue
		}
		if last.replace(group, n.Rules) {
			a.addRules(group, n.Rules)
		}
	}
	a.Findings, a.Unseen = a.Findings.Sorted(), a.Unseen.Sorted()
	return a
}

// addRules adds the rules of a security group. A faulty binding may need further rules, so that it holds the security group.
func (a *RequestedRules) addRules(group string, rules []model.IngressRule) {
	a.Rules.add(group, rules)
	if a.Faulty {
		a.hold(group)
	}
}

// addUnknownSecurityGroup adds the finding about an endpoint whose security group is unknown. AWS may not show the address of a new or
// terminating pod for some seconds.
func (o RuleOptions) addUnknownSecurityGroup(a *RequestedRules, n targets.Need, f finding.Finding, err error) {
	to := &a.Findings
	if errors.Is(err, errNoENI) && o.Now.Sub(n.ChangedAt) < durations.FollowUpTime {
		to = &a.Unseen
	}
	to.Add(f)
}

// ruleList identifies the list of rules that was added last. The pods of a binding share one list, and most of them a security
// group, so that the same list need not be added again.
type ruleList struct {
	group string
	first *model.IngressRule
	n     int
}

// replace sets the last list, and reports whether it has changed.
func (l *ruleList) replace(group string, rules []model.IngressRule) bool {
	next := ruleList{group: group, n: len(rules)}
	if len(rules) > 0 {
		next.first = &rules[0]
	}
	was := *l
	*l = next
	return was != next
}
