package engine

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Recorder records what runs read and do: for triggers, metrics and logs. A run calls it from its own goroutine and
// waits for it; runs of other stacks call it at the same time.
type Recorder interface {
	// Viewed gets the questions that a translation and its plan ask, before anything is done with the answers, so that an
	// event that comes meanwhile is not missed. What a run has read when it is over is in its outcome.
	Viewed(id model.StackID, v *cluster.View)
	// Planned gets each plan once nothing more is asked for it, with what it was made of.
	Planned(d Draft)
	// Phase gets how long a phase of a run took, and within Applying, each step: claim, release, or its kind of resource.
	Phase(kind model.Kind, phase string, took time.Duration)
	// Stepped gets each step that was called, with an Err if it failed.
	Stepped(id model.StackID, r plan.Result, s FailedStep)
	// Drifted gets each kind of resource that others have changed.
	Drifted(id model.StackID, kind plan.ResourceKind, mode DriftMode)
}

// NoRecorder records nothing. A recorder that is interested in a part embeds it.
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
