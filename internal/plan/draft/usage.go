package draft

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Usage records which observed target groups are still in use, and which members own the rules that are deleted. Package
// targetgroups deletes the target groups that are not in use.
type Usage struct {
	KeptTargetGroups map[string]bool          // ARNs of the target groups to which held or retained rules forward
	FreeingSteps     map[string][]plan.StepID // steps after which no rule forwards to a target group, by the ARN of the target group
	RuleOwners       map[string][]finding.Ref // owners of the observed rules that are deleted, by ARN of the rule
}

// NewUsage returns a Usage without records.
func NewUsage() *Usage {
	return &Usage{KeptTargetGroups: map[string]bool{}, FreeingSteps: map[string][]plan.StepID{}, RuleOwners: map[string][]finding.Ref{}}
}

// RetainTargetGroups records that the target groups to which observed actions forward must not be deleted.
func (u *Usage) RetainTargetGroups(actions []model.Action) {
	for _, g := range model.ForwardedTargetGroups(actions) {
		if g.Group.ARN != "" {
			u.KeptTargetGroups[g.Group.ARN] = true
		}
	}
}

// RetainTargetGroupsOfListener records that the target groups to which an observed listener and its rules forward must not be
// deleted.
func (u *Usage) RetainTargetGroupsOfListener(l *observed.Listener) {
	u.RetainTargetGroups(l.Default)
	for _, r := range l.Rules {
		u.RetainTargetGroups(r.Actions)
	}
}

// RecordFreeingStep records that the observed actions do not forward to their target groups any more after the step by.
func (u *Usage) RecordFreeingStep(actions []model.Action, by plan.StepID) {
	for _, g := range model.ForwardedTargetGroups(actions) {
		if arn := g.Group.ARN; arn != "" && !slices.Contains(u.FreeingSteps[arn], by) {
			u.FreeingSteps[arn] = append(u.FreeingSteps[arn], by)
		}
	}
}

// RecordListenerDeletion records the step by, which deletes a listener with its rules, as a freeing step of all target
// groups to which the listener and its rules forward.
func (u *Usage) RecordListenerDeletion(l observed.Listener, by plan.StepID) {
	u.RecordFreeingStep(l.Default, by)
	for _, r := range l.Rules {
		u.RecordFreeingStep(r.Actions, by)
	}
}
