package draft

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Usage records which live target groups are still in use, and which members leaving rules belong to. Package
// targetgroups deletes the rest.
type Usage struct {
	KeptGroups map[string]bool          // ARNs of target groups that held or retained rules forward to
	FreedBy    map[string][]plan.StepID // steps after which nothing forwards to a target group, by its ARN
	RuleOwners map[string][]finding.Ref // owners of the live rules that are deleted, by ARN of the rule
}

// NewUsage returns a Usage without records.
func NewUsage() *Usage {
	return &Usage{KeptGroups: map[string]bool{}, FreedBy: map[string][]plan.StepID{}, RuleOwners: map[string][]finding.Ref{}}
}

// KeepGroups records that the target groups to which live actions forward must not be deleted.
func (u *Usage) KeepGroups(actions []model.Action) {
	for _, g := range model.ForwardedGroups(actions) {
		if g.Group.ARN != "" {
			u.KeptGroups[g.Group.ARN] = true
		}
	}
}

// KeepListener records that the target groups of a live listener and its rules must not be deleted.
func (u *Usage) KeepListener(l *observed.Listener) {
	u.KeepGroups(l.Default)
	for _, r := range l.Rules {
		u.KeepGroups(r.Actions)
	}
}

// NoteFreed records a step after which these live actions do not forward to their target groups any more.
func (u *Usage) NoteFreed(actions []model.Action, by plan.StepID) {
	for _, g := range model.ForwardedGroups(actions) {
		if arn := g.Group.ARN; arn != "" && !slices.Contains(u.FreedBy[arn], by) {
			u.FreedBy[arn] = append(u.FreedBy[arn], by)
		}
	}
}

// NoteFreedListener records a step that deletes a listener with its rules.
func (u *Usage) NoteFreedListener(l observed.Listener, by plan.StepID) {
	u.NoteFreed(l.Default, by)
	for _, r := range l.Rules {
		u.NoteFreed(r.Actions, by)
	}
}
