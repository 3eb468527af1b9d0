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

// Aggregate is what all bindings ask of security groups together. A contribution is added or changed at the cost of its own
// rules, however many others there are. It is not safe for concurrent use.
type Aggregate struct {
	of          map[Key]Contribution
	asked, kept ruleCounts
	held        map[string]int // by security group: how many bindings hold it
	holdingAll  int            // how many may need rules of any security group
}

// ruleCounts is by security group how many bindings contribute a rule.
type ruleCounts map[string]map[model.IngressRule]int

// NewAggregate returns one without contributions.
func NewAggregate() *Aggregate {
	return &Aggregate{of: map[Key]Contribution{}, asked: ruleCounts{}, kept: ruleCounts{}, held: map[string]int{}}
}

// Affected are the security groups that a contribution has changed something for.
type Affected struct {
	Groups map[string]bool
	All    bool // rules of any group may be taken away now
}

// Of returns the contribution of a binding, false if it has none.
func (a *Aggregate) Of(key Key) (Contribution, bool) {
	c, ok := a.of[key]
	return c, ok
}

// Set puts a contribution in the place of the one that the binding had.
func (a *Aggregate) Set(key Key, c Contribution) Affected {
	was := a.of[key]
	a.of[key] = c
	out := Affected{Groups: map[string]bool{}}
	a.asked.replace(was.Rules, c.Rules, out)
	a.kept.replace(was.Kept, c.Kept, out)
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

// Drop takes the contribution of a binding out.
func (a *Aggregate) Drop(key Key) Affected {
	out := a.Set(key, Contribution{})
	delete(a.of, key)
	return out
}

// replace counts the rules of a contribution in the place of those of the one before.
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

// With returns the bindings that ask for rules of one of some security groups, in order.
func (a *Aggregate) With(groups []string) (out []Key) {
	for key, c := range a.of {
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

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// GroupChange is what has to change in one security group.
type GroupChange struct {
	Group             string
	Authorize, Revoke []model.IngressRule
	Total             int // rules that the group has then
}

// Empty reports whether nothing has to change.
func (c GroupChange) Empty() bool { return len(c.Authorize)+len(c.Revoke) == 0 }

// Change compares what all bindings ask of a security group with what it has.
func (a *Aggregate) Change(g EndpointSecurityGroup, o RuleOptions) GroupChange {
	want := network.AggregateRules(slices.Collect(maps.Keys(a.asked[g.ID])), !o.Unmerged)
	authorize, revoke := network.DiffEndpointRules(want, g.Ingress, a.holdingAll == 0 && a.held[g.ID] == 0)
	revoke = slices.DeleteFunc(revoke, func(r model.IngressRule) bool { return a.keepsRule(g.ID, r) })
	return GroupChange{g.ID, authorize, revoke, len(g.Ingress) + len(authorize) - len(revoke)}
}

// keepsRule reports whether a rule admits what a binding keeps.
func (a *Aggregate) keepsRule(group string, r model.IngressRule) bool {
	for kept := range a.kept[group] {
		if network.RuleCovers(r, kept) {
			return true
		}
	}
	return false
}

// Changes returns the changes of many security groups, in the order of their ids.
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
