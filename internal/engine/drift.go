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

// DriftMode decides whether drift is restored or reported.
type DriftMode string

// The modes.
const (
	RepairDrift DriftMode = "repair" // restored and reported
	ReportDrift DriftMode = "report" // reported, and left until the desired state changes
	IgnoreDrift DriftMode = "off"    // not looked for; restored without a report where a comparison finds it
)

// drifts is the drift of a stack that was reported and left.
type drifts struct {
	// left are the texts of the steps that would restore it.
	left map[string]bool
	// compared is since when changes of others count: those before were part of a plan already.
	compared time.Time
}

// stepText identifies a step with what it changes.
func stepText(s plan.Step) string { return fmt.Sprint(s.ID, s.Changes) }

// isLeft reports whether a step would restore what was reported and left.
func (d *drifts) isLeft(s plan.Step) bool { return d.left[stepText(s)] }

// setLeft remembers the steps that are left, in place of those that were.
func (d *drifts) setLeft(steps []plan.Step) {
	d.left = nil
	for _, s := range steps {
		if d.left == nil {
			d.left = map[string]bool{}
		}
		d.left[stepText(s)] = true
	}
}

// unplannedChanges returns the changes of others that no plan was made from yet.
func (d *drifts) unplannedChanges(all []observed.Foreign) []observed.Foreign {
	return slices.DeleteFunc(slices.Clone(all), func(f observed.Foreign) bool { return !f.At.After(d.compared) })
}

// restoresDrift reports whether a step restores what others have changed. Alone, in a plan that has nothing else to do,
// a resource of a kind that they have changed is enough; beside an edit, or what a stack that has not come to rest goes
// on with, the step is about that very resource.
func restoresDrift(p plan.Plan, s plan.Step, alone bool, foreign []observed.Foreign) bool {
	if s.Revokes {
		return false // whoever changed it, what has no right does not stay
	}
	kind, id, known := s.Address.Kind, cmp.Or(p.KnownIDs[s.Address], s.Address.ID), s.Address.ID
	if kind == plan.BackendGroup {
		kind = plan.SecurityGroup
	}
	if do, ok := s.Do.(plan.CreateRule); ok {
		known = observed.RuleText(s.Rule.Port, do.Rule.Conditions)
	}
	return slices.ContainsFunc(foreign, func(f observed.Foreign) bool {
		switch {
		case f.Kind != string(kind):
			return false
		case alone:
			return true
		case s.Verb == plan.Create:
			return f.Deleted == known
		}
		return f.Deleted == "" && f.ID == id && f.Added == (s.Verb == plan.Delete)
	})
}

// drifted finds the steps of a plan that restore what others have changed, and decides about them. Where the stack was
// as desired and has been compared since, the rest of the plan is drift too. Where it was edited, or has not come to rest,
// everything is carried out, also what --drift=report would leave.
func (r *run) drifted(d Draft) {
	mode := r.e.Drift
	if mode == IgnoreDrift {
		return
	}
	foreign := r.mem.drift.unplannedChanges(d.Have.Facts.Foreign)
	var found, left []plan.Step
	for _, s := range d.Plan.Steps {
		was, now := r.mem.drift.isLeft(s), restoresDrift(d.Plan, s, r.quiet, foreign)
		if now && !was && !r.reported[s.ID] && !r.delayed[s.ID] {
			found = append(found, s)
		}
		if mode == ReportDrift && (now && r.quiet || was) {
			left = append(left, s)
		}
	}
	r.left = map[plan.StepID]bool{}
	for _, s := range left {
		r.left[s.ID] = true
	}
	r.mem.drift.setLeft(left)
	does := mode
	if !r.quiet {
		does = RepairDrift
	}
	found, left = joinByResource(found), joinByResource(left)
	for _, s := range found {
		r.e.Recorder.Drifted(r.out.ID, s.Address.Kind, does)
	}
	text := drifting{stack: d.Stack, mode: does, beside: !r.quiet, again: r.again}
	if i := slices.IndexFunc(d.Findings, func(f finding.Finding) bool { return f.Reason == finding.RulesRevoked }); i >= 0 {
		text.revoked = d.Findings[i]
	}
	if does == RepairDrift {
		r.out.Drift = text.findings(found)
		text.mode, text.beside = mode, false
	}
	r.leftFindings = text.findings(left)
	r.driftOfGroup = slices.ContainsFunc(slices.Concat(found, left), ofSecurityGroup)
}

// withoutReported leaves out what findings about drift say too.
func (r *run) withoutReported(found finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return r.driftOfGroup && f.Reason == finding.RulesRevoked })
}

func ofSecurityGroup(s plan.Step) bool { return s.Address.Kind == plan.SecurityGroup }

// joinByResource returns steps with each resource once: changes of what is made again as a whole are left out, and
// those of one resource are joined.
func joinByResource(steps []plan.Step) (out []plan.Step) {
	at := map[plan.Address]int{}
	for _, s := range withoutParts(steps) {
		i, known := at[s.Address]
		if !known || s.Verb != plan.Update || out[i].Verb != plan.Update {
			at[s.Address] = len(out)
			out = append(out, s)
			continue
		}
		o := &out[i]
		o.Changes = slices.Concat(o.Changes, s.Changes)
		o.Blames = slices.Compact(slices.SortedFunc(slices.Values(slices.Concat(o.Blames, s.Blames)), finding.Ref.Compare))
	}
	return out
}

// withoutParts leaves out changes of what is made again as a whole.
func withoutParts(steps []plan.Step) (out []plan.Step) {
	made := map[plan.Address]bool{}
	for _, s := range steps {
		made[s.Address] = made[s.Address] || s.Verb == plan.Create
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.Step) bool { return made[s.Address] && s.Verb != plan.Create })
}

// leavesAllSteps reports whether nothing is to be carried out but what was reported and left, or made so often that it
// is delayed.
func (r *run) leavesAllSteps(p plan.Plan) bool {
	return !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return !s.Waits() && !r.delayed[s.ID] && !r.mem.drift.isLeft(s) })
}

// mostDrift is how many changed resources of a run are named.
const mostDrift = 5

// drifting is how drift is reported.
type drifting struct {
	stack model.Stack
	mode  DriftMode
	// beside: the steps carry an edit out as well, so that their values are not those of others.
	beside bool
	// again are steps that were carried out before: who undoes them may be others or AWS itself.
	again map[plan.StepID]bool
	// revoked is what the plan reports of rules that others added to a security group, if anything.
	revoked finding.Finding
}

// findings say what others have changed, on the objects that ask for what is restored.
func (d drifting) findings(steps []plan.Step) (out finding.List) {
	for _, s := range steps[:min(len(steps), mostDrift)] {
		out.Add(d.finding(s, d.text(s))...)
	}
	if more := len(steps) - mostDrift; more > 0 {
		out.Add(d.finding(steps[mostDrift], fmt.Sprintf("%d more resources of the load balancer were changed by others", more))...)
	}
	return out
}

func (d drifting) finding(s plan.Step, text string) (out finding.List) {
	reason, does := finding.DriftRepaired, "the controller restores it"
	fix := "edit the object to change it for good; CloudTrail shows who changed it"
	if d.revoked.Fix != "" && ofSecurityGroup(s) {
		fix = d.revoked.Fix + "; CloudTrail shows who changed it"
	}
	if d.mode == ReportDrift {
		reason, does = finding.DriftFound, "it stays, because of --drift=report"
		fix = "restore it in AWS, or edit the object, which carries the whole desired state out"
	}
	blames := s.Blames
	if len(blames) == 0 && len(d.stack.Members) > 0 {
		blames = []finding.Ref{d.stack.Members[0].Ref}
	}
	for _, ref := range blames[:min(len(blames), mostDrift)] {
		out.Add(finding.Finding{Object: ref, Reason: reason, Severity: finding.Warning, Message: text + "; " + does, Fix: fix})
	}
	return out
}

// text returns what others have done, without values for a step that carries out an edit too.
func (d drifting) text(s plan.Step) string {
	switch {
	case !d.beside || s.Verb != plan.Update:
		return driftText(s, d.again[s.ID])
	case d.revoked.Message != "" && ofSecurityGroup(s):
		return d.revoked.Message
	}
	return changedText(s, d.again[s.ID])
}

// changedText returns what others have done to which resource, without values. Where a step was carried out before, it may be AWS that
// does not keep it.
func changedText(s plan.Step, again bool) string {
	does, orElse := "changed", "AWS does not keep what was written"
	switch s.Verb {
	case plan.Create:
		does, orElse = "deleted", "AWS does not show it"
	case plan.Delete:
		does, orElse = "added", "AWS still shows it"
	}
	text := fmt.Sprintf("%s %q was %s by others", strings.ReplaceAll(string(s.Address.Kind), "-", " "), s.Address.ID, does)
	if again {
		text += " again, or " + orElse
	}
	return text
}

// driftText returns what others have done: the other way round than the step that restores it.
func driftText(s plan.Step, again bool) string {
	text := changedText(s, again)
	if s.Verb != plan.Update {
		return text
	}
	if len(s.Changes) == 0 {
		return text + ": " + strings.TrimPrefix(string(s.ID), s.Address.String()+" ")
	}
	var changes []string
	for i, c := range s.Changes {
		if i == mostDrift {
			changes = append(changes, fmt.Sprintf("%d more", len(s.Changes)-i))
			break
		}
		changes = append(changes, plan.Change{Path: c.Path, From: cmp.Or(c.To, none), To: cmp.Or(c.From, none)}.String())
	}
	return text + ": " + strings.Join(changes, ", ")
}

// none stands for a value that is not there.
const none = "(none)"
