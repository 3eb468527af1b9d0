package resolved

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
)

// ConditionsKey returns a key of the conditions of the rule. Rules whose conditions AWS treats as equal have the same key.
func (p *Rule) ConditionsKey() string {
	if p.key == "" {
		p.key = equal.ConditionsKey(p.Desired.Conditions)
	}
	return p.key
}

// RetainLiveRule sets the conditions, transforms and actions of a held rule to those of an existing rule.
func (p *Rule) RetainLiveRule(live *observed.Rule) {
	p.RetainedRule, p.key = live, ""
	p.Desired.Conditions, p.Desired.Transforms, p.Desired.Actions = live.Conditions, live.Transforms, live.Actions
}

// UsePlaceholder makes a held rule that does not exist in AWS a placeholder, which answers 503.
func (p *Rule) UsePlaceholder() {
	p.key = ""
	p.Desired.Conditions = p.PlaceholderConditions()
	p.Desired.Actions, p.Desired.Transforms = []model.Action{plan.HeldResponse}, nil
}

// PlaceholderConditions returns the conditions of a held rule that answers with 503. It has fewer conditions than the
// desired rule if AWS would refuse the desired conditions.
func (p *Rule) PlaceholderConditions() []model.Condition {
	switch {
	case p.Desired.PlaceholderConditions != nil:
		return p.Desired.PlaceholderConditions
	case len(p.Desired.Conditions) == 0:
		return []model.Condition{model.PathPattern{Values: []string{"/*"}}}
	}
	return p.Desired.Conditions
}

// Rule is a desired rule of a listener after all choices are made. The index of the rule in the list is its precedence.
type Rule struct {
	Desired model.Rule
	// key is the result of ConditionsKey; empty until it is computed.
	key string
	// DesiredActions are the actions in the desired state. Desired of a held rule has the existing actions.
	DesiredActions []model.Action
	// RetainedRule is the existing rule that a held rule keeps; nil if there is none.
	RetainedRule *observed.Rule
	// HasLiveRule is set if an existing rule is kept or changed for this rule. ReplacedRule is the existing rule that this
	// rule replaces because the quota does not permit both. The two fields are set only if AWS has refused rules because of
	// a quota, or if several namespaces have rules.
	HasLiveRule  bool
	ReplacedRule *ReplaceableRule
}

// IsHeld reports whether the rule is held, for any reason.
func (p *Rule) IsHeld() bool { return p.Desired.Held != 0 }

// RetainedOrReplaced returns the existing rule that is kept for this rule, or else the existing rule that this rule replaces;
// nil if there is neither.
func (p *Rule) RetainedOrReplaced() *observed.Rule {
	if p.RetainedRule == nil && p.ReplacedRule != nil {
		return p.ReplacedRule.Rule
	}
	return p.RetainedRule
}

// ChangesInOneStep reports whether the rule has to be changed in place, because the quota does not permit the existing and
// the desired rule at the same time.
func (p *Rule) ChangesInOneStep() bool { return p.Desired.InPlace || p.Desired.OverQuota }

// If the quota of rules of a load balancer is reached, a new rule replaces an existing rule of its namespace that is not
// desired any more. If both belong to one listener, the existing rule is modified; otherwise it is deleted immediately
// before the new rule is created. A new rule that can replace no existing rule is omitted, and no other rule is deleted for
// it.

// ReplaceableRule is an existing rule that is not desired any more, and that a new rule may replace.
type ReplaceableRule struct {
	Rule           *observed.Rule
	Port           int32
	Owners         []finding.Ref // the objects to which the rule belongs; nil if they are not known
	DeletionStep   plan.StepID   // the step that deletes the rule
	HasReplacement bool
	Shape          *overlap.Shape
}
