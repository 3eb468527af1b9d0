package bindings

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Config has the dependencies and settings of a Reconciler.
type Config struct {
	Cloud   Cloud
	Cluster Cluster
	// ClusterName is the name of the cluster in the tag kubernetes.io/cluster/<name> of its security groups.
	ClusterName string
	// VPC is the VPC of the controller. It is used for bindings whose spec has no VPC.
	VPC string
	// Targets has the options for the selection of endpoints.
	Targets targets.Options
	// MaxTargetsPerTargetGroup is the maximum number of targets of a target group; 0: no limit.
	MaxTargetsPerTargetGroup int
	// UnmergedRules reports whether security groups get one rule per source and port. If false, they get one rule per
	// source, for the range of all ports.
	UnmergedRules bool
	// SecurityGroupTags are the tags that select the security group for endpoint rules if an ENI has several security groups.
	SecurityGroupTags map[string]string
	// Requeue is the interval at which AWS is polled after a few polls at shorter intervals; 15 s if zero or negative.
	Requeue time.Duration
	// Resync is the period in which unchanged bindings are compared with AWS; 10 h if zero or negative.
	Resync time.Duration
	// FirstComparisonDelay is the time from the start of the process to the first comparison of unchanged bindings with AWS;
	// 30 min if zero. To spread the comparisons, up to half of this time is added. The sum is not longer than Resync.
	FirstComparisonDelay time.Duration
	// Fence is checked before every write; nil: engine.NoFence.
	Fence engine.Fence
	// Recorder records the reads and steps of runs; nil: NoRecorder.
	Recorder Recorder
	// Queue enqueues bindings that have to run again; nil: no binding is enqueued.
	Queue Queue
	// Drift decides whether drift is restored; empty: engine.RepairDrift.
	Drift engine.DriftMode
	// UnansweredCalls watches for calls that AWS does not answer; nil: such calls are not reported before they fail.
	UnansweredCalls engine.UnansweredCallWatcher
	// Clock is used for plans and for the memory of the Reconciler; required.
	Clock clock.PassiveClock
}

// Reconciler reconciles TargetGroupBindings. Its memory saves calls and does not affect results.
type Reconciler struct {
	Config
	memory      *memory
	sharedRules *ruleRegistry
}

// Outcome is the result of a run of a binding.
type Outcome struct {
	// RetryAfter is the time until the binding runs again without an event; zero: it runs only after an event.
	RetryAfter time.Duration
	// Changed reports whether something was written to AWS.
	Changed bool
	// RegisteredCount is the number of targets that the run registered, and RegisteredAt is the time of the last
	// registration.
	RegisteredCount int
	RegisteredAt    time.Time
	// CallPostponed reports whether the rate limiter has postponed a call, which may be sent after RetryAfter.
	CallPostponed bool
	// AllRegistered reports whether all endpoints are registered. Targets may still wait to be deregistered.
	AllRegistered bool
	// Deferred reports whether the run did nothing, because the binding has not changed since its last complete run.
	Deferred bool
	// Idle reports whether nothing is left to do, so that RetryAfter is the time until the next comparison with AWS.
	Idle     bool
	Findings finding.List
}

// New returns a Reconciler, with the defaults for the fields of c that are not set.
func New(c Config) *Reconciler {
	if c.Requeue <= 0 {
		c.Requeue = durations.Requeue
	}
	if c.Resync <= 0 {
		c.Resync = durations.Resync
	}
	if c.FirstComparisonDelay == 0 {
		c.FirstComparisonDelay = durations.OverdueDeadline
	}
	if c.Targets.NodeCache == nil {
		c.Targets.NodeCache = &targets.NodeSets{}
	}
	if c.Fence == nil {
		c.Fence = engine.NoFence{}
	}
	if c.Recorder == nil {
		c.Recorder = NoRecorder{}
	}
	if c.Queue == nil {
		c.Queue = noQueue{}
	}
	m := newMemory(c)
	return &Reconciler{Config: c, memory: m, sharedRules: newRuleOwner()}
}

// checkFence returns an error if this process is not permitted to write any more.
func (r *Reconciler) checkFence() error {
	if err := r.Fence.CheckFence(); err != nil {
		return fmt.Errorf("another process may hold the lease; this process writes nothing more: %w", err)
	}
	return nil
}

// changeObject makes one write to Kubernetes, unless the fence does not permit writes.
func (r *Reconciler) changeObject(ctx context.Context, w Write) error {
	if err := r.checkFence(); err != nil {
		return err
	}
	return r.Cluster.Change(ctx, w)
}

// writeEvents writes events, unless the fence does not permit writes.
func (r *Reconciler) writeEvents(ctx context.Context, patches []cluster.Patch) error {
	if len(patches) == 0 {
		return nil
	}
	if err := r.checkFence(); err != nil {
		return err
	}
	return r.Cluster.Write(ctx, patches)
}

// recordPhase records the duration of a phase since start.
func (r *Reconciler) recordPhase(name string, start time.Time) {
	r.Recorder.RecordPhase(name, r.Clock.Now().Sub(start))
}
