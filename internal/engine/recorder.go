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
	// Viewed is called after each translation with the view that it has read, before the run acts on it, so that an event
	// that arrives during the run is not missed. All that the run has read at its end is in Outcome.View.
	Viewed(id model.StackID, v *cluster.View)
	// Planned is called with each plan once all questions of it are answered.
	Planned(d Draft)
	// Phase is called with the duration of each phase of a run, and within Applying of each step. The phase of a step is
	// "claim", "release", or its kind of resource.
	Phase(kind model.Kind, phase string, took time.Duration)
	// Stepped is called for each step that was called. s has an Err if the step failed.
	Stepped(id model.StackID, r plan.Result, s FailedStep)
	// Drifted is called for each changed resource, once in a run, with its kind.
	Drifted(id model.StackID, kind plan.ResourceKind, mode DriftMode)
}

// NoRecorder records nothing. A recorder that needs only some of the methods embeds it.
type NoRecorder struct{}

// Viewed implements Recorder.
func (NoRecorder) Viewed(model.StackID, *cluster.View) {}

// Planned implements Recorder.
func (NoRecorder) Planned(Draft) {}

// Phase implements Recorder.
func (NoRecorder) Phase(model.Kind, string, time.Duration) {}

// Stepped implements Recorder.
func (NoRecorder) Stepped(model.StackID, plan.Result, FailedStep) {}

// Drifted implements Recorder.
func (NoRecorder) Drifted(model.StackID, plan.ResourceKind, DriftMode) {}
