package match

import (
	"fmt"
	"slices"
)

// Rule is a match with the answer to its requests.
type Rule struct {
	Match
	// Excluded has matches of the requests that match Match but that the rule must not answer.
	Excluded []Match
	// Answer identifies the answer to the requests. The order of rules with the same Answer does not matter.
	Answer string
	// RuleIndex is the index of the listener rule from which the match was made.
	RuleIndex int
	// Owner identifies the object of the rule. Rules with the same owner and host are in one route. In it, rules with equal
	// precedence keep their order.
	Owner string
	// IsDefault reports whether the rule is the default action of the listener. The default action comes after all rules.
	IsDefault bool
	// AddedBefore is the RuleIndex of the rule before which Arrange added this rule, so that the requests that match both
	// keep their answer; -1 if Arrange did not add this rule.
	AddedBefore int
}

// ArrangeResult is the result of Arrange: rules with the same answers in the order of precedence of the Gateway API, and
// what could not be arranged.
type ArrangeResult struct {
	Rules []Rule
	// Unreachable are the indexes of listener rules that need no match, because other rules answer all of their requests.
	Unreachable []int
	// Conflicts are the pairs of rules whose order cannot be kept.
	Conflicts []Conflict
}

// Conflict is a pair of rules with common requests. In the listener, InListener answers the requests that match both, but
// in a Gateway InGateway answers them, because it has higher precedence in the Gateway API.
type Conflict struct {
	InListener, InGateway Rule
}

// maxAddedRules is the maximum number of rules that Arrange adds. A load balancer has at most 100 rules, unless its quota is
// raised.
const maxAddedRules = 1000

// maxPasses is the maximum number of passes in which Arrange adds rules. Rules that one pass adds can require more rules in
// the next pass. Usually a few passes are enough.
const maxPasses = 40

// MaxConflicts is the maximum number of conflicts that Arrange reports.
const MaxConflicts = 100

// Arrange returns rules that give the same answers as the given rules, but in the order of precedence of the Gateway API.
// The last of the given rules must be the default action, which matches all requests.
//
// If the Gateway API would reverse the order of two rules, Arrange adds a rule for the requests that match both. The added
// rule is more specific than both, and therefore has precedence.
func Arrange(rules []Rule) ArrangeResult {
	var a arranger
	for i, r := range rules {
		if !slices.ContainsFunc(a.rules, func(e *rankedRule) bool { return e.answersAll(r.Match) }) {
			r.AddedBefore = -1
			a.rules = append(a.rules, &rankedRule{r, i})
		}
	}
	for pass := 1; pass == 1 || a.changed; pass++ {
		a.changed, a.conflicts, a.isLastPass = false, nil, pass == maxPasses
		a.restoreExcluded(rules)
		a.orderPairs()
	}
	out := ArrangeResult{Conflicts: a.conflicts}
	reachable := map[int]bool{}
	for _, r := range a.rules {
		out.Rules = append(out.Rules, r.Rule)
		reachable[r.RuleIndex] = reachable[r.RuleIndex] || r.AddedBefore < 0
	}
	for _, r := range rules {
		if !reachable[r.RuleIndex] && !slices.Contains(out.Unreachable, r.RuleIndex) {
			out.Unreachable = append(out.Unreachable, r.RuleIndex)
		}
	}
	return out
}

// answersAll reports whether it is known that the rule answers all requests of match m, unless an earlier rule answers them.
func (r Rule) answersAll(m Match) bool {
	if !r.Covers(m) {
		return false
	}
	for _, w := range r.Excluded {
		if _, relation := m.Intersect(w); relation != Disjoint {
			return false
		}
	}
	return true
}

// intersectRules returns the match of the requests that match both rules, and the relation of the rules. If one of the rules
// excludes all these requests, the relation is Disjoint.
func intersectRules(r, o Rule) (Match, Relation) {
	x, relation := r.Intersect(o.Match)
	if relation == Overlap && slices.ContainsFunc(slices.Concat(r.Excluded, o.Excluded), func(w Match) bool { return w.Covers(x) }) {
		relation = Disjoint
	}
	return x, relation
}

// rankedRule is a rule with its position in the order of the listener.
type rankedRule struct {
	Rule
	rank int
}

// arranger is the state of Arrange.
type arranger struct {
	rules      []*rankedRule // by rank, ascending
	addedRules int
	changed    bool
	isLastPass bool // in the last pass no rule is changed or added; what remains is a conflict
	conflicts  []Conflict
}

// isAtLimit reports whether a limit of Arrange is reached, so that no more rules may be added.
func (a *arranger) isAtLimit() bool { return a.isLastPass || a.addedRules == maxAddedRules }

// addConflict records a pair of rules whose order cannot be kept, unless MaxConflicts are recorded.
func (a *arranger) addConflict(inListener, inGateway Rule) {
	if len(a.conflicts) < MaxConflicts {
		a.conflicts = append(a.conflicts, Conflict{inListener, inGateway})
	}
}

// addRule adds a copy of rule r for the requests of match m, so that the rule with index before does not answer them. It
// does nothing if there is already such a copy of r.
func (a *arranger) addRule(r Rule, m Match, rank, before int) {
	if slices.ContainsFunc(a.rules, func(o *rankedRule) bool { return o.RuleIndex == r.RuleIndex && o.equal(m) }) {
		return
	}
	r.Match, r.AddedBefore, r.IsDefault = m, before, false
	i, _ := slices.BinarySearchFunc(a.rules, rank, func(o *rankedRule, rank int) int { return o.rank - rank })
	a.rules = slices.Insert(a.rules, i, &rankedRule{r, rank})
	a.addedRules++
	a.changed = true
}

// restoreExcluded adds rules for the requests that a rule excludes, so that later rules answer them, as in the listener.
func (a *arranger) restoreExcluded(rules []Rule) {
	for _, rule := range slices.Clone(a.rules) {
		for _, excluded := range rule.Excluded {
			if m, relation := excluded.Intersect(rule.Match); relation == Overlap {
				a.restoreToLaterRules(rules, rule, m)
			}
		}
	}
}

// restoreToLaterRules adds copies of the rules that follow rule in the listener, for the requests of match m, which rule
// excludes.
func (a *arranger) restoreToLaterRules(rules []Rule, rule *rankedRule, m Match) {
	for rank := rule.rank + 1; rank < len(rules); rank++ {
		later := rules[rank]
		common, relation := intersectRules(later, Rule{Match: m})
		switch {
		case relation == Disjoint:
			continue
		case relation == Unknown || a.isAtLimit():
			a.addConflict(later, rule.Rule)
			continue
		case !slices.ContainsFunc(a.rules, func(o *rankedRule) bool { return o.rank <= rank && o.Compare(rule.Match) < 0 && o.answersAll(common) }):
			a.addRule(later, common, rank, rule.RuleIndex)
		}
		if common.equal(m) {
			return
		}
	}
}

// orderPairs handles each pair of rules whose order the Gateway API would reverse. It lowers the precedence of the later
// rule, adds a rule for the requests that match both, or records a conflict if neither is possible.
func (a *arranger) orderPairs() {
	rules := slices.Clone(a.rules)
	// Begin with the last rule, so that lowerPrecedence can make an expression longer than those of all later rules.
	for i, earlier := range slices.Backward(rules) {
		for _, later := range rules[i+1:] {
			order := later.Compare(earlier.Match)
			if earlier.Answer == later.Answer || earlier.RuleIndex == later.RuleIndex || order > 0 || later.IsDefault {
				continue
			}
			common, relation := intersectRules(earlier.Rule, later.Rule)
			sameRoute := earlier.Owner == later.Owner && common.Host == later.Host
			switch {
			case relation == Disjoint, order == 0 && sameRoute && earlier.Host == later.Host, relation == Overlap && a.hasEarlierAnswer(common, earlier, later):
			case earlier.Path.Kind == Regex && earlier.Host == later.Host && !a.isLastPass && a.lowerPrecedence(earlier, later):
			case relation == Unknown, a.isAtLimit(), common.Compare(later.Match) > 0, common.Compare(later.Match) == 0 && !sameRoute:
				a.addConflict(earlier.Rule, later.Rule)
			default:
				a.addRule(earlier.Rule, common, earlier.rank, later.RuleIndex)
			}
		}
	}
}

// maxExpressionLength is the maximum length of a regular expression in AWS, in characters.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const maxExpressionLength = 128

// lowerPrecedence gives rule later a lower precedence than rule earlier. Both rules are for the same host, and the path of
// earlier is a regular expression. Regular expressions have the lowest precedence of all paths, and longer expressions
// precede shorter ones. If the path of later is an expression, parentheses are added to the expression of earlier. If later
// matches any path, its path is replaced by the shortest expression. The result is false if this is not possible.
func (a *arranger) lowerPrecedence(earlier, later *rankedRule) bool {
	changed, path := earlier, earlier.Path
	switch {
	case later.Path.Kind == Regex:
		for len(path.Value) <= len(later.Path.Value) {
			path.Value = "(?:" + path.Value + ")"
		}
	case later.Path == AnyRequest.Path:
		changed, path = later, anyPathRegex
	default:
		return false
	}
	if len(path.Value) > maxExpressionLength {
		return false
	}
	changed.Path, a.changed = path, true
	return true
}

// hasEarlierAnswer reports whether a rule that precedes later gives the requests the same answer as rule.
func (a *arranger) hasEarlierAnswer(requests Match, rule, later *rankedRule) bool {
	return slices.ContainsFunc(a.rules, func(r *rankedRule) bool {
		if r.Answer != rule.Answer || r.rank > later.rank || !r.answersAll(requests) {
			return false
		}
		order := r.Compare(later.Match)
		return order < 0 || order == 0 && r.Owner == later.Owner && r.Host == later.Host && r.RuleIndex < later.RuleIndex
	})
}

// String returns text that describes the requests that match both rules of the conflict.
func (c Conflict) String() string {
	return fmt.Sprintf("requests for %s that also match %s", c.InListener.Text(), c.InGateway.Text())
}
