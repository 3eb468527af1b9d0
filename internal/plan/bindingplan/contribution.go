package bindingplan

import (
	"errors"
	"maps"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// SecurityGroupRule is an inbound rule together with the id of its security group.
type SecurityGroupRule struct {
	Group string
	Rule  model.IngressRule
}

// RuleSet is a set of inbound rules of security groups.
type RuleSet map[SecurityGroupRule]struct{}

// add adds rules of a security group to the set.
func (s RuleSet) add(group string, rules []model.IngressRule) {
	for _, r := range rules {
		s[SecurityGroupRule{group, r}] = struct{}{}
	}
}

// IsSubsetOf reports whether the set o has all rules of s.
func (s RuleSet) IsSubsetOf(o RuleSet) bool {
	for r := range s {
		if _, ok := o[r]; !ok {
			return false
		}
	}
	return true
}

// Union returns a set with the rules of both sets. The result may be one of these sets, so that it must not be changed.
func (s RuleSet) Union(o RuleSet) RuleSet {
	if o.IsSubsetOf(s) {
		return s
	}
	out := maps.Clone(o)
	maps.Copy(out, s)
	return out
}

// Without returns the rules of s that the set o does not have.
func (s RuleSet) Without(o RuleSet) RuleSet {
	out := RuleSet{}
	for r := range s {
		if _, ok := o[r]; !ok {
			out[r] = struct{}{}
		}
	}
	return out
}

// SecurityGroups returns the ids of the security groups that have rules in the set.
func (s RuleSet) SecurityGroups() map[string]bool {
	out := map[string]bool{}
	for r := range s {
		out[r.Group] = true
	}
	return out
}

// Contribution has the effect of one binding on the rules of security groups. It must not be changed after it was made.
type Contribution struct {
	// Rules has the rules that must exist.
	Rules RuleSet
	// RetainedRules has the rules that are not removed if they exist.
	RetainedRules RuleSet
	// HeldSecurityGroups has the ids of security groups in which no rule is removed, because it is unknown which rules the
	// binding needs there.
	HeldSecurityGroups map[string]bool
	// HoldsAll is set if no rule of any security group is removed, because the security groups of the binding are unknown.
	HoldsAll bool
}

// AllRules returns the rules that must exist and the rules that are retained.
func (c Contribution) AllRules() RuleSet { return c.Rules.Union(c.RetainedRules) }

// WithPreviousRetained returns a contribution that also retains the rules of the previous contribution, and that holds the
// same security groups as the previous contribution. The previous rules include those of endpoints that cannot be determined
// now.
func (c Contribution) WithPreviousRetained(was Contribution) Contribution {
	return Contribution{Rules: c.Rules, RetainedRules: was.AllRules().Without(c.Rules), HeldSecurityGroups: was.HeldSecurityGroups, HoldsAll: was.HoldsAll}
}

// WithInheritedRules returns a contribution that also retains the given rules, which other bindings do not retain any more.
func (c Contribution) WithInheritedRules(rules RuleSet) Contribution {
	c.RetainedRules = c.RetainedRules.Union(rules).Without(c.Rules)
	return c
}

// Empty reports whether the contribution has no effect.
func (c Contribution) Empty() bool {
	return len(c.Rules)+len(c.RetainedRules)+len(c.HeldSecurityGroups) == 0 && !c.HoldsAll
}

// holdSecurityGroup adds a security group to HeldSecurityGroups.
func (c *Contribution) holdSecurityGroup(group string) {
	if c.HeldSecurityGroups == nil {
		c.HeldSecurityGroups = map[string]bool{}
	}
	c.HeldSecurityGroups[group] = true
}

// RequestedRules has the rules that a binding requests, and the findings about rules that are unknown.
type RequestedRules struct {
	Contribution
	Complete           bool         // set if all rules are known
	Faulty             bool         // set if some rules are unknown until a user corrects the binding
	Findings           finding.List // why some rules are unknown
	PendingENIFindings finding.List // see RulesResult
}

// newRequestedRules returns the RequestedRules of a binding before the rules of its endpoints are added.
func newRequestedRules(d targets.RuleDemand) RequestedRules {
	a := RequestedRules{Contribution: Contribution{Rules: RuleSet{}, HoldsAll: d.ENIUnknown}, Complete: !d.ENIUnknown && !d.Faulty, Faulty: d.Faulty}
	a.Findings.Add(d.Findings...)
	return a
}

// RulesOfPods returns the rules that a binding requests in the security groups of its pods; see RulesOfNodes for nodes.
func RulesOfPods(d targets.RuleDemand, found ENIs, o RuleOptions) RequestedRules {
	a := newRequestedRules(d)
	var last ruleList
	for _, n := range d.PodDemands {
		group, candidates, err := o.securityGroupOf(n, found)
		if err != nil {
			a.holdCandidates(candidates)
			o.addUnknownSecurityGroup(&a, n, unknownSecurityGroupFinding(d.Ref, err), err)
			continue
		}
		if last.replace(group, n.Rules) {
			a.addRules(group, n.Rules)
		}
	}
	a.Findings, a.PendingENIFindings = a.Findings.Sorted(), a.PendingENIFindings.Sorted()
	return a
}

// addRules adds the rules of a security group. A faulty binding may need more rules, which are unknown. Therefore no rule of
// the security group is removed.
func (a *RequestedRules) addRules(group string, rules []model.IngressRule) {
	a.Rules.add(group, rules)
	if a.Faulty {
		a.holdSecurityGroup(group)
	}
}

// holdCandidates records that the security group of an endpoint is one of the candidates, or any security group if there are
// no candidates. No rule of these security groups is removed.
func (a *RequestedRules) holdCandidates(candidates []network.ENISecurityGroup) {
	a.Complete = false
	a.HoldsAll = a.HoldsAll || len(candidates) == 0
	for _, c := range candidates {
		a.holdSecurityGroup(c.ID)
	}
}

// addUnknownSecurityGroup adds the finding f about an endpoint whose security group is unknown. If AWS has no ENI for an
// endpoint that changed recently, the finding is only pending, because AWS may not return the address of a new or
// terminating pod for some seconds.
func (o RuleOptions) addUnknownSecurityGroup(a *RequestedRules, n targets.EndpointDemand, f finding.Finding, err error) {
	to := &a.Findings
	if errors.Is(err, errNoENI) && o.Now.Sub(n.ChangedAt) < durations.FollowUpTime {
		to = &a.PendingENIFindings
	}
	to.Add(f)
}

// ruleList identifies the list of rules that was added last, and its security group. The pods of a binding share one list of
// rules, and most of them share a security group. It need not be added again for each pod.
type ruleList struct {
	group string
	first *model.IngressRule
	n     int
}

// replace records the list that is added now, and reports whether it differs from the list that was added last.
func (l *ruleList) replace(group string, rules []model.IngressRule) bool {
	next := ruleList{group: group, n: len(rules)}
	if len(rules) > 0 {
		next.first = &rules[0]
	}
	was := *l
	*l = next
	return was != next
}
