package engine

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Recorder records the reads and steps of runs, for triggers, metrics and logs. A run calls it from its own goroutine and
// waits for it. Runs of different stacks call it at the same time.
type Recorder interface {
	// RecordView is called after each translation with the view that it has read, before the run acts on it, so that an event
	// that arrives during the run is not missed. All that the run has read at its end is in Outcome.View.
	RecordView(id model.StackID, v *cluster.View)
	// RecordPlan is called with each plan once all its questions to AWS are answered.
	RecordPlan(d Draft)
	// RecordPhase is called with the duration of each phase of a run, and within ApplyPhase also of each step. The phase of
	// a step is "claim", "release", or its kind of resource.
	RecordPhase(kind model.Kind, phase string, took time.Duration)
	// RecordStep is called after each call of a step, with the result. s.Err is set if the step failed.
	RecordStep(id model.StackID, r plan.StepResult, s FailedStep)
	// RecordDrift is called once in a run for each resource that has drifted, with the kind of the resource.
	RecordDrift(id model.StackID, kind plan.ResourceKind, mode DriftMode)
}

// NoRecorder records nothing. A recorder that needs only some of the methods embeds it.
type NoRecorder struct{}

// RecordView implements Recorder.
func (NoRecorder) RecordView(model.StackID, *cluster.View) {}

// RecordPlan implements Recorder.
func (NoRecorder) RecordPlan(Draft) {}

// RecordPhase implements Recorder.
func (NoRecorder) RecordPhase(model.Kind, string, time.Duration) {}

// RecordStep implements Recorder.
func (NoRecorder) RecordStep(model.StackID, plan.StepResult, FailedStep) {}

// RecordDrift implements Recorder.
func (NoRecorder) RecordDrift(model.StackID, plan.ResourceKind, DriftMode) {}
