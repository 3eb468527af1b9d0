package bindings

import "github.com/fulcrum-lb/fulcrum/internal/bindingplan"

// openedRules are rules of a binding that are there. While it asks for no others, the rules of the cluster
// need not be computed again on the binding's behalf.
type openedRules struct {
	rules bindingplan.RuleSet
	// partial: not all that the binding asked for was known, so that no rule was taken away.
	partial bool
}

// enough reports whether a computation for all bindings would change nothing on behalf of this one: the
// rules that are known to be asked for are there, and where one more is not known yet, none would be taken
// away either.
func (o *openedRules) enough(a bindingplan.AskedRules) bool {
	switch {
	case o == nil || !a.Rules.Within(o.rules):
		return false
	case a.Complete:
		return !o.partial && len(a.Rules) == len(o.rules)
	}
	return a.Absent || len(a.Rules) == len(o.rules)
}

// noteOpened is for rules of a binding that a run has found to be there.
func noteOpened(o openedRules) note {
	return func(e entry, _ moment) entry {
		e.opened = &o
		return e
	}
}

// noteFoundOpened is for all rules of a binding, which a run over another has found to be there.
func noteFoundOpened(rules bindingplan.RuleSet) note {
	return func(e entry, _ moment) entry {
		if !e.oldServe {
			e.opened = &openedRules{rules: rules}
		}
		return e
	}
}

// noteNotOpened is for rules that may not be there any more.
func noteNotOpened(e entry, _ moment) entry {
	e.opened = nil
	return e
}
