package bindingplan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// computeRules computes the rules of a security group directly from the demands of all bindings. It returns the requested
// rules, the retained rules, and whether all other rules may be removed.
func computeRules(group string, demands []targets.RuleDemand, kept map[Key]RuleSet, found ENIs, o RuleOptions) (want, keep []model.IngressRule, complete bool) {
	complete = true
	for _, d := range demands {
		complete = complete && !d.ENIUnknown
		for _, n := range d.PodDemands {
			at, candidates, err := o.securityGroupOf(n, found)
			switch {
			case err != nil && len(candidates) == 0:
				complete = false
			case err != nil:
				complete = complete && !slices.ContainsFunc(candidates, func(c network.ENISecurityGroup) bool { return c.ID == group })
			case at == group:
				want = append(want, n.Rules...)
				complete = complete && !d.Faulty
			}
		}
	}
	for _, rules := range kept {
		for r := range rules {
			if r.Group == group {
				keep = append(keep, r.Rule)
			}
		}
	}
	return want, keep, complete
}

// TestAggregateEqualsRulesComputedFromAllDemands adds, changes and removes demands of bindings at random. It checks that the
// changes of each security group equal the changes that are computed from all demands, and that a security group gets new
// changes only if the aggregate returned it as affected.
func TestAggregateEqualsRulesComputedFromAllDemands(t *testing.T) {
	groups := []string{"sg-0", "sg-1", "sg-2"}
	eni := func(ids ...string) network.ENI {
		e := network.ENI{ID: "eni"}
		for _, id := range ids {
			e.SecurityGroups = append(e.SecurityGroups, network.ENISecurityGroup{ID: id})
		}
		return e
	}
	found := ENIs{ByAddress: map[string]network.ENI{
		"a": eni("sg-0"), "b": eni("sg-1"), "c": eni("sg-2"), "d": eni("sg-0"), "x": eni("sg-0", "sg-1"),
	}}
	addresses := []string{"a", "a", "b", "b", "c", "c", "d", "d", "x", "nowhere"}
	held, taken := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 16))
		o := RuleOptions{ClusterName: "c", KeepPortsSeparate: r.IntN(2) == 0, Now: now}
		live := make([]EndpointSecurityGroup, len(groups))
		for i, id := range groups {
			live[i].ID = id
			for range r.IntN(4) {
				live[i].Ingress = append(live[i].Ingress, portRule(80+r.Int32N(5)))
			}
		}
		sum, asks, kept := NewRuleAggregate(), map[Key]targets.RuleDemand{}, map[Key]RuleSet{}
		for range 40 {
			before := map[string]SecurityGroupChange{}
			for _, g := range live {
				before[g.ID] = sum.ChangeOf(g, o)
			}
			key := Key{Name: fmt.Sprint(r.IntN(5))}
			var affected AffectedSecurityGroups
			if r.IntN(4) == 0 {
				delete(asks, key)
				delete(kept, key)
				affected = sum.Drop(key)
			} else {
				d := targets.RuleDemand{ENIUnknown: r.IntN(20) == 0, Faulty: r.IntN(10) == 0}
				for range r.IntN(4) {
					d.PodDemands = append(d.PodDemands, targets.EndpointDemand{
						Lookups: []targets.ENILookup{{Address: addresses[r.IntN(len(addresses)-r.IntN(3))]}},
						Rules:   []model.IngressRule{portRule(80 + r.Int32N(5)), portRule(80 + r.Int32N(5))},
					})
				}
				c := RulesOfPods(d, found, o).Contribution
				kept[key] = RuleSet{}
				if r.IntN(5) == 0 {
					kept[key] = RuleSet{{groups[r.IntN(3)], portRule(80 + r.Int32N(5))}: {}}.Without(c.Rules)
					c = c.WithInheritedRules(kept[key])
				}
				asks[key] = d
				affected = sum.Set(key, c)
			}
			for _, g := range live {
				want, keep, complete := computeRules(g.ID, slices.Collect(maps.Values(asks)), kept, found, o)
				authorize, revoke := network.DiffEndpointRules(network.AggregateRules(want, !o.KeepPortsSeparate), g.Ingress, complete)
				all := len(revoke)
				revoke = slices.DeleteFunc(revoke, func(r model.IngressRule) bool {
					return slices.ContainsFunc(keep, func(k model.IngressRule) bool { return r.From <= k.From && r.To >= k.To })
				})
				held, taken = held+all-len(revoke), taken+len(revoke)
				got := sum.ChangeOf(g, o)
				if !slices.Equal(got.Authorize, authorize) || !slices.Equal(got.Revoke, revoke) {
					t.Fatalf("seed %d, group %s: the aggregate adds %v and takes %v away, a full computation %v and %v", seed, g.ID, got.Authorize, got.Revoke, authorize, revoke)
				}
				if was := before[g.ID]; !affected.Groups[g.ID] && !affected.All && (hasFurtherRule(was.Authorize, got.Authorize) || hasFurtherRule(was.Revoke, got.Revoke)) {
					t.Fatalf("seed %d, group %s: it changes from %v to %v, and is not said to be affected: %v", seed, g.ID, before[g.ID], got, affected)
				}
			}
		}
		for key := range asks {
			sum.Drop(key)
		}
		if !reflect.DeepEqual(sum, NewRuleAggregate()) {
			t.Fatalf("seed %d: when all bindings have gone there is still %+v", seed, sum)
		}
	}
	if held < 50 || taken < 1000 {
		t.Errorf("%d rules were kept, and %d taken away", held, taken)
	}
}

// TestRulesOfSmallSharesComeFirst checks that the first rules are those that cover a rule to remove, that namespaces take
// turns at the others, and that a namespace with few rules is first.
func TestRulesOfSmallSharesComeFirst(t *testing.T) {
	sum, o := NewRuleAggregate(), RuleOptions{KeepPortsSeparate: true}
	set := func(namespace string, rules ...model.IngressRule) {
		c := Contribution{Rules: RuleSet{}}
		c.Rules.add("sg-0", rules)
		sum.Set(Key{Namespace: namespace, Name: "b"}, c)
	}
	wide := portRule(90)
	wide.To = 99
	set("big", portRule(80), portRule(81), portRule(82), portRule(83), wide)
	set("small", portRule(84), portRule(85))
	set("zero", portRule(86), portRule(87))
	c := sum.ChangeOf(EndpointSecurityGroup{ID: "sg-0", Ingress: []model.IngressRule{portRule(80), portRule(84), portRule(95)}}, o)
	var got []int32
	for _, r := range sum.OrderByShare(c, o).Authorize {
		got = append(got, r.From)
	}
	if want := []int32{90, 86, 81, 85, 87, 82, 83}; !slices.Equal(got, want) {
		t.Errorf("ports %v, want %v", got, want)
	}
}

// hasFurtherRule reports whether the list is has a rule that the list was does not have.
func hasFurtherRule(was, is []model.IngressRule) bool {
	return slices.ContainsFunc(is, func(r model.IngressRule) bool { return !slices.Contains(was, r) })
}
