package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Recorder records what runs of bindings read and do: for triggers, metrics and logs. Runs of several bindings call it at
// the same time, and wait for it.
type Recorder interface {
	// Viewed gets the questions that the run of a binding asked, before anything is done with the answers.
	Viewed(key Key, v *cluster.View)
	// Gone gets a binding that does not exist any more, and is to be forgotten.
	Gone(key Key)
	// Phase gets how long a run took, and its parts: view, claim, health, rules, apply, report, and run for all of them
	// after the view.
	Phase(phase string, took time.Duration)
	// PodReady gets how long a pod's readiness gate took to become true.
	PodReady(binding Key, took time.Duration)
	// NoServerID gets how many endpoints of a QUIC target group were left out for want of a server id.
	NoServerID(binding Key, endpoints int)
	// Changed gets each change of AWS that was carried out.
	Changed(c Change)
	// Drifted gets each kind of thing that others have changed.
	Drifted(kind string, mode engine.DriftMode)
}

// NoRecorder records nothing. A recorder that is interested in a part embeds it.
type NoRecorder struct{}

// Viewed implements Recorder.
func (NoRecorder) Viewed(Key, *cluster.View) {}

// Gone implements Recorder.
func (NoRecorder) Gone(Key) {}

// Phase implements Recorder.
func (NoRecorder) Phase(string, time.Duration) {}

// PodReady implements Recorder.
func (NoRecorder) PodReady(Key, time.Duration) {}

// NoServerID implements Recorder.
func (NoRecorder) NoServerID(Key, int) {}

// Changed implements Recorder.
func (NoRecorder) Changed(Change) {}

// Drifted implements Recorder.
func (NoRecorder) Drifted(string, engine.DriftMode) {}

// Queue is where bindings wait for their runs.
type Queue interface {
	// Enqueue has a binding run, because others have changed its targets, or because rules that it asked for may be gone.
	Enqueue(k Key)
}

// noQueue is the queue of a process that runs nothing again.
type noQueue struct{}

// Enqueue implements Queue.
func (noQueue) Enqueue(Key) {}
