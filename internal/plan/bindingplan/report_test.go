package bindingplan

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// TestFailedStepsAreReported checks the report for each step that may fail. The run registers target 2 and deregisters
// target 3.
func TestFailedStepsAreReported(t *testing.T) {
	unclear := finding.List{{Object: targets.BindingRef(testBinding()), Severity: finding.Error, Reason: finding.EndpointGroupUnclear}}
	for name, x := range map[string]struct {
		done StepResults
		edit func(*Facts)
		want string
	}{
		"a finalizer that cannot be added":          {done: StepResults{FailedStep: AddFinalizer{}, Failure: &temporaryFailure}, want: "events FailedAddFinalizer; error"},
		"a spec that cannot be completed":           {done: StepResults{FailedStep: CompleteSpec{}, Failure: &temporaryFailure}, want: "events FailedReconcile; error"},
		"a checkpoint that cannot be written":       {done: StepResults{FailedStep: SetCheckpoint{}, Failure: &temporaryFailure}, want: "error"},
		"facts that cannot be read":                 {done: StepResults{Err: errRefused}, want: "error"},
		"a target that cannot be taken out":         {done: StepResults{FailedStep: Deregister{Targets: healthOf("3").Targets}, Failure: &invalidFailure}, want: "status False FailedReconcile; events FailedReconcile; again in 5m0s"},
		"a call that is postponed":                  {done: StepResults{RemovalNotNeeded: true, PostponedFor: 3 * time.Second, Rules: RulesResult{AllRulesExist: true}}, want: "status True SuccessfullyReconciled observed; events; again in 3s; waiting"},
		"success is pending while it is":            {done: StepResults{RemovalNotNeeded: true, AWSChanged: true, PostponedFor: 3 * time.Second, Rules: RulesResult{AllRulesExist: true}}, want: "status True SuccessfullyReconciled observed; events; success pending; again in 3s; waiting"},
		"success is said of what has changed":       {done: StepResults{RemovalNotNeeded: true, AWSChanged: true, Rules: RulesResult{AllRulesExist: true}}, want: "status True SuccessfullyReconciled observed; events SuccessfullyReconciled; compared; checkpoint want; complete"},
		"and of what an earlier run has changed":    {done: StepResults{RemovalNotNeeded: true, Rules: RulesResult{AllRulesExist: true}}, edit: func(f *Facts) { f.Memory.SuccessPending = true }, want: "status True SuccessfullyReconciled observed; events SuccessfullyReconciled; success reported; compared; checkpoint want; complete"},
		"rules that are missing":                    {done: StepResults{RemovalNotNeeded: true, Rules: RulesResult{Findings: unclear}}, want: "status False FailedNetworkReconcile observed; events FailedNetworkReconcile; again in 15s"},
		"rules that a person has to correct":        {done: StepResults{RemovalNotNeeded: true, Rules: RulesResult{Findings: unclear, Faulty: true}}, want: "status False FailedNetworkReconcile observed; events FailedNetworkReconcile; again in 5m0s"},
		"rules of new pods may be missing a moment": {done: StepResults{RemovalNotNeeded: true, Rules: RulesResult{PendingENIFindings: unclear}}, want: "events; again in 3s"},
		"rules of others are tried again":           {done: StepResults{RemovalNotNeeded: true, Rules: RulesResult{AllRulesExist: true, OtherRulesMissing: true}}, want: "status True SuccessfullyReconciled observed; events; compared; checkpoint want; again in 15s; complete"},
		"a call that waits for its turn":            {done: StepResults{FailedStep: Register{}, Failure: &throttledFailure}, want: "again in 3s; waiting"},
		"an error that may pass":                    {done: StepResults{FailedStep: Deregister{}, RemovalNotNeeded: true, Failure: &temporaryFailure, Rules: RulesResult{AllRulesExist: true}}, want: "events FailedReconcile; error"},
		"a fault of this run is reported once":      {done: StepResults{FailedStep: Deregister{}, RemovalNotNeeded: true, Failure: &deniedFailure, Rules: RulesResult{AllRulesExist: true}}, edit: func(f *Facts) { f.AlreadyReported.StatusHasFault = true }, want: "again in 5m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			f := completeFacts(t)
			f.Health = healthOf("1 healthy", "3 healthy")
			if x.edit != nil {
				x.edit(f)
			}
			p := Make(f)
			if got := withoutEmptyParts(planText(p)); got != "known; backend seen; rules; checkpoint; register 10.0.0.2; no removal; deregister 10.0.0.3 or later" {
				t.Fatalf("plan %s", got)
			}
			if got := withoutEmptyParts(reportText(p.Report(f, x.done))); got != x.want {
				t.Errorf("\n got %s\nwant %s", got, x.want)
			}
		})
	}
}

// TestFailedCleanupIsReported checks the report about a deleted binding whose targets or rules could not be removed.
func TestFailedCleanupIsReported(t *testing.T) {
	for name, x := range map[string]struct {
		done StepResults
		want string
	}{
		"its finalizer cannot be removed": {StepResults{FailedStep: RemoveFinalizer{}, Failure: &temporaryFailure}, "events FailedRemoveFinalizer; error"},
		"its record cannot be deleted":    {StepResults{FailedStep: DropRecord{}, Failure: &temporaryFailure}, "events FailedReconcile; error"},
		"AWS refuses":                     {StepResults{FailedStep: Deregister{}, Failure: &deniedFailure}, "status False FailedCleanup; events FailedCleanup; error"},
		"a call waits":                    {StepResults{FailedStep: Deregister{}, Failure: &throttledFailure}, "again in 3s; waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			f := completeFacts(t)
			setDeleted(f, false)
			if got := withoutEmptyParts(reportText(Make(f).Report(f, x.done))); got != x.want {
				t.Errorf("\n got %s\nwant %s", got, x.want)
			}
		})
	}
}

// TestNewBindingsAreRetriedSooner checks that, if the target group is not found, a new binding is retried sooner than an old
// binding. AWS may not return a new target group yet.
func TestNewBindingsAreRetriedSooner(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{0: 15 * time.Second, 10 * time.Minute: time.Minute, 2 * time.Hour: 5 * time.Minute} {
		f := completeFacts(t)
		f.StoredBinding.CreationTimestamp = metav1.NewTime(now.Add(-age))
		if got := FailureReport(f, goneFailure).RetryAfter; got != want {
			t.Errorf("at an age of %v again in %v, want %v", age, got, want)
		}
	}
}

// TestStatusIsWrittenOnlyForChanges checks that an unchanged fault is not written to the status again, and that a new text
// of the same fault is written only after some time. Each write of a status triggers a run.
func TestStatusIsWrittenOnlyForChanges(t *testing.T) {
	for name, x := range map[string]struct {
		text  string // message of the condition in the status
		since time.Duration
		want  string
	}{
		"the same text but for the id of a request": {text: "AWS says no", since: time.Hour},
		"another text":                  {text: "AWS says something else", since: time.Hour, want: "status False FailedReconcile"},
		"another text, after a moment":  {text: "AWS says something else", since: time.Minute},
		"a text after another shows it": {text: "", since: time.Hour, want: "status False FailedReconcile"},
	} {
		t.Run(name, func(t *testing.T) {
			f := completeFacts(t)
			failed := func(text string) Report {
				return FailureReport(f, Failure{Err: errors.New(text), Class: deniedFailure.Class})
			}
			for _, s := range failed(x.text + ", Request ID: 0123-4567-89ab").Steps {
				if set, ok := s.Do.(SetStatus); ok {
					f.StoredBinding.Status.Conditions = set.Conditions
				}
			}
			f.Memory.FaultTextReportedAt = now.Add(-x.since)
			var got []string
			for _, s := range failed("AWS says no, Request ID: ffff-4567-89ab").Steps {
				if set, ok := s.Do.(SetStatus); ok {
					got = append(got, actionText(s.Do))
					if !set.OnlyTextChanges {
						t.Error("it is not known that only the text changes")
					}
				}
			}
			if strings.Join(got, " ") != x.want {
				t.Errorf("got %q, want %q", got, x.want)
			}
		})
	}
}

// TestMissingEndpointsGetConditions checks that a pod gets a condition with the reason if it has been ready for some time,
// but is not an endpoint of the binding.
func TestMissingEndpointsGetConditions(t *testing.T) {
	for name, x := range map[string]struct {
		edit func(*Facts, *corev1.Pod)
		want string
	}{
		"for long":              {func(*Facts, *corev1.Pod) {}, "gate p9 False EndpointMissing"},
		"where nodes are":       {func(f *Facts, _ *corev1.Pod) { setInstanceType(f) }, "gate p9 False EndpointMissing"},
		"for a moment":          {func(_ *Facts, p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now) }, "again in 30s"},
		"not ready":             {func(_ *Facts, p *corev1.Pod) { p.Status.Conditions[0].Status = "False" }, ""},
		"about to go":           {func(_ *Facts, p *corev1.Pod) { at := metav1.NewTime(now); p.DeletionTimestamp = &at }, ""},
		"healthy all the while": {func(_ *Facts, p *corev1.Pod) { setCondition(p, "True", "", time.Hour) }, ""},
		"as it says already": {func(f *Facts, p *corev1.Pod) {
			setCondition(p, "False", "EndpointMissing", time.Hour)
			p.Status.Conditions[1].Message = blockedCondition(gatePlanner{f}.missingEndpointFinding()).Message
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := completeFacts(t)
			setUnchanged(f)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p9"}}
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: f.gateType()}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}}
			f.GatedPods = []*corev1.Pod{pod}
			x.edit(f, pod)
			f.Memory.ComparisonDueIn = 2 * time.Hour
			want := withoutEmptyParts(x.want + "; again in 2h0m0s")
			if strings.HasPrefix(x.want, "again") {
				want = x.want
			}
			if got := withoutEmptyParts(reportText(Make(f).Report(f, StepResults{}))); got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}
