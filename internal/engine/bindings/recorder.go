package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Recorder records the reads and changes of runs of bindings, for triggers, metrics and logs. Runs wait for it. Runs of
// different bindings call it at the same time.
type Recorder interface {
	// RecordView is called with the view that a run has read, before the run acts on it.
	RecordView(key Key, v *cluster.View)
	// RecordGone is called for a binding that does not exist any more, so that the recorder forgets it.
	RecordGone(key Key)
	// RecordPhase is called with the duration of each phase of a run: view, claim, health, rules, apply, report, and run for
	// all of them after the view.
	RecordPhase(phase string, took time.Duration)
	// RecordPodReady is called with the time that the readiness gate of a pod took to become true.
	RecordPodReady(binding Key, took time.Duration)
	// RecordMissingServerIDs is called with the number of endpoints of a QUIC target group that are left out because they
	// have no server ID.
	RecordMissingServerIDs(binding Key, endpoints int)
	// RecordChange is called for each change that was made in AWS.
	RecordChange(c Change)
	// RecordDrift is called for each kind of resource that has drifted.
	RecordDrift(kind string, mode engine.DriftMode)
}

// NoRecorder records nothing. A recorder that needs only some of the methods embeds it.
type NoRecorder struct{}

// RecordView implements Recorder.
func (NoRecorder) RecordView(Key, *cluster.View) {}

// RecordGone implements Recorder.
func (NoRecorder) RecordGone(Key) {}

// RecordPhase implements Recorder.
func (NoRecorder) RecordPhase(string, time.Duration) {}

// RecordPodReady implements Recorder.
func (NoRecorder) RecordPodReady(Key, time.Duration) {}

// RecordMissingServerIDs implements Recorder.
func (NoRecorder) RecordMissingServerIDs(Key, int) {}

// RecordChange implements Recorder.
func (NoRecorder) RecordChange(Change) {}

// RecordDrift implements Recorder.
func (NoRecorder) RecordDrift(string, engine.DriftMode) {}

// Queue is the work queue of bindings.
type Queue interface {
	// Enqueue adds a binding to the queue, because its targets have drifted or its rules have to be compared.
	Enqueue(k Key)
}

// noQueue is the queue of a process that runs no binding again.
type noQueue struct{}

// Enqueue implements Queue.
func (noQueue) Enqueue(Key) {}
