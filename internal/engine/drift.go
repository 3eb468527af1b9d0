package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// DriftMode says what happens to what others have changed.
type DriftMode string

// The modes.
const (
	RepairDrift DriftMode = "repair" // restored and reported
	ReportDrift DriftMode = "report" // reported, and left until the desired state changes
	IgnoreDrift DriftMode = "off"    // not looked for; restored without a report where a comparison finds it
)

// drifts are what was reported of a stack as changed by others and left.
type drifts struct {
	// left are the texts of the steps that would restore it.
	left map[string]bool
	// compared is since when changes of others count: those before were part of a plan already.
	compared time.Time
}

// textOf identifies a step with what it changes.
func textOf(s plan.Step) string { return fmt.Sprint(s.ID, s.Changes) }

// leaves reports whether a step would restore what was reported and left.
func (d *drifts) leaves(s plan.Step) bool { return d.left[textOf(s)] }

// leave remembers the steps that are left, in place of those that were.
func (d *drifts) leave(steps []plan.Step) {
	d.left = nil
	for _, s := range steps {
		if d.left == nil {
			d.left = map[string]bool{}
		}
		d.left[textOf(s)] = true
	}
}

// news are the changes of others that no plan was made from yet.
func (d *drifts) news(all []observed.Foreign) []observed.Foreign {
	return slices.DeleteFunc(slices.Clone(all), func(f observed.Foreign) bool { return !f.At.After(d.compared) })
}

// restores reports whether a step restores a resource of a kind that others have changed.
func restores(s plan.Step, foreign []observed.Foreign) bool {
	kind := s.Address.Kind
	if s.Revokes {
		return false // whoever changed it, what has no right does not stay
	}
	if kind == plan.BackendGroup {
		kind = plan.SecurityGroup
	}
	return slices.ContainsFunc(foreign, func(f observed.Foreign) bool { return f.Kind == string(kind) })
}

// drifted finds the steps of a plan that restore what others have changed, and decides about them. It is
// called where the stack was as desired and has been compared since; all else is no drift.
func (r *run) drifted(d Draft) {
	mode := r.e.Drift
	if mode == IgnoreDrift {
		return
	}
	foreign := r.mem.drift.news(d.Have.Facts.Foreign)
	var found, left []plan.Step
	for _, s := range d.Plan.Steps {
		was := r.mem.drift.leaves(s)
		now := r.quiet && restores(s, foreign)
		if now && !was {
			found = append(found, s)
		}
		if mode == ReportDrift && (now || was) {
			left = append(left, s)
		}
	}
	found = withoutParts(found)
	r.left = map[plan.StepID]bool{}
	for _, s := range left {
		r.left[s.ID] = true
	}
	r.mem.drift.leave(left)
	for _, s := range found {
		if r.e.Drifted != nil {
			r.e.Drifted(r.out.ID, s.Address.Kind, mode)
		}
	}
	switch mode {
	case ReportDrift:
		r.leftFindings = driftFindings(d.Stack, withoutParts(left), mode)
	default:
		r.out.Drift = driftFindings(d.Stack, found, mode)
	}
}

// withoutParts leaves out changes of what is made again as a whole.
func withoutParts(steps []plan.Step) (out []plan.Step) {
	made := map[plan.Address]bool{}
	for _, s := range steps {
		made[s.Address] = made[s.Address] || s.Verb == plan.Create
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.Step) bool { return made[s.Address] && s.Verb != plan.Create })
}

// leavesAll reports whether nothing is to be carried out but what was reported and left.
func (r *run) leavesAll(p plan.Plan) bool {
	return !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !s.Waits() && !r.mem.drift.leaves(s) })
}

// mostDrift is how many changed resources of a run are named.
const mostDrift = 5

// driftFindings say what others have changed, on the objects that ask for what is restored.
func driftFindings(stack model.Stack, steps []plan.Step, mode DriftMode) (out finding.List) {
	more := 0
	for i, s := range steps {
		if i >= mostDrift {
			more++
			continue
		}
		out.Add(driftFinding(stack, s, driftText(s), mode)...)
	}
	if more > 0 {
		out.Add(driftFinding(stack, steps[mostDrift], fmt.Sprintf("%d more resources of the load balancer were changed by others", more), mode)...)
	}
	return out
}

func driftFinding(stack model.Stack, s plan.Step, text string, mode DriftMode) (out finding.List) {
	reason, does := finding.DriftRepaired, "the controller restores it"
	fix := "edit the object to change it for good; CloudTrail shows who changed it"
	if mode == ReportDrift {
		reason, does = finding.DriftFound, "it stays, because of --drift=report"
		fix = "restore it in AWS, or edit the object, which carries the whole desired state out"
	}
	blames := s.Blames
	if len(blames) == 0 && len(stack.Members) > 0 {
		blames = []finding.Ref{stack.Members[0].Ref}
	}
	for _, ref := range blames[:min(len(blames), mostDrift)] {
		out.Add(finding.Finding{Object: ref, Reason: reason, Severity: finding.Warning, Message: text + "; " + does, Fix: fix})
	}
	return out
}

// driftText says what others have done: the other way round than the step that restores it.
func driftText(s plan.Step) string {
	what := fmt.Sprintf("%s %q", strings.ReplaceAll(string(s.Address.Kind), "-", " "), s.Address.ID)
	switch s.Verb {
	case plan.Create:
		return what + " was deleted by others"
	case plan.Delete:
		return what + " was added by others"
	}
	if len(s.Changes) == 0 {
		return what + " was changed by others: " + strings.TrimPrefix(string(s.ID), s.Address.String()+" ")
	}
	var changes []string
	for i, c := range s.Changes {
		if i == mostDrift {
			changes = append(changes, fmt.Sprintf("%d more", len(s.Changes)-i))
			break
		}
		changes = append(changes, plan.Change{Path: c.Path, From: cmp.Or(c.To, none), To: cmp.Or(c.From, none)}.String())
	}
	return what + " was changed by others: " + strings.Join(changes, ", ")
}

// none stands for a value that is not there.
const none = "(none)"
