package engine

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Recorder records the reads and the steps of runs, for triggers, metrics and logs. A run calls it in its own goroutine and
// waits until the call returns. Runs of different stacks call it at the same time.
type Recorder interface {
	// RecordView is called after each translation, with the view that the translation has read. It is called before the run
	// uses the objects of the view, so that an event during the run is not missed. At the end of the run, Outcome.View has
	// all reads of the run.
	RecordView(id model.StackID, v *cluster.View)
	// RecordPlan is called with each plan whose questions to AWS are all answered.
	RecordPlan(d Draft)
	// RecordPhase is called with the duration of each phase of a run. Within ApplyPhase, it is also called for each step.
	// The phase of a step is "claim", "release", or the kind of its resource.
	RecordPhase(kind model.Kind, phase string, took time.Duration)
	// RecordStep is called after each call of a step, with its result. s.Err is set if the step failed.
	RecordStep(id model.StackID, r plan.StepResult, s FailedStep)
	// RecordDrift is called once in a run for each resource with drift, which is corrected or only reported (mode).
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
