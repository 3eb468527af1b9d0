package bindingplan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// EndpointSecurityGroup is a security group of nodes or pods with its inbound rules.
type EndpointSecurityGroup struct {
	ID      string
	Ingress []model.IngressRule
}

// Aggregate has the contributions of all bindings to the rules of security groups. The cost of changing a contribution does not
// depend on the number of others. It is not safe for concurrent use.
type Aggregate struct {
	contributions       map[Key]Contribution
	requested, retained ruleCounts
	held                map[string]int // number of bindings that hold a security group
	holdingAll          int            // number of bindings that hold all security groups
}

// ruleCounts has the number of bindings that contribute a rule, by security group and rule.
type ruleCounts map[string]map[model.IngressRule]int

// NewAggregate returns an aggregate without contributions.
func NewAggregate() *Aggregate {
	return &Aggregate{contributions: map[Key]Contribution{}, requested: ruleCounts{}, retained: ruleCounts{}, held: map[string]int{}}
}

// Affected has the security groups whose rules may change because of a contribution.
type Affected struct {
	Groups map[string]bool
	All    bool // rules of any security group may be removed now
}

// Get returns the contribution of a binding, false if it has none.
func (a *Aggregate) Get(key Key) (Contribution, bool) {
	c, ok := a.contributions[key]
	return c, ok
}

// Set replaces the contribution of a binding.
func (a *Aggregate) Set(key Key, c Contribution) Affected {
	was := a.contributions[key]
	a.contributions[key] = c
	out := Affected{Groups: map[string]bool{}}
	a.requested.replace(was.Rules, c.Rules, out)
	a.retained.replace(was.Retained, c.Retained, out)
	for g := range c.Held {
		a.held[g]++
	}
	for g := range was.Held {
		if a.held[g]--; a.held[g] == 0 {
			delete(a.held, g)
			out.Groups[g] = true
		}
	}
	if c.HoldsAll {
		a.holdingAll++
	}
	if was.HoldsAll {
		a.holdingAll--
		out.All = a.holdingAll == 0
	}
	return out
}

// Drop removes the contribution of a binding.
func (a *Aggregate) Drop(key Key) Affected {
	out := a.Set(key, Contribution{})
	delete(a.contributions, key)
	return out
}

// replace counts the rules of a contribution instead of those of the previous one.
func (n ruleCounts) replace(was, rules RuleSet, out Affected) {
	for r := range rules {
		if _, had := was[r]; !had {
			n.count(r, 1, out)
		}
	}
	for r := range was {
		if _, has := rules[r]; !has {
			n.count(r, -1, out)
		}
	}
}

// count adds by to the number of bindings that contribute a rule.
func (n ruleCounts) count(r GroupRule, by int, out Affected) {
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

// BindingsWith returns the bindings that request rules of one of the security groups, in order.
func (a *Aggregate) BindingsWith(groups []string) (out []Key) {
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

// GroupChange has the changes of rules in one security group.
type GroupChange struct {
	Group             string
	Authorize, Revoke []model.IngressRule
	Total             int // number of rules after the changes
}

// Empty reports whether nothing has to change.
func (c GroupChange) Empty() bool { return len(c.Authorize)+len(c.Revoke) == 0 }

// Change compares the rules that all bindings request in a security group with its current rules.
func (a *Aggregate) Change(g EndpointSecurityGroup, o RuleOptions) GroupChange {
	want := network.AggregateRules(slices.Collect(maps.Keys(a.requested[g.ID])), !o.Unmerged)
	authorize, revoke := network.DiffEndpointRules(want, g.Ingress, a.holdingAll == 0 && a.held[g.ID] == 0)
	revoke = slices.DeleteFunc(revoke, func(r model.IngressRule) bool { return a.retainsRule(g.ID, r) })
	return GroupChange{g.ID, authorize, revoke, len(g.Ingress) + len(authorize) - len(revoke)}
}

// retainsRule reports whether a rule covers one that a binding retains.
func (a *Aggregate) retainsRule(group string, r model.IngressRule) bool {
	for retained := range a.retained[group] {
		if network.RuleCovers(r, retained) {
			return true
		}
	}
	return false
}

// Changes returns the changes of several security groups, ascending by id.
func (a *Aggregate) Changes(groups []EndpointSecurityGroup, o RuleOptions) []GroupChange {
	groups = slices.SortedFunc(slices.Values(groups), func(a, b EndpointSecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	var out []GroupChange
	for _, g := range groups {
		if c := a.Change(g, o); !c.Empty() {
			out = append(out, c)
		}
	}
	return out
}
