package bindings

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
)

// Recorder records the reads and changes of runs of bindings, for event subscriptions, metrics and logs. Runs wait until a
// method returns. Runs of different bindings call the methods concurrently.
type Recorder interface {
	// RecordView is called with the view of a run and the objects that it has read, before the run acts on them.
	RecordView(key Key, v *cluster.View)
	// RecordDeleted is called for a binding that does not exist any more, so that the recorder forgets it.
	RecordDeleted(key Key)
	// RecordPhase is called with the duration of each phase of a run: "view", "claim", "health", "rules", "apply", "report".
	// The phase "run" includes all of the run after "view".
	RecordPhase(phase string, took time.Duration)
	// RecordPodReady is called with the time that passed until the readiness gate of a pod became True.
	RecordPodReady(binding Key, took time.Duration)
	// RecordMissingServerIDs is called with the number of endpoints of a QUIC target group that are left out because they
	// have no server ID.
	RecordMissingServerIDs(binding Key, endpoints int)
	// RecordChange is called for each change that was made in AWS.
	RecordChange(c Change)
	// RecordDrift is called for each kind of resource in which drift was found.
	RecordDrift(kind string, mode engine.DriftMode)
}

// NoRecorder records nothing. A recorder that needs only some of the methods embeds it.
type NoRecorder struct{}

// RecordView implements Recorder.
func (NoRecorder) RecordView(Key, *cluster.View) {}

// RecordDeleted implements Recorder.
func (NoRecorder) RecordDeleted(Key) {}

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

// noQueue is a Queue that ignores the bindings.
type noQueue struct{}

// Enqueue implements Queue.
func (noQueue) Enqueue(Key) {}
