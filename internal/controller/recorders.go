package controller

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// stackRecorder records the runs of stacks for triggers, metrics and logs. It implements engine.Recorder.
type stackRecorder struct {
	stackReadRecorder
	metrics *Metrics
	log     logr.Logger
}

// RecordPhase implements engine.Recorder.
func (r stackRecorder) RecordPhase(k model.Kind, phase string, took time.Duration) {
	r.metrics.recordPhase(k.ControllerName(), phase, took)
}

// RecordStep implements engine.Recorder.
func (r stackRecorder) RecordStep(id model.StackID, result plan.StepResult, f engine.FailedStep) {
	r.metrics.countStep(id.Kind, f)
	logStep(r.log, id, result, f)
}

// RecordDrift implements engine.Recorder.
func (r stackRecorder) RecordDrift(_ model.StackID, kind plan.ResourceKind, mode engine.DriftMode) {
	r.metrics.countDrift(string(kind), mode)
}

// bindingRecorder records the runs of bindings for triggers, metrics and logs. It implements bindings.Recorder.
type bindingRecorder struct {
	bindingReadRecorder
	metrics *Metrics
	log     logr.Logger
}

// RecordPhase implements bindings.Recorder.
func (r bindingRecorder) RecordPhase(phase string, took time.Duration) {
	r.metrics.recordPhase(bindingControllerName, phase, took)
}

// RecordPodReady implements bindings.Recorder.
func (r bindingRecorder) RecordPodReady(k bindings.Key, took time.Duration) {
	r.metrics.readinessTime.WithLabelValues(k.Namespace, k.Name).Observe(took.Seconds())
}

// RecordMissingServerIDs implements bindings.Recorder.
func (r bindingRecorder) RecordMissingServerIDs(k bindings.Key, n int) {
	r.metrics.missingServerIDs.WithLabelValues(k.Namespace, k.Name).Add(float64(n))
}

// RecordChange implements bindings.Recorder.
func (r bindingRecorder) RecordChange(c bindings.Change) { logChange(r.log, c) }

// RecordDrift implements bindings.Recorder.
func (r bindingRecorder) RecordDrift(kind string, mode engine.DriftMode) {
	r.metrics.countDrift(kind, mode)
}

// stackReadRecorder records what runs of stacks have read, so that a change of an object triggers a new run. In shadow mode
// nothing else is recorded.
type stackReadRecorder struct {
	engine.NoRecorder
	triggers *queue.Triggers[model.StackID]
}

// RecordView implements engine.Recorder.
func (r stackReadRecorder) RecordView(id model.StackID, v *cluster.View) {
	r.triggers.RecordReads(id, v)
}

// bindingReadRecorder is stackReadRecorder for bindings.
type bindingReadRecorder struct {
	bindings.NoRecorder
	triggers *queue.Triggers[bindings.Key]
}

// RecordView implements bindings.Recorder.
func (r bindingReadRecorder) RecordView(k bindings.Key, v *cluster.View) {
	r.triggers.RecordReads(k, v)
}

// RecordDeleted implements bindings.Recorder.
func (r bindingReadRecorder) RecordDeleted(k bindings.Key) { r.triggers.Forget(k) }
