package bindingplan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// StepResults is what the steps of a plan have brought about.
type StepResults struct {
	// At is the step that failed, with its Failure. The steps behind it were not carried out.
	At      Action
	Failure *Failure
	// NoRemoval reports whether the steps came past the note of that name.
	NoRemoval bool
	Changed   bool
	// Postponed is in how long a call that was postponed, and did not end the plan, has its turn.
	Postponed time.Duration
	Rules     RulesResult
	// Err is why facts for the rest of the plan could not be read.
	Err error
}

// RulesResult is the result of the changes of security group rules for a binding.
type RulesResult struct {
	Done   bool // those of this binding are there
	Faulty bool // some are not known until the binding is corrected
	Again  bool // those of others are not there
	// Findings about the binding. Unseen are those about pods that come or go, whose ENI AWS does not show for a moment.
	Findings, Unseen finding.List
}

// OpeningOf returns what happens to the rules that a binding asks for if all steps succeed.
func RulesResultOf(a AskedRules) RulesResult {
	return RulesResult{Done: a.Complete, Faulty: a.Faulty, Findings: a.Findings, Unseen: a.Unseen}
}

// Warned returns the opening with findings also about what AWS does not show for a moment.
func (o RulesResult) Warned() RulesResult {
	o.Findings.Add(o.Unseen...)
	o.Findings, o.Unseen = o.Findings.Sorted(), nil
	return o
}

// Report is what is written to Kubernetes at the end of a run, and when the next one is due.
type Report struct {
	// Steps in their order. All SetGate steps are tried; otherwise one that fails ends them.
	Steps    []Step
	Findings finding.List
	// RetryAfter is when to look again, and Why; zero: on a change or for the next comparison.
	RetryAfter time.Duration
	Why        string
	// Complete: nothing is left to do; the next run is the comparison.
	Complete bool
	// Waiting: a call waits for its turn.
	Waiting bool
	// AllRegistered: no endpoint waits to be registered, though targets may wait to be taken out.
	AllRegistered bool
	// NoServerID is how many endpoints were left out for want of a QUIC server id.
	NoServerID int
	// Fault, Pods: see Reported.
	Fault, Pods bool
	// Err ends the run, which is repeated with back-off.
	Err error
}

type reporter struct {
	*Facts
	Report
	done StepResults
}

// Report returns what is to be reported after the steps of a plan were carried out.
func (p Plan) Report(f *Facts, d StepResults) Report {
	r := &reporter{Facts: f, done: d}
	r.Findings.Add(f.Reported.Findings...)
	r.Findings.Add(p.findings...)
	r.Fault, r.Pods, r.RetryAfter = f.Reported.Fault, f.Reported.Pods, f.Reported.RetryAfter
	r.done.Changed = d.Changed || f.Reported.Changed || f.Memory.SuccessPending
	if p.Err != nil || d.Err != nil {
		r.Err = cmp.Or(p.Err, d.Err)
		return r.Report
	}
	for _, x := range p.retries {
		r.requeueAfter(x.after, x.why)
	}
	for _, turn := range []time.Duration{p.postponed, d.Postponed} {
		if turn > 0 {
			r.Waiting = true
			r.requeueAfter(turn, turnWhy)
		}
	}
	failed := p.Failure(d)
	if failed != nil && r.ofKubernetes(failed.Err) {
		return r.Report
	}
	switch p.end {
	case withMissingEndpoints:
		r.explainMissingEndpoints()
	case withFailure:
		if failed != nil {
			r.stopped(*failed)
		}
	case withFindings:
		r.stop(reasonFailedReconcile)
	case withTargets:
		r.reportMoves(p.moves, failed)
	case withdrawn:
		if failed != nil {
			r.stopped(*failed)
			break
		}
		r.status(reasonBackendNotFound, true)
		r.write(r.events(r.Findings, reasonBackendNotFound))
	case released:
		if failed != nil {
			r.stopUncleaned(*failed)
		}
	case disappeared:
		switch {
		case failed != nil:
			r.Err = failed.Err
		case r.RetryAfter == 0:
			r.do(Forgotten)
			r.do(WriteEvents{[]cluster.Patch{lastingWarnings(f.Key)}})
		}
	}
	return r.Report
}

// Failure returns what ended a plan, nil if nothing did.
func (p Plan) Failure(d StepResults) *Failure {
	if d.Failure != nil {
		return d.Failure
	}
	return p.failed
}

// Failed reports a failure that ends a run.
func Failed(f *Facts, x Failure) Report {
	p := Plan{end: withFailure, failed: &x}
	return p.Report(f, StepResults{})
}

const turnWhy = "a call has its turn then"

// ofKubernetes handles a failed write of the binding itself, which ends the run.
func (r *reporter) ofKubernetes(err error) bool {
	switch r.done.At.(type) {
	case AddFinalizer:
		r.note(err, "FailedAddFinalizer", "Failed add finalizer due to ")
	case CompleteSpec:
		r.note(fmt.Errorf("complete the binding: %w", err), reasonFailedReconcile, "Failed reconcile due to ")
	case RemoveFinalizer:
		r.note(err, "FailedRemoveFinalizer", "Failed remove finalizer due to ")
	case SetCheckpoint, SetRecord, WriteEvents:
		r.Err = err
	case SetGate:
		if !r.Absent {
			return false
		}
		r.Err = err
	default:
		return false
	}
	return true
}

// reportMoves reports on a run that changed targets.
func (r *reporter) reportMoves(m *moves, failed *Failure) {
	a := r.Attempt
	if a == nil {
		a = m.attempt
	}
	if d, ok := r.done.At.(Deregister); ok && !r.done.NoRemoval && len(d.Targets) > 0 {
		a = &Attempt{Refused: []Refusal{{m.Register, *failed, *failed}}, Failed: failed}
	}
	if a != nil && a.Failed != nil {
		if failed == nil {
			failed = a.Failed
		} else if failed != a.Failed {
			failed = &Failure{errors.Join(a.Failed.Err, failed.Err), a.Failed.Class, max(a.Failed.RetryAfter, failed.RetryAfter)}
		}
	}
	var refused []Refusal
	if a != nil {
		refused = a.Refused
	}
	r.Findings.Add(r.done.Rules.Findings...)
	left := r.addUnregistered(m, a)
	waiting := noGate
	if !targets.IsInstance(r.Described) {
		waiting = gates{r.Facts}.showHealth(&r.Steps, m.Matched, slices.Concat(withoutRefused(m.Register, refused), m.delayed.endpoints), left)
		r.Pods, r.Reported.Pods = true, true
	}
	r.explainMissingEndpoints()
	r.reportNoEndpoints(m.deselected)
	r.reportFlapping(m.delayed)
	if failed != nil {
		r.stoppedAfter(*failed, a)
		return
	}
	r.AllRegistered = len(m.Over)+len(m.delayed.endpoints) == 0
	if m.owned {
		want := r.wantedIdentities()
		for _, t := range slices.Concat(m.retained, m.delayed.targets) {
			want[targets.CanonicalIdentity(targets.IdentityOf(t))] = true
		}
		r.do(SetRecord{want})
	}
	rules, reason := r.done.Rules, ""
	if !rules.Done {
		reason = reasonFailedNetwork
	}
	if len(rules.Unseen) == 0 || len(rules.Findings) > 0 {
		r.status(reason, true)
	}
	r.write(r.events(r.Findings, reason))
	r.noteReported(reason == "" && !r.Waiting)
	r.requeueIf(len(rules.Unseen) > 0, durations.FirstPoll, "AWS does not show the ENI of an endpoint yet")
	r.requeueIf(!rules.Done && !rules.Faulty || rules.Again, r.Options.Requeue, "rules are not all there")
	r.requeueIf(len(m.Over) > 0, r.Options.Requeue, "the target group has no room")
	r.requeueIf(rules.Faulty, durations.DeniedWait, "")
	r.requeueIf(waiting > noGate, r.Options.pollInterval(waiting), "pods wait for their targets to become healthy")
	idle := r.Forwards != nil && !r.Forwards.isUnused()
	r.requeueIf(idle, durations.DeniedWait, "pods wait for a load balancer that uses their targets")
	r.requeueIf(len(m.retained) > 0, durations.Soon, "old targets serve on until new ones are healthy")
	if r.Waiting || !rules.Done || len(m.Over) > 0 || waiting > noGate || idle || len(m.retained) > 0 || !m.delayed.isEmpty() || r.Resolution.Unknown {
		return
	}
	r.do(Compared)
	r.Complete = true
	r.do(SetCheckpoint{Value: r.Want})
}

// stopped ends a run at an error of AWS.
func (r *reporter) stopped(f Failure) { r.stoppedAfter(f, nil) }

func (r *reporter) stoppedAfter(f Failure, a *Attempt) {
	if f.RetryAfter > 0 {
		r.Waiting = true
		r.requeueAfter(f.RetryAfter, turnWhy)
		r.noteReported(false)
		return
	}
	x, ok := findingOf(r.Stored, f)
	if !ok {
		r.note(f.Err, reasonFailedReconcile, "Failed reconcile due to ")
		return
	}
	r.RetryAfter, r.Why = durations.DeniedWait, ""
	if a != nil && a.Untried > 0 {
		r.requeueAfter(a.Untried, "a refused target is tried again")
	}
	if x.Reason == finding.TargetGroupNotFound {
		switch age := r.Now.Sub(r.Stored.CreationTimestamp.Time); {
		case age < durations.DeniedWait:
			r.RetryAfter = r.Options.Requeue // it may have been made a moment ago
		case age < durations.StableFactAge:
			r.RetryAfter = durations.MissingWait
		}
	}
	r.stop(reasonFailedReconcile, x)
}

// stop ends a run whose faults are to be corrected by a person.
func (r *reporter) stop(reason string, fs ...finding.Finding) {
	r.Findings.Add(fs...)
	r.Findings = r.Findings.Sorted()
	if r.Fault {
		// A second text for the same run would be another write, which triggers another run, for ever.
		return
	}
	r.Fault = true
	r.explainWaiting()
	r.status(reason, false)
	r.write(r.events(r.Findings, reason))
}

// stopUncleaned ends the run over a binding that cannot go yet.
func (r *reporter) stopUncleaned(f Failure) {
	if f.RetryAfter > 0 {
		r.Waiting = true
		r.requeueAfter(f.RetryAfter, turnWhy)
		return
	}
	r.Findings.Add(finding.Finding{
		Object: targets.Ref(r.Stored), Reason: finding.RejectedByAWS, Severity: finding.Error, Message: f.Err.Error(), Fix: "this is tried again",
	})
	r.explainWaiting()
	r.status(reasonFailedCleanup, false)
	r.write(r.events(r.Findings, reasonFailedCleanup))
	r.Err = f.Err
}

// noteReported remembers whether success is still to be reported. The call that waits may have nothing to do any more when
// it has its turn.
func (r *reporter) noteReported(reported bool) {
	switch {
	case reported && r.Memory.SuccessPending:
		r.do(SuccessReported)
	case !reported && r.Waiting && r.done.Changed && !r.Memory.SuccessPending:
		r.do(SuccessPending)
	}
}

// note writes an event about an error that ends the run.
func (r *reporter) note(err error, reason, prefix string) {
	r.write(WriteEvents{[]cluster.Patch{failureEvent(r.Facts, err, reason, prefix)}})
	r.Err = err
}

func failureEvent(f *Facts, err error, reason, prefix string) cluster.Event {
	return cluster.Event{Ref: cluster.RefOf(f.Stored), Warning: true, Reason: reason, Message: prefix + err.Error()}
}

// StatusFailed returns the event about a status that could not be written.
func StatusFailed(f *Facts, err error) (cluster.Event, error) {
	err = fmt.Errorf("write status: %w", err)
	return failureEvent(f, err, "FailedUpdateStatus", "Failed update status due to "), err
}

func (r *reporter) do(a Action) { r.Steps = append(r.Steps, Step{Do: a}) }

func (r *reporter) write(e WriteEvents) {
	if len(e.Patches) > 0 {
		r.do(e)
	}
}

// requeueAfter asks for another run after a time, if none is asked for sooner.
func (r *reporter) requeueAfter(after time.Duration, why string) {
	if r.RetryAfter == 0 || after < r.RetryAfter {
		r.RetryAfter, r.Why = after, why
	}
}

func (r *reporter) requeueIf(needed bool, after time.Duration, why string) {
	if needed {
		r.requeueAfter(after, why)
	}
}
