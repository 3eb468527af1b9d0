package resolved

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// Conditions identify the conditions of a rule.
func (p *Rule) ConditionsKey() string {
	if p.key == "" {
		p.key = equal.ConditionsKey(p.Desired.Conditions)
	}
	return p.key
}

// Keep makes a held rule what is live.
func (p *Rule) KeepLive(live *observed.Rule) {
	p.Kept, p.key = live, ""
	p.Desired.Conditions, p.Desired.Transforms, p.Desired.Actions = live.Conditions, live.Transforms, live.Actions
}

// StandIn puts a 503 in the place of a held rule of which nothing is live.
func (p *Rule) UsePlaceholder() {
	p.key = ""
	p.Desired.Conditions = p.Placeholder()
	p.Desired.Actions, p.Desired.Transforms = []model.Action{plan.HeldResponse}, nil
}

// Placeholder returns the conditions of the 503 of a held rule.
func (p *Rule) Placeholder() []model.Condition {
	switch {
	case p.Desired.Instead != nil:
		return p.Desired.Instead
	case len(p.Desired.Conditions) == 0:
		return []model.Condition{model.PathPattern{Values: []string{"/*"}}}
	}
	return p.Desired.Conditions
}

// Rule is a rule at its place in the order of precedence.
type Rule struct {
	Desired model.Rule
	// key identifies the conditions; empty until it is asked for.
	key string
	// Written are the actions as the member wrote them.
	Written []model.Action
	// Kept is the live rule that a held one keeps, nil if there is none.
	Kept *observed.Rule
	// Live reports whether a live rule is a form of it; place is that of a live rule that it takes, as AWS has
	// no room for both. Both are noted where rules are short, or several members share them.
	HasLiveForm bool
	Place       *OpenPlace
}

func (p *Rule) Held() bool { return p.Desired.Held != 0 }

// LiveRule returns the live rule that it keeps, or whose place it takes; nil if neither.
func (p *Rule) KeptOrReplaced() *observed.Rule {
	if p.Kept == nil && p.Place != nil {
		return p.Place.Rule
	}
	return p.Kept
}

// OneStep reports whether AWS has no room for stages between the live form of the rule and the desired one.
func (p *Rule) ChangesInOneStep() bool { return p.Desired.InPlace || p.Desired.NoRoom }

// When AWS takes no further rule on a load balancer, a new rule takes the place of a live one of its namespace
// that is not desired any more: by a change of that rule where both are of one listener, else by its deletion
// just before. One for which there is no such place is left out, and no other rule is given up for it.

// OpenPlace is a live rule that nothing desired is a form of.
type OpenPlace struct {
	Rule      *observed.Rule
	Port      int32
	Owners    []finding.Ref // to whom it belongs; nil if that is not known
	DeletedBy plan.StepID   // the step that deletes it
	Taken     bool
	Shape     *overlap.Shape
}
