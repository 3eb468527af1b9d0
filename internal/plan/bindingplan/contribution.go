package bindingplan

import (
	"errors"
	"maps"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Demand is what one binding asks of the security groups of its endpoints.
type Demand struct {
	Key Key
	Ref finding.Ref
	targets.Demand
}

// GroupRule is a rule of a security group.
type GroupRule struct {
	Group string
	Rule  model.IngressRule
}

// RuleSet is rules of security groups.
type RuleSet map[GroupRule]struct{}

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

// Without returns the rules that another set has not.
func (s RuleSet) Without(o RuleSet) RuleSet {
	out := RuleSet{}
	for r := range s {
		if _, ok := o[r]; !ok {
			out[r] = struct{}{}
		}
	}
	return out
}

// Groups returns the security groups that the rules are in.
func (s RuleSet) Groups() map[string]bool {
	out := map[string]bool{}
	for r := range s {
		out[r.Group] = true
	}
	return out
}

// Contribution is what one binding contributes to the rules of security groups. It is not changed once it is made.
type Contribution struct {
	// Rules are to be there.
	Rules RuleSet
	// Kept are not taken away if they are there.
	Kept RuleSet
	// Held are the security groups of which it is not known which rules the binding needs.
	Held map[string]bool
	// HoldsAll: the binding may need rules of any security group, so that none is removed.
	HoldsAll bool
}

// All returns the rules that are to be there and those that stay.
func (c Contribution) All() RuleSet { return c.Rules.Union(c.Kept) }

// Keeping returns the contribution with the rules that the binding had before. What is not known of its endpoints now
// is among these as far as it was known then.
func (c Contribution) Keeping(was Contribution) Contribution {
	return Contribution{Rules: c.Rules, Kept: was.All().Without(c.Rules), Held: was.Held, HoldsAll: was.HoldsAll}
}

// Inheriting returns the contribution with rules that other bindings give up.
func (c Contribution) Inheriting(rules RuleSet) Contribution {
	c.Kept = c.Kept.Union(rules).Without(c.Rules)
	return c
}

// Empty reports whether nothing depends on the contribution.
func (c Contribution) Empty() bool { return len(c.Rules)+len(c.Kept)+len(c.Held) == 0 && !c.HoldsAll }

func (c *Contribution) hold(group string) {
	if c.Held == nil {
		c.Held = map[string]bool{}
	}
	c.Held[group] = true
}

// AskedRules are the rules that a binding asks for, as far as they are known.
type AskedRules struct {
	Contribution
	Complete bool
	Faulty   bool         // some are not known until the binding is corrected
	Findings finding.List // why it is not complete
	Unseen   finding.List // and what AWS does not show, as in RulesResult
}

func askedBy(d Demand) AskedRules {
	a := AskedRules{Contribution: Contribution{Rules: RuleSet{}, HoldsAll: d.ENIUnknown}, Complete: !d.ENIUnknown && !d.Faulty, Faulty: d.Faulty}
	a.Findings.Add(d.Findings...)
	return a
}

// RulesAsked finds the security groups of the endpoints of one binding that are pods; see RulesOfNodes for nodes.
func RulesAsked(d Demand, found ENIs, o RuleOptions) AskedRules {
	a := askedBy(d)
	var last added
	for _, n := range d.Needs {
		group, candidates, err := o.securityGroupOf(n, found)
		if err != nil {
			a.Complete = false
			a.HoldsAll = a.HoldsAll || len(candidates) == 0
			for _, c := range candidates {
				a.hold(c.ID)
			}
			o.addUnknownGroup(&a, n, unknownGroupFinding(d.Ref, err), err)
			continue
		}
		if last.differs(group, n.Rules) {
			a.addRules(group, n.Rules)
		}
	}
	a.Findings, a.Unseen = a.Findings.Sorted(), a.Unseen.Sorted()
	return a
}

// addRules adds the rules of a security group. A faulty binding may need more, so that it holds the security group.
func (a *AskedRules) addRules(group string, rules []model.IngressRule) {
	a.Rules.add(group, rules)
	if a.Faulty {
		a.hold(group)
	}
}

// addUnknownGroup adds the finding about an endpoint whose security group is not known. The address of a pod that has
// just come, or is about to go, may well be missing for a moment.
func (o RuleOptions) addUnknownGroup(a *AskedRules, n targets.Need, f finding.Finding, err error) {
	to := &a.Findings
	if errors.Is(err, errNoENI) && o.Now.Sub(n.ChangedAt) < durations.FollowUpTime {
		to = &a.Unseen
	}
	to.Add(f)
}

// added is what was added last. The pods of a binding share one list of rules, and most of them a security group.
type added struct {
	group string
	first *model.IngressRule
	n     int
}

// differs notes a list of rules, and reports whether it is another than the last one.
func (l *added) differs(group string, rules []model.IngressRule) bool {
	next := added{group: group, n: len(rules)}
	if len(rules) > 0 {
		next.first = &rules[0]
	}
	was := *l
	*l = next
	return was != next
}
