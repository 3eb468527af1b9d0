package match

import (
	"fmt"
	"slices"
)

// Rule is a match with what answers it.
type Rule struct {
	Match
	// Not are requests that fit Match and that the rule is not meant for.
	Not []Match
	// Answer identifies what is done with the requests; rules with equal answers need no order.
	Answer string
	// Of is the number of the rule of the listener that it comes from.
	Of int
	// Owner identifies the object that the rule is of. Rules of one owner and host are in one route, and keep their order
	// where nothing else decides.
	Owner string
	// Default is set for what happens by default without a rule, behind all rules.
	Default bool
	// Before is the number of the rule in front of which this one was added, so that it keeps its requests; -1 for one that
	// was there.
	Before int
}

// Arranged are rules for routes.
type Arranged struct {
	Rules []Rule
	// Never are the numbers of rules of the listener of which no match is needed: others answer all of their requests.
	Never []int
	// Conflicts are which rules cannot be kept in their order.
	Conflicts []Conflict
}

// Conflict is a rule that comes before one that answered the requests of both.
type Conflict struct {
	First, Then Rule
}

// mostAdded is how many rules are added. A load balancer has 100 of them, unless its quota is raised.
const mostAdded = 1000

// mostPasses bounds the work. Each pass adds what the one before has made necessary; a few are usual.
const mostPasses = 40

// MostConflicts are reported; there may be more.
const MostConflicts = 100

// Arrange returns rules that answer alike when the Gateway API decides which comes first as the given ones do in their order.
// The last rule must be one of all requests: what happens by default.
//
// Where a rule would come before one that is ahead of it now, the requests of both get a rule of their own: it is more
// specific than either, so that it comes first.
func Arrange(rules []Rule) Arranged {
	var a arranging
	for i, r := range rules {
		if !slices.ContainsFunc(a.rules, func(e *ranked) bool { return e.answersAll(r.Match) }) {
			r.Before = -1
			a.rules = append(a.rules, &ranked{r, i})
		}
	}
	for pass := 1; pass == 1 || a.changed; pass++ {
		a.changed, a.conflicts, a.last = false, nil, pass == mostPasses
		a.giveBack(rules)
		a.order()
	}
	out := Arranged{Conflicts: a.conflicts}
	needed := map[int]bool{}
	for _, r := range a.rules {
		out.Rules = append(out.Rules, r.Rule)
		needed[r.Of] = needed[r.Of] || r.Before < 0
	}
	for _, r := range rules {
		if !needed[r.Of] && !slices.Contains(out.Never, r.Of) {
			out.Never = append(out.Never, r.Of)
		}
	}
	return out
}

// answersAll reports whether all requests of a match are known to be the rule's.
func (r Rule) answersAll(m Match) bool {
	if !r.Covers(m) {
		return false
	}
	for _, w := range r.Not {
		if _, rel := m.Intersect(w); rel != Disjoint {
			return false
		}
	}
	return true
}

// intersectRules returns the match of the requests that two rules are meant for.
func intersectRules(r, o Rule) (Match, Relation) {
	x, rel := r.Intersect(o.Match)
	if rel == Overlap && slices.ContainsFunc(slices.Concat(r.Not, o.Not), func(w Match) bool { return w.Covers(x) }) {
		rel = Disjoint
	}
	return x, rel
}

// ranked is a rule at its place in the order that is to be kept.
type ranked struct {
	Rule
	rank int
}

type arranging struct {
	rules     []*ranked // by rank, ascending
	added     int
	changed   bool
	last      bool // nothing is changed any more
	conflicts []Conflict
}

func (a *arranging) isFull() bool { return a.last || a.added == mostAdded }

func (a *arranging) conflict(first, then Rule) {
	if len(a.conflicts) < MostConflicts {
		a.conflicts = append(a.conflicts, Conflict{first, then})
	}
}

// add adds a rule for some requests of another one, which keeps them from the rule before, unless there is one.
func (a *arranging) add(r Rule, m Match, rank, before int) {
	if slices.ContainsFunc(a.rules, func(o *ranked) bool { return o.Of == r.Of && o.equal(m) }) {
		return
	}
	r.Match, r.Before, r.Default = m, before, false
	i, _ := slices.BinarySearchFunc(a.rules, rank, func(o *ranked, rank int) int { return o.rank - rank })
	a.rules = slices.Insert(a.rules, i, &ranked{r, rank})
	a.added++
	a.changed = true
}

// giveBack gives requests that rules take without being meant for them to those of the later rules that answered them.
func (a *arranging) giveBack(rules []Rule) {
	for _, of := range slices.Clone(a.rules) {
		for _, w := range of.Not {
			if m, rel := w.Intersect(of.Match); rel == Overlap {
				a.giveBackTo(rules, of, m)
			}
		}
	}
}

func (a *arranging) giveBackTo(rules []Rule, of *ranked, m Match) {
	for rank := of.rank + 1; rank < len(rules); rank++ {
		l := rules[rank]
		x, rel := intersectRules(l, Rule{Match: m})
		switch {
		case rel == Disjoint:
			continue
		case rel == Unknown || a.isFull():
			a.conflict(l, of.Rule)
			continue
		case !slices.ContainsFunc(a.rules, func(o *ranked) bool { return o.rank <= rank && o.Compare(of.Match) < 0 && o.answersAll(x) }):
			a.add(l, x, rank, of.Of)
		}
		if x.equal(m) {
			return
		}
	}
}

// order adds rules for requests of two rules of which the wrong one would come first.
func (a *arranging) order() {
	all := slices.Clone(a.rules)
	for i, first := range slices.Backward(all) { // so that an expression that is made longer comes before those that are done
		for _, then := range all[i+1:] {
			by := then.Compare(first.Match)
			if first.Answer == then.Answer || first.Of == then.Of || by > 0 || then.Default {
				continue
			}
			x, rel := intersectRules(first.Rule, then.Rule)
			together := first.Owner == then.Owner && x.Host == then.Host
			switch {
			case rel == Disjoint, by == 0 && together && first.Host == then.Host, rel == Overlap && a.answered(x, first, then):
			case first.Path.Kind == Regex && first.Host == then.Host && !a.last && a.putBehind(first, then):
			case rel == Unknown, a.isFull(), x.Compare(then.Match) > 0, x.Compare(then.Match) == 0 && !together:
				a.conflict(first.Rule, then.Rule)
			default:
				a.add(first.Rule, x, first.rank, then.Of)
			}
		}
	}
}

// longestExpression is what AWS takes.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const longestExpression = 128

// putBehind has a rule come behind an expression of the same host, if it can. Expressions come last, and among them the
// longer ones first: a path of everything becomes the shortest one, and parentheses make an expression longer.
func (a *arranging) putBehind(first, then *ranked) bool {
	of, change := first, first.Path
	switch {
	case then.Path.Kind == Regex:
		for len(change.Value) <= len(then.Path.Value) {
			change.Value = "(?:" + change.Value + ")"
		}
	case then.Path == All.Path:
		of, change = then, everything
	default:
		return false
	}
	if len(change.Value) > longestExpression {
		return false
	}
	of.Path, a.changed = change, true
	return true
}

// answered reports whether requests get the answer of a rule by one that comes before another one.
func (a *arranging) answered(x Match, of, then *ranked) bool {
	return slices.ContainsFunc(a.rules, func(r *ranked) bool {
		if r.Answer != of.Answer || r.rank > then.rank || !r.answersAll(x) {
			return false
		}
		by := r.Compare(then.Match)
		return by < 0 || by == 0 && r.Owner == then.Owner && r.Host == then.Host && r.Of < then.Of
	})
}

// String returns the conflict in readable form.
func (c Conflict) String() string {
	return fmt.Sprintf("requests for %s that also fit %s", c.First.Text(), c.Then.Text())
}
