package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Recorder records the reads and changes of runs of bindings, for triggers, metrics and logs. Runs wait for it. Runs of
// different bindings call it at the same time.
type Recorder interface {
	// Viewed is called with the view that a run has read, before the run acts on it.
	Viewed(key Key, v *cluster.View)
	// Gone is called for a binding that does not exist any more, so that the recorder forgets it.
	Gone(key Key)
	// Phase is called with the duration of each phase of a run: view, claim, health, rules, apply, report, and run for all
	// of them after the view.
	Phase(phase string, took time.Duration)
	// PodReady is called with the time that the readiness gate of a pod took to become true.
	PodReady(binding Key, took time.Duration)
	// NoServerID is called with the number of endpoints of a QUIC target group that are left out because they have no server
	// ID.
	NoServerID(binding Key, endpoints int)
	// Changed is called for each change that was made in AWS.
	Changed(c Change)
	// Drifted is called for each kind of resource that has drifted.
	Drifted(kind string, mode engine.DriftMode)
}

// NoRecorder records nothing. A recorder that needs only some of the methods embeds it.
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

// Queue is the work queue of bindings.
type Queue interface {
	// Enqueue adds a binding to the queue, because its targets have drifted or its rules have to be compared.
	Enqueue(k Key)
}

// noQueue is the queue of a process that runs no binding again.
type noQueue struct{}

// Enqueue implements Queue.
func (noQueue) Enqueue(Key) {}
