package bindingplan

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// readyCondition is the type of the condition in the status of a binding.
const readyCondition = "Ready"

// setStatus plans to set the Ready condition: true if reason is empty, otherwise false. If observed is set, it also sets the
// observed generation. It plans nothing if the status is unchanged.
func (r *reporter) setStatus(reason string, observed bool) {
	b := r.StoredBinding
	c := metav1.Condition{
		Type: readyCondition, Status: metav1.ConditionTrue, Reason: reasonReconciled, Message: "Successfully reconciled",
		ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(r.Now.Truncate(1e9)),
	}
	if reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reason, conditionMessage(r.Findings)
	}
	s := SetStatus{}
	conditions, changed := withCondition(b.Status.Conditions, c)
	if seen := b.Status.ObservedGeneration; observed && (seen == nil || *seen != b.Generation) {
		s.ReconciledGeneration = &b.Generation
		changed = true
	}
	if !changed {
		return
	}
	if s.OnlyTextChanges = s.ReconciledGeneration == nil && hasSameFault(b.Status.Conditions, c); s.OnlyTextChanges && r.Now.Sub(r.Memory.FaultTextReportedAt) < durations.LongestTransientBackOff {
		// Each write triggers another run, so that two alternating texts would cause endless runs.
		return
	}
	s.Conditions = conditions
	r.addStep(s)
}

// hasSameFault reports whether the list has a condition that differs from the condition c of a fault only in its text.
func hasSameFault(list []metav1.Condition, c metav1.Condition) bool {
	return c.Status == metav1.ConditionFalse && slices.ContainsFunc(list, func(o metav1.Condition) bool {
		return o.Type == c.Type && o.Status == c.Status && o.Reason == c.Reason && o.ObservedGeneration == c.ObservedGeneration
	})
}

// withCondition returns a copy of the list in which the condition c is set, and reports whether this changes the list.
func withCondition(list []metav1.Condition, c metav1.Condition) ([]metav1.Condition, bool) {
	out := slices.Clone(list)
	i := slices.IndexFunc(out, func(o metav1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		return append(out, c), true
	}
	old := out[i]
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	out[i] = c
	return out, old != c
}

// maxMessageBytes is the maximum length, in bytes, that Kubernetes permits for the message of a condition.
const maxMessageBytes = 32768

// conditionMessage returns the message of a condition about the first error in the list.
func conditionMessage(l finding.List) string {
	if f, ok := firstError(l); ok {
		return stableMessage(string(f.Reason) + ": " + f.Text())
	}
	return "see the events"
}

// firstError returns the first error in a list; false if there is none.
func firstError(l finding.List) (finding.Finding, bool) {
	i := slices.IndexFunc(l, func(f finding.Finding) bool { return f.Severity == finding.Error })
	if i < 0 {
		return finding.Finding{}, false
	}
	return l[i], true
}

// stableMessage returns a message without request ID and with the maximum length of a condition message. The same fault must
// have the same message, because each write of a status triggers another run.
func stableMessage(s string) string {
	s = failure.WithoutRequestID(s)
	return strings.ToValidUTF8(s[:min(len(s), maxMessageBytes)], "")
}

// events returns the events for the findings of the report. The events of errors about the binding have the given reason. An
// event about success is added if reason is empty, AWS was changed and no call is postponed.
func (r *reporter) events(reason string) WriteEvents {
	return r.Facts.events(r.Findings, reason, r.stepResults.AWSChanged && !r.CallPostponed)
}

// Event returns the event for a finding. If reason is empty, the event has the reason of the finding.
func Event(x finding.Finding, reason string) cluster.Event {
	return cluster.Event{
		Ref:     x.Object,
		Warning: true, Fault: x.Severity == finding.Error, Reason: cmp.Or(reason, string(x.Reason)), Message: string(x.Reason) + ": " + x.Text(),
	}
}

// events returns the events for findings, and an event about success if changed is set and reason is empty.
func (f *Facts) events(found finding.List, reason string, changed bool) WriteEvents {
	var out []cluster.Patch
	for _, x := range found.Sorted() {
		r := reason
		if x.Object != targets.BindingRef(f.StoredBinding) || x.Severity != finding.Error {
			r = ""
		}
		out = append(out, Event(x, r))
	}
	if reason == "" && changed {
		out = append(out, cluster.Event{Ref: cluster.RefOf(f.StoredBinding), Reason: reasonReconciled, Message: "Successfully reconciled"})
	}
	return WriteEvents{append(out, lastingWarnings(f.Key))}
}

// lastingWarnings returns the patch for the warnings in the same WriteEvents step: their events are emitted again before the
// API server deletes them.
func lastingWarnings(key Key) cluster.LastingWarnings {
	return cluster.LastingWarnings{Subject: "TargetGroupBinding " + key.String()}
}
