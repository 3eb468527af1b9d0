package bindingplan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// StepResults has the results of those steps of a plan that were carried out.
type StepResults struct {
	// FailedStep is the step that failed, and Failure the reason. Later steps were not carried out.
	FailedStep Action
	Failure    *Failure
	// RemovalNotNeeded is set if the step RecordRemovalNotNeeded was carried out.
	RemovalNotNeeded bool
	AWSChanged       bool // this run has changed AWS
	// PostponedFor is the time until a postponed call may be sent. The rate limiter has postponed this call without ending
	// the plan.
	PostponedFor time.Duration
	Rules        RulesResult
	// Err is the error of a read of a fact that the rest of the plan needs.
	Err error
}

// RulesResult is the result of the changes of security group rules for a binding.
type RulesResult struct {
	AllRulesExist     bool // all rules of this binding exist
	Faulty            bool // some rules are unknown until a user corrects the binding
	OtherRulesMissing bool // rules of other bindings are missing
	// Findings has findings about the binding. PendingENIFindings has findings about new and terminating pods: AWS may not
	// return their ENIs for some seconds.
	Findings, PendingENIFindings finding.List
}

// RulesResultOf returns the result for the rules that a binding requests if all changes of security groups succeed.
func RulesResultOf(a RequestedRules) RulesResult {
	return RulesResult{AllRulesExist: a.Complete, Faulty: a.Faulty, Findings: a.Findings, PendingENIFindings: a.PendingENIFindings}
}

// WithPendingENIFindings returns a copy of the result in which PendingENIFindings are moved to Findings.
func (o RulesResult) WithPendingENIFindings() RulesResult {
	o.Findings.Add(o.PendingENIFindings...)
	o.Findings, o.PendingENIFindings = o.Findings.Sorted(), nil
	return o
}

// Report has the changes in Kubernetes at the end of a run, and the time until the next run.
type Report struct {
	// Steps are carried out in order. If a SetGate step fails, the other steps are still carried out. Any other step that
	// fails ends the report.
	Steps    []Step
	Findings finding.List
	// RetryAfter is the time until the next run, and Why is its reason. If RetryAfter is zero, the next run is triggered by a
	// change or by the next periodic comparison.
	RetryAfter time.Duration
	Why        string
	// Complete is set if there is nothing to do until the next periodic comparison.
	Complete bool
	// CallPostponed is set if the rate limiter has postponed a call of this run.
	CallPostponed bool
	// AllRegistered is set if all endpoints are registered. Old targets may still be registered.
	AllRegistered bool
	// MissingServerIDs is the number of endpoints that are not registered because they have no QUIC server id.
	MissingServerIDs int
	// StatusHasFault and PodConditionsSet are the fields of ReportedState with the same names, after this report.
	StatusHasFault, PodConditionsSet bool
	// Err is an error that ends the run. The run is repeated with back-off.
	Err error
}

// reporter makes the report at the end of a run.
type reporter struct {
	*Facts
	Report
	stepResults StepResults
}

// Report returns the report of a run after the steps of the plan were carried out.
func (p Plan) Report(f *Facts, d StepResults) Report {
	r := &reporter{Facts: f, stepResults: d}
	r.Findings.Add(f.AlreadyReported.Findings...)
	r.Findings.Add(p.findings...)
	r.StatusHasFault, r.PodConditionsSet, r.RetryAfter = f.AlreadyReported.StatusHasFault, f.AlreadyReported.PodConditionsSet, f.AlreadyReported.RetryAfter
	r.stepResults.AWSChanged = d.AWSChanged || f.AlreadyReported.AWSChanged || f.Memory.SuccessPending
	if p.Err != nil || d.Err != nil {
		r.Err = cmp.Or(p.Err, d.Err)
		return r.Report
	}
	for _, x := range p.retries {
		r.requeueAfter(x.after, x.why)
	}
	for _, wait := range []time.Duration{p.postponedFor, d.PostponedFor} {
		if wait > 0 {
			r.CallPostponed = true
			r.requeueAfter(wait, postponedReason)
		}
	}
	failed := p.Failure(d)
	if failed != nil && r.endAfterKubernetesFailure(failed.Err) {
		return r.Report
	}
	switch p.finalReport {
	case reportMissingEndpoints:
		r.explainMissingEndpoints()
	case reportFailure:
		if failed != nil {
			r.endWithFailure(*failed)
		}
	case reportFindings:
		r.endWithFindings()
	case reportTargets:
		r.reportMoves(p.moves, failed)
	case reportMissingBackend:
		if failed != nil {
			r.endWithFailure(*failed)
			break
		}
		r.setStatus(reasonBackendNotFound, true)
		r.addEvents(r.events(reasonBackendNotFound))
	case reportCleanup:
		if failed != nil {
			r.endWithCleanupFailure(*failed)
		}
	case reportDeletion:
		switch {
		case failed != nil:
			r.Err = failed.Err
		case r.RetryAfter == 0:
			r.addStep(ForgetBinding)
			r.addStep(WriteEvents{[]cluster.Patch{lastingWarnings(f.Key)}})
		}
	}
	return r.Report
}

// Failure returns the failure that ended the plan; nil if there was none.
func (p Plan) Failure(d StepResults) *Failure {
	if d.Failure != nil {
		return d.Failure
	}
	return p.endingFailure
}

// FailureReport returns the report of a run that the failure x ends.
func FailureReport(f *Facts, x Failure) Report {
	p := Plan{finalReport: reportFailure, endingFailure: &x}
	return p.Report(f, StepResults{})
}

// waitingPodsReason is the reason for a run that reads the health of targets again.
const waitingPodsReason = "pods wait for their targets to become healthy"

// postponedReason is the reason for a run that repeats a postponed call.
const postponedReason = "a postponed call may be sent then"

// endAfterKubernetesFailure ends the report with the error if the failed step is a write to Kubernetes, and reports whether
// it has ended the report. A failed SetGate step ends the report only if the binding does not exist.
func (r *reporter) endAfterKubernetesFailure(err error) bool {
	switch r.stepResults.FailedStep.(type) {
	case AddFinalizer:
		r.endWithEvent(err, "FailedAddFinalizer", "Failed add finalizer due to ")
	case CompleteSpec:
		r.endWithEvent(fmt.Errorf("complete the binding: %w", err), reasonFailedReconcile, "Failed reconcile due to ")
	case RemoveFinalizer:
		r.endWithEvent(err, "FailedRemoveFinalizer", "Failed remove finalizer due to ")
	case DropRecord:
		r.endWithEvent(err, reasonFailedReconcile, "Failed reconcile due to ")
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

// reportMoves adds the result of a run that changed targets to the report. failed is the failure that ended the plan; nil if
// there was none.
func (r *reporter) reportMoves(m *targetMoves, failed *Failure) {
	a := r.Attempt
	if a == nil {
		a = m.attempt
	}
	if d, ok := r.stepResults.FailedStep.(Deregister); ok && !r.stepResults.RemovalNotNeeded && len(d.Targets) > 0 {
		a = &RegistrationAttempt{Refusals: []Refusal{{m.ToRegister, *failed, *failed}}, LastFailure: failed}
	}
	if a != nil && a.LastFailure != nil {
		if failed == nil {
			failed = a.LastFailure
		} else if failed != a.LastFailure {
			failed = &Failure{errors.Join(a.LastFailure.Err, failed.Err), a.LastFailure.Class, max(a.LastFailure.RetryAfter, failed.RetryAfter)}
		}
	}
	var refused []Refusal
	if a != nil {
		refused = a.Refusals
	}
	r.Findings.Add(r.stepResults.Rules.Findings...)
	omitted := r.addUnregisteredFindings(m, a)
	waiting := noWaitingPod
	if !targets.HasInstanceTargets(r.CompletedBinding) {
		waiting = gatePlanner{r.Facts}.planPodConditions(&r.Steps, m.MatchedPairs, slices.Concat(withoutRefused(m.ToRegister, refused), m.delayed.endpoints), omitted)
		r.PodConditionsSet, r.AlreadyReported.PodConditionsSet = true, true
	}
	r.explainMissingEndpoints()
	r.reportNoEndpoints(m.selectorChanged)
	r.reportFlapping(m.delayed)
	if failed != nil {
		r.endAfterAttempt(*failed, a)
		// The readiness gates of other pods are polled as if no target had been refused.
		r.requeueIf(waiting > noWaitingPod && r.stepResults.FailedStep == nil && r.Err == nil, r.Options.pollInterval(waiting), waitingPodsReason)
		return
	}
	r.AllRegistered = len(m.OverCapacity)+len(m.delayed.endpoints) == 0
	if m.isShared {
		want, old := r.wantedIdentities(), slices.Concat(m.retainedTargets, m.delayed.targets)
		if r.stepResults.PostponedFor > 0 {
			old = append(old, m.ToDeregister...)
		}
		for _, t := range old {
			if id := targets.CanonicalIdentity(targets.IdentityOf(t)); !r.Record.Deregistered[id] {
				want[id] = true
			}
		}
		r.addStep(SetRecord{want})
	}
	rules, reason := r.stepResults.Rules, ""
	if !rules.AllRulesExist {
		reason = reasonFailedNetwork
	}
	if len(rules.PendingENIFindings) == 0 || len(rules.Findings) > 0 {
		r.setStatus(reason, true)
	}
	r.addEvents(r.events(reason))
	r.recordSuccessReport(reason == "" && !r.CallPostponed)
	r.requeueIf(len(rules.PendingENIFindings) > 0, durations.FirstPoll, "AWS does not return the ENI of an endpoint yet")
	r.requeueIf(!rules.AllRulesExist && !rules.Faulty || rules.OtherRulesMissing, r.Options.Requeue, "some security group rules are missing")
	r.requeueIf(len(m.OverCapacity) > 0, r.Options.Requeue, "the target group has no capacity")
	r.requeueIf(rules.Faulty, durations.LongestTransientBackOff, "")
	r.requeueIf(waiting > noWaitingPod, r.Options.pollInterval(waiting), waitingPodsReason)
	idle := r.Forwards != nil && !r.Forwards.isUnused()
	r.requeueIf(idle, durations.LongestTransientBackOff, "pods wait for a load balancer that uses their targets")
	r.requeueIf(len(m.retainedTargets) > 0, durations.RecheckInterval, "old targets are retained until the first health checks of new targets finish")
	if r.CallPostponed || !rules.AllRulesExist || len(m.OverCapacity) > 0 || waiting > noWaitingPod || idle || len(m.retainedTargets) > 0 || !m.delayed.isEmpty() || r.Resolution.ViewInconsistent {
		return
	}
	r.addStep(RecordComparison)
	r.Complete = true
	r.addStep(SetCheckpoint{Value: r.DesiredCheckpoint})
}

// endWithFailure ends the report after a failure that is not about single endpoints.
func (r *reporter) endWithFailure(f Failure) { r.endAfterAttempt(f, nil) }

// endAfterAttempt ends the report after a failure. a has the refusals of endpoints; nil if there are none.
func (r *reporter) endAfterAttempt(f Failure, a *RegistrationAttempt) {
	if f.RetryAfter > 0 {
		r.CallPostponed = true
		r.requeueAfter(f.RetryAfter, postponedReason)
		r.recordSuccessReport(false)
		return
	}
	x, ok := failureFinding(r.StoredBinding, f)
	if !ok {
		r.endWithEvent(f.Err, reasonFailedReconcile, "Failed reconcile due to ")
		return
	}
	r.RetryAfter, r.Why = durations.LongestTransientBackOff, ""
	if a != nil && a.RetryIn > 0 {
		r.requeueAfter(a.RetryIn, "the registration of a refused target is retried")
	}
	if x.Reason == finding.TargetGroupNotFound {
		switch age := r.Now.Sub(r.StoredBinding.CreationTimestamp.Time); {
		case age < durations.LongestTransientBackOff:
			r.RetryAfter = r.Options.Requeue // AWS may not return a new target group yet
		case age < durations.StableFactAge:
			r.RetryAfter = durations.MissingWait
		}
	}
	r.endWithFindings(x)
}

// endWithFindings ends the report with findings that a user has to resolve.
func (r *reporter) endWithFindings(fs ...finding.Finding) {
	r.Findings.Add(fs...)
	r.Findings = r.Findings.Sorted()
	if r.StatusHasFault {
		// A second fault in the same run would be a second write of the status. Each write triggers a run, so that runs
		// would not end.
		return
	}
	r.StatusHasFault = true
	r.explainClosedGates()
	r.setStatus(reasonFailedReconcile, false)
	r.addEvents(r.events(reasonFailedReconcile))
}

// endWithCleanupFailure ends the report of a run that could not remove the targets and rules of a deleted binding.
func (r *reporter) endWithCleanupFailure(f Failure) {
	if f.RetryAfter > 0 {
		r.CallPostponed = true
		r.requeueAfter(f.RetryAfter, postponedReason)
		return
	}
	r.Findings.Add(finding.Finding{
		Object: targets.BindingRef(r.StoredBinding), Reason: finding.RejectedByAWS, Severity: finding.Error, Message: failure.WithoutSDKText(f.Err), Fix: "the cleanup is retried",
	})
	r.explainClosedGates()
	r.setStatus(reasonFailedCleanup, false)
	r.addEvents(r.events(reasonFailedCleanup))
	r.Err = f.Err
}

// recordSuccessReport records whether success still has to be reported, because the run that sends the postponed call may
// find nothing left to change.
func (r *reporter) recordSuccessReport(reported bool) {
	switch {
	case reported && r.Memory.SuccessPending:
		r.addStep(RecordSuccessReported)
	case !reported && r.CallPostponed && r.stepResults.AWSChanged && !r.Memory.SuccessPending:
		r.addStep(RecordSuccessPending)
	}
}

// endWithEvent ends the report with an error, and adds an event about it.
func (r *reporter) endWithEvent(err error, reason, prefix string) {
	r.addEvents(WriteEvents{[]cluster.Patch{failureEvent(r.Facts, err, reason, prefix)}})
	r.Err = err
}

// failureEvent returns the event about an error. prefix is the beginning of its message.
func failureEvent(f *Facts, err error, reason, prefix string) cluster.Event {
	return cluster.Event{Ref: cluster.RefOf(f.StoredBinding), Warning: true, Reason: reason, Message: prefix + err.Error()}
}

// StatusFailureEvent returns the event about a status that could not be written, and the error that ends the run.
func StatusFailureEvent(f *Facts, err error) (cluster.Event, error) {
	err = fmt.Errorf("write status: %w", err)
	return failureEvent(f, err, "FailedUpdateStatus", "Failed update status due to "), err
}

// addStep adds a step to the report.
func (r *reporter) addStep(a Action) { r.Steps = append(r.Steps, Step{Do: a}) }

// addEvents adds a step that writes the events, if there are any.
func (r *reporter) addEvents(e WriteEvents) {
	if len(e.Patches) > 0 {
		r.addStep(e)
	}
}

// requeueAfter requests another run after some time, unless an earlier run is already requested.
func (r *reporter) requeueAfter(after time.Duration, why string) {
	if r.RetryAfter == 0 || after < r.RetryAfter {
		r.RetryAfter, r.Why = after, why
	}
}

// requeueIf requests another run after some time if needed is true.
func (r *reporter) requeueIf(needed bool, after time.Duration, why string) {
	if needed {
		r.requeueAfter(after, why)
	}
}
