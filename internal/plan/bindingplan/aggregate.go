package bindingplan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// EndpointSecurityGroup is a security group of nodes or pods, with its current inbound rules.
type EndpointSecurityGroup struct {
	ID      string
	Ingress []model.IngressRule
}

// RuleAggregate has the contributions of all bindings to the inbound rules of security groups. The cost of changing a
// contribution does not depend on the number of other contributions. A RuleAggregate is not safe for concurrent use.
type RuleAggregate struct {
	contributions                 map[Key]Contribution
	requestedRules, retainedRules ruleCounts
	holderCounts                  map[string]int // number of bindings with the security group in HeldSecurityGroups
	holdingAllCount               int            // number of bindings with HoldsAll set
}

// ruleCounts has the number of bindings that contribute a rule, by security group and rule.
type ruleCounts map[string]map[model.IngressRule]int

// NewRuleAggregate returns an aggregate without contributions.
func NewRuleAggregate() *RuleAggregate {
	return &RuleAggregate{contributions: map[Key]Contribution{}, requestedRules: ruleCounts{}, retainedRules: ruleCounts{}, holderCounts: map[string]int{}}
}

// AffectedSecurityGroups has the security groups whose rules may change because of a contribution.
type AffectedSecurityGroups struct {
	Groups map[string]bool
	All    bool // the rules of every security group may change
}

// Get returns the contribution of a binding; false if it has none.
func (a *RuleAggregate) Get(key Key) (Contribution, bool) {
	c, ok := a.contributions[key]
	return c, ok
}

// Set replaces the contribution of a binding, and returns the security groups whose rules may change.
func (a *RuleAggregate) Set(key Key, c Contribution) AffectedSecurityGroups {
	was := a.contributions[key]
	a.contributions[key] = c
	out := AffectedSecurityGroups{Groups: map[string]bool{}}
	a.requestedRules.replace(was.Rules, c.Rules, out)
	a.retainedRules.replace(was.RetainedRules, c.RetainedRules, out)
	for g := range c.HeldSecurityGroups {
		a.holderCounts[g]++
	}
	for g := range was.HeldSecurityGroups {
		if a.holderCounts[g]--; a.holderCounts[g] == 0 {
			delete(a.holderCounts, g)
			out.Groups[g] = true
		}
	}
	if c.HoldsAll {
		a.holdingAllCount++
	}
	if was.HoldsAll {
		a.holdingAllCount--
		out.All = a.holdingAllCount == 0
	}
	return out
}

// Drop removes the contribution of a binding, and returns the security groups whose rules may change.
func (a *RuleAggregate) Drop(key Key) AffectedSecurityGroups {
	out := a.Set(key, Contribution{})
	delete(a.contributions, key)
	return out
}

// replace subtracts the rules of the previous contribution of a binding from the counts, and adds the rules of the new
// contribution. It adds to out the security groups whose rules may change.
func (n ruleCounts) replace(was, rules RuleSet, out AffectedSecurityGroups) {
	for r := range rules {
		if _, had := was[r]; !had {
			n.addToCount(r, 1, out)
		}
	}
	for r := range was {
		if _, has := rules[r]; !has {
			n.addToCount(r, -1, out)
		}
	}
}

// addToCount changes the number of bindings that contribute the rule r by the value of by. If this number was or becomes 0,
// it adds the security group to out.
func (n ruleCounts) addToCount(r SecurityGroupRule, by int, out AffectedSecurityGroups) {
	rules := n[r.Group]
	if rules == nil {
		rules = map[model.IngressRule]int{}
		n[r.Group] = rules
	}
	was := rules[r.Rule]
	rules[r.Rule] += by
	if was == 0 || rules[r.Rule] == 0 {
		out.Groups[r.Group] = true
	}
	if rules[r.Rule] == 0 {
		delete(rules, r.Rule)
	}
	if len(rules) == 0 {
		delete(n, r.Group)
	}
}

// BindingsRequesting returns the bindings that request rules in one of the security groups, sorted by namespace and name.
func (a *RuleAggregate) BindingsRequesting(groups []string) (out []Key) {
	for key, c := range a.contributions {
		for r := range c.Rules {
			if slices.Contains(groups, r.Group) {
				out = append(out, key)
				break
			}
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// compareKeys orders bindings by namespace and name.
func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// SecurityGroupChange has the inbound rules to add to and to remove from a security group.
type SecurityGroupChange struct {
	Group             string
	Authorize, Revoke []model.IngressRule
	Total             int // number of inbound rules after the changes
}

// Empty reports whether nothing has to change.
func (c SecurityGroupChange) Empty() bool { return len(c.Authorize)+len(c.Revoke) == 0 }

// ChangeOf returns the changes that give a security group the rules that all bindings request. They remove no rule of a held
// security group, and no rule that a binding retains.
func (a *RuleAggregate) ChangeOf(g EndpointSecurityGroup, o RuleOptions) SecurityGroupChange {
	want := network.AggregateRules(slices.Collect(maps.Keys(a.requestedRules[g.ID])), !o.KeepPortsSeparate)
	authorize, revoke := network.DiffEndpointRules(want, g.Ingress, a.holdingAllCount == 0 && a.holderCounts[g.ID] == 0)
	revoke = slices.DeleteFunc(revoke, func(r model.IngressRule) bool { return a.retainsRule(g.ID, r) })
	return SecurityGroupChange{g.ID, authorize, revoke, len(g.Ingress) + len(authorize) - len(revoke)}
}

// OrderByShare returns a change with the rules to add in the order in which they are added until the quota is reached. Rules
// that cover a rule to remove come first. All other rules are ordered by the shares of the namespaces whose bindings request
// them.
func (a *RuleAggregate) OrderByShare(c SecurityGroupChange, o RuleOptions) SecurityGroupChange {
	requested := map[string][]model.IngressRule{}
	for key, by := range a.contributions {
		for r := range by.Rules {
			if r.Group == c.Group {
				requested[key.Namespace] = append(requested[key.Namespace], r.Rule)
			}
		}
	}
	// Rules for a source security group are compared without their ports, because such a rule may have a wider port range
	// than the rules that it was merged from.
	withoutPorts := func(r model.IngressRule) model.IngressRule {
		if r.Group != "" && !o.KeepPortsSeparate {
			r.From, r.To = 0, 0
		}
		return r
	}
	at := make(map[model.IngressRule]int, len(c.Authorize))
	for i, r := range c.Authorize {
		at[withoutPorts(r)] = i
	}
	shares, by := plan.Shares{}, make([][]string, len(c.Authorize))
	for _, namespace := range slices.Sorted(maps.Keys(requested)) {
		for _, r := range network.AggregateRules(requested[namespace], !o.KeepPortsSeparate) {
			if i, missing := at[withoutPorts(r)]; missing {
				by[i] = append(by[i], namespace)
			} else {
				shares.AddRetained(namespace)
			}
		}
	}
	for i := range by {
		if len(by[i]) == 0 {
			by[i] = []string{""} // no binding requests the rule any more
		}
	}
	authorize := make([]model.IngressRule, 0, len(by))
	for _, i := range plan.OrderClaims(shares, plan.NamespacesOfClaims(shares, by)) {
		authorize = append(authorize, c.Authorize[i])
	}
	covers := func(r model.IngressRule) bool {
		return slices.ContainsFunc(c.Revoke, func(old model.IngressRule) bool { return network.RuleCovers(r, old) })
	}
	first := slices.DeleteFunc(slices.Clone(authorize), func(r model.IngressRule) bool { return !covers(r) })
	c.Authorize = append(first, slices.DeleteFunc(authorize, covers)...)
	return c
}

// ReplacementsOf returns the rules to add that must exist before the rule old is removed, so that the traffic that old
// admits is not interrupted. The result is a rule that covers old, or else all rules for the source and for some of the
// ports of old. If there is no such rule, it is the first rule for some of the ports of old, because the source may have
// changed. Rules for IPv4 and IPv6 ranges do not replace each other, because AWS has a quota for each.
func (c SecurityGroupChange) ReplacementsOf(old model.IngressRule) (out []model.IngressRule) {
	var otherSource []model.IngressRule
	for _, r := range c.Authorize {
		same := old
		same.From, same.To = r.From, r.To
		switch {
		case r.Protocol != old.Protocol || r.From > old.To || r.To < old.From:
		case network.RuleCovers(r, old):
			return []model.IngressRule{r}
		case network.RuleCovers(r, same):
			out = append(out, r)
		case r.CIDR == "" || old.CIDR == "" || strings.Contains(r.CIDR, ":") == strings.Contains(old.CIDR, ":"):
			otherSource = append(otherSource, r)
		}
	}
	if len(out) == 0 {
		out = otherSource[:min(len(otherSource), 1)]
	}
	return out
}

// retainsRule reports whether the rule r of a security group covers a rule that a binding retains.
func (a *RuleAggregate) retainsRule(group string, r model.IngressRule) bool {
	for retained := range a.retainedRules[group] {
		if network.RuleCovers(r, retained) {
			return true
		}
	}
	return false
}

// ChangesOf returns the changes of several security groups, sorted by id. It omits security groups without changes.
func (a *RuleAggregate) ChangesOf(groups []EndpointSecurityGroup, o RuleOptions) []SecurityGroupChange {
	groups = slices.SortedFunc(slices.Values(groups), func(a, b EndpointSecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	var out []SecurityGroupChange
	for _, g := range groups {
		if c := a.ChangeOf(g, o); !c.Empty() {
			out = append(out, c)
		}
	}
	return out
}
