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
	engine.NoRecorder
	triggers *queue.Triggers[model.StackID]
	metrics  *Metrics
	log      logr.Logger
}

// Viewed implements engine.Recorder.
func (r stackRecorder) Viewed(id model.StackID, v *cluster.View) { r.triggers.RecordReads(id, v) }

// Phase implements engine.Recorder.
func (r stackRecorder) Phase(k model.Kind, phase string, took time.Duration) {
	r.metrics.recordPhase(k.Controller(), phase, took)
}

// Stepped implements engine.Recorder.
func (r stackRecorder) Stepped(id model.StackID, result plan.Result, f engine.FailedStep) {
	r.metrics.countStep(id.Kind, f)
	logStep(r.log, id, result, f)
}

// Drifted implements engine.Recorder.
func (r stackRecorder) Drifted(_ model.StackID, kind plan.ResourceKind, mode engine.DriftMode) {
	r.metrics.countDrift(string(kind), mode)
}

// bindingRecorder records the runs of bindings for triggers, metrics and logs. It implements bindings.Recorder.
type bindingRecorder struct {
	triggers *queue.Triggers[bindings.Key]
	metrics  *Metrics
	log      logr.Logger
}

// Viewed implements bindings.Recorder.
func (r bindingRecorder) Viewed(k bindings.Key, v *cluster.View) { r.triggers.RecordReads(k, v) }

// Gone implements bindings.Recorder.
func (r bindingRecorder) Gone(k bindings.Key) { r.triggers.Forget(k) }

// Phase implements bindings.Recorder.
func (r bindingRecorder) Phase(phase string, took time.Duration) {
	r.metrics.recordPhase(bindingController, phase, took)
}

// PodReady implements bindings.Recorder.
func (r bindingRecorder) PodReady(k bindings.Key, took time.Duration) {
	r.metrics.readiness.WithLabelValues(k.Namespace, k.Name).Observe(took.Seconds())
}

// NoServerID implements bindings.Recorder.
func (r bindingRecorder) NoServerID(k bindings.Key, n int) {
	r.metrics.noServerID.WithLabelValues(k.Namespace, k.Name).Add(float64(n))
}

// Changed implements bindings.Recorder.
func (r bindingRecorder) Changed(c bindings.Change) { logChange(r.log, c) }

// Drifted implements bindings.Recorder.
func (r bindingRecorder) Drifted(kind string, mode engine.DriftMode) {
	r.metrics.countDrift(kind, mode)
}

// shadowRecorder records the reads of the plans of a shadow, so that a change of an object triggers a new plan.
type shadowRecorder struct {
	engine.NoRecorder
	triggers *queue.Triggers[model.StackID]
}

// Viewed implements engine.Recorder.
func (r shadowRecorder) Viewed(id model.StackID, v *cluster.View) { r.triggers.RecordReads(id, v) }

// shadowBindingRecorder is shadowRecorder for bindings.
type shadowBindingRecorder struct {
	bindings.NoRecorder
	triggers *queue.Triggers[bindings.Key]
}

// Viewed implements bindings.Recorder.
func (r shadowBindingRecorder) Viewed(k bindings.Key, v *cluster.View) { r.triggers.RecordReads(k, v) }

// Gone implements bindings.Recorder.
func (r shadowBindingRecorder) Gone(k bindings.Key) { r.triggers.Forget(k) }
