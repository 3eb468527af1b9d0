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

// DriftMode decides whether drift is corrected or reported.
type DriftMode string

// Values of DriftMode.
const (
	RepairDrift DriftMode = "repair" // corrected and reported
	ReportDrift DriftMode = "report" // reported; corrected only after the desired state changes
	IgnoreDrift DriftMode = "off"    // not detected; corrected without a report if a comparison finds it
)

// driftMemory stores, between runs, the drift of a stack.
type driftMemory struct {
	// uncorrectedStepKeys has the texts (stepChangesKey) of the steps that would correct drift that was only reported.
	uncorrectedStepKeys map[string]bool
	// comparedAt is the time of the last observation from which a plan was made. That plan took into account all outside
	// changes that were read before this time.
	comparedAt time.Time
}

// stepChangesKey returns a text that identifies a step together with its changes.
func stepChangesKey(s plan.Step) string { return fmt.Sprint(s.ID, s.Changes) }

// isUncorrectedDrift reports whether a step would correct drift that was reported but not corrected.
func (d *driftMemory) isUncorrectedDrift(s plan.Step) bool {
	return d.uncorrectedStepKeys[stepChangesKey(s)]
}

// setUncorrectedSteps replaces the stored steps that would correct drift, but are not carried out.
func (d *driftMemory) setUncorrectedSteps(steps []plan.Step) {
	d.uncorrectedStepKeys = nil
	for _, s := range steps {
		if d.uncorrectedStepKeys == nil {
			d.uncorrectedStepKeys = map[string]bool{}
		}
		d.uncorrectedStepKeys[stepChangesKey(s)] = true
	}
}

// changesSinceLastPlan returns the outside changes that were read after the last plan was made.
func (d *driftMemory) changesSinceLastPlan(all []observed.OutsideChange) []observed.OutsideChange {
	return slices.DeleteFunc(slices.Clone(all), func(f observed.OutsideChange) bool { return !f.ReadAt.After(d.comparedAt) })
}

// correctsDrift reports whether a step corrects one of outsideChanges. If wasConverged is true, the stack matched its
// desired state before these changes. The plan then only corrects drift, so every step for a changed kind of resource
// corrects drift. If wasConverged is false, the plan may also carry out an edit, or steps that an earlier run did not carry
// out. Only a step for the changed resource itself then corrects drift.
func correctsDrift(p plan.Plan, s plan.Step, wasConverged bool, outsideChanges []observed.OutsideChange) bool {
	if s.IsRevocation {
		return false // a step that withdraws a right is always carried out, even with --drift=report
	}
	kind, id, known := s.Address.Kind, cmp.Or(p.KnownIDs[s.Address], s.Address.ID), s.Address.ID
	if kind == plan.BackendSecurityGroup {
		kind = plan.SecurityGroup
	}
	if do, ok := s.Do.(plan.CreateRule); ok {
		known = plan.RuleText(s.Rule.Port, do.Rule.Conditions)
	}
	return slices.ContainsFunc(outsideChanges, func(f observed.OutsideChange) bool {
		switch {
		case f.Kind != string(kind):
			return false
		case wasConverged:
			return true
		case s.Verb == plan.Create:
			return f.DeletedResource == known
		}
		return f.DeletedResource == "" && f.ID == id && f.WasAdded == (s.Verb == plan.Delete)
	})
}

// findDrift finds the steps of a plan that correct drift, reports them, and decides whether they are carried out. With
// --drift=report they are not carried out. There are two exceptions: if the stack was edited, the whole plan is carried out.
// If an earlier run did not finish, only the steps that were reported before are not carried out.
func (r *run) findDrift(d Draft) {
	mode := r.e.Drift
	if mode == IgnoreDrift {
		return
	}
	outsideChanges := r.mem.drift.changesSinceLastPlan(d.Have.Facts.OutsideChanges)
	var found, left []plan.Step
	for _, s := range d.Plan.Steps {
		was, now := r.mem.drift.isUncorrectedDrift(s), correctsDrift(d.Plan, s, r.wasConverged, outsideChanges)
		if now && !was && !r.reportedRepeatedSteps[s.ID] && !r.delayedSteps[s.ID] {
			found = append(found, s)
		}
		if mode == ReportDrift && (now && r.wasConverged || was) {
			left = append(left, s)
		}
	}
	r.uncorrectedSteps = map[plan.StepID]bool{}
	for _, s := range left {
		r.uncorrectedSteps[s.ID] = true
	}
	r.mem.drift.setUncorrectedSteps(left)
	does := mode
	if !r.wasConverged {
		does = RepairDrift
	}
	found, left = mergeStepsByResource(found), mergeStepsByResource(left)
	for _, s := range found {
		r.e.Recorder.RecordDrift(r.out.ID, s.Address.Kind, does)
	}
	text := driftReport{stack: d.Stack, mode: does, includesEdit: !r.wasConverged, repeatingSteps: r.repeatingSteps}
	if i := slices.IndexFunc(d.Findings, func(f finding.Finding) bool { return f.Reason == finding.RulesRevoked }); i >= 0 {
		text.outsideRulesFinding = d.Findings[i]
	}
	if does == RepairDrift {
		r.out.Drift = text.findings(found)
		text.mode, text.includesEdit = mode, false
	}
	r.uncorrectedFindings = text.findings(left)
	r.securityGroupDriftReported = slices.ContainsFunc(slices.Concat(found, left), isSecurityGroupStep)
}

// withoutReportedDrift returns the findings without those that the findings about drift repeat.
func (r *run) withoutReportedDrift(found finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return r.securityGroupDriftReported && f.Reason == finding.RulesRevoked })
}

func isSecurityGroupStep(s plan.Step) bool { return s.Address.Kind == plan.SecurityGroup }

// mergeStepsByResource returns the steps, with all updates of a resource joined to one. Updates of recreated resources are
// left out.
func mergeStepsByResource(steps []plan.Step) (out []plan.Step) {
	at := map[plan.Address]int{}
	for _, s := range withoutRecreatedResources(steps) {
		i, known := at[s.Address]
		if !known || s.Verb != plan.Update || out[i].Verb != plan.Update {
			at[s.Address] = len(out)
			out = append(out, s)
			continue
		}
		o := &out[i]
		o.Changes = slices.Concat(o.Changes, s.Changes)
		o.RequestedBy = slices.Compact(slices.SortedFunc(slices.Values(slices.Concat(o.RequestedBy, s.RequestedBy)), finding.Ref.Compare))
	}
	return out
}

// withoutRecreatedResources returns the steps without updates and deletions of resources that other steps create.
func withoutRecreatedResources(steps []plan.Step) (out []plan.Step) {
	created := map[plan.Address]bool{}
	for _, s := range steps {
		created[s.Address] = created[s.Address] || s.Verb == plan.Create
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.Step) bool { return created[s.Address] && s.Verb != plan.Create })
}

// skipsAllSteps reports whether the run carries out no step of the plan, because each step waits, is delayed, or would
// correct drift that is only reported.
func (r *run) skipsAllSteps(p plan.Plan) bool {
	return !slices.ContainsFunc(p.Steps, func(s plan.Step) bool {
		return !s.Waits() && !r.delayedSteps[s.ID] && !r.mem.drift.isUncorrectedDrift(s)
	})
}

// maxNamedItems is the maximum number of changed resources, changes of one resource, or objects in the findings of a run.
const maxNamedItems = 5

// findingObjects returns the objects on which findings about a step are reported: the objects of the step. If the step has
// no objects, it is the first member of the stack.
func findingObjects(s plan.Step, stack model.Stack) []finding.Ref {
	blames := s.RequestedBy
	if len(blames) == 0 && len(stack.Members) > 0 {
		blames = []finding.Ref{stack.Members[0].Ref}
	}
	return blames[:min(len(blames), maxNamedItems)]
}

// resourceText returns the kind and the ID of a resource as text for messages.
func resourceText(a plan.Address) string {
	return fmt.Sprintf("%s %q", strings.ReplaceAll(string(a.Kind), "-", " "), a.ID)
}

// changesText joins the texts of the first maxNamedItems changes, and adds the number of the other changes.
func changesText(changes []plan.Change, text func(plan.Change) string) string {
	var out []string
	for _, c := range changes[:min(len(changes), maxNamedItems)] {
		out = append(out, text(c))
	}
	if more := len(changes) - maxNamedItems; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// driftReport creates the findings about the drift of a stack.
type driftReport struct {
	stack model.Stack
	mode  DriftMode
	// includesEdit reports whether the steps also carry out an edit. The findings then do not contain values, because some
	// of the values were changed by the edit and not by drift.
	includesEdit bool
	// repeatingSteps are steps that were carried out before. External actors may have reverted them, or AWS did not persist
	// them.
	repeatingSteps map[plan.StepID]bool
	// outsideRulesFinding is the finding of the plan about rules of a security group that another client has added. It is
	// zero if the plan has no such finding.
	outsideRulesFinding finding.Finding
}

// findings returns the findings about drift. Each finding is reported on the objects of the step that corrects the drift.
func (d driftReport) findings(steps []plan.Step) (out finding.List) {
	for _, s := range steps[:min(len(steps), maxNamedItems)] {
		out.Add(d.finding(s, d.text(s))...)
	}
	if more := len(steps) - maxNamedItems; more > 0 {
		out.Add(d.finding(steps[maxNamedItems], fmt.Sprintf("%d more resources of the load balancer were changed by others", more))...)
	}
	return out
}

func (d driftReport) finding(s plan.Step, text string) (out finding.List) {
	reason, does := finding.DriftRepaired, "the controller restores it"
	fix := "edit the object to change this setting permanently; CloudTrail shows who changed the resource"
	if d.outsideRulesFinding.Fix != "" && isSecurityGroupStep(s) {
		fix = d.outsideRulesFinding.Fix + "; CloudTrail shows who changed it"
	}
	if d.mode == ReportDrift {
		reason, does = finding.DriftFound, "the change stays, because of --drift=report"
		fix = "undo the change in AWS, or edit the object; after an edit the controller applies the whole desired state"
	}
	for _, ref := range findingObjects(s, d.stack) {
		out.Add(finding.Finding{Object: ref, Reason: reason, Severity: finding.Warning, Message: text + "; " + does, Fix: fix})
	}
	return out
}

// text describes the drift that a step corrects, without values if the step also carries out an edit.
func (d driftReport) text(s plan.Step) string {
	switch {
	case !d.includesEdit || s.Verb != plan.Update:
		return driftText(s, d.repeatingSteps[s.ID])
	case d.outsideRulesFinding.Message != "" && isSecurityGroupStep(s):
		return d.outsideRulesFinding.Message
	}
	return changedResourceText(s, d.repeatingSteps[s.ID])
}

// changedResourceText describes, without values, which resource was changed, deleted or added outside of the controller. If
// repeated is true, the step was carried out before, and another possible reason is that AWS does not persist the change.
func changedResourceText(s plan.Step, repeated bool) string {
	does, orElse := "changed", "AWS does not persist the change"
	switch s.Verb {
	case plan.Create:
		does, orElse = "deleted", "AWS does not show it"
	case plan.Delete:
		does, orElse = "added", "AWS still shows it"
	}
	text := fmt.Sprintf("%s was %s by others", resourceText(s.Address), does)
	if repeated {
		text += " again, or " + orElse
	}
	return text
}

// driftText describes the drift that a step corrects, with values. The text has the old and new values of the step in
// reverse order, because the step reverts the drift.
func driftText(s plan.Step, repeated bool) string {
	text := changedResourceText(s, repeated)
	if s.Verb != plan.Update {
		return text
	}
	if len(s.Changes) == 0 {
		return text + ": " + strings.TrimPrefix(string(s.ID), s.Address.String()+" ")
	}
	return text + ": " + changesText(s.Changes, func(c plan.Change) string {
		return plan.Change{Path: c.Path, From: cmp.Or(c.To, absentValue), To: cmp.Or(c.From, absentValue)}.String()
	})
}

// absentValue is the text for a value that is not set.
const absentValue = "(none)"
