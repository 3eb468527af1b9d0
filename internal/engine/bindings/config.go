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

// Config holds the dependencies of a Reconciler.
type Config struct {
	Cloud   Cloud
	Cluster Cluster
	// ClusterName is the name that tags of security groups may mention.
	ClusterName string
	// VPC of the controller, for bindings that name none.
	VPC string
	// Targets is how endpoints are chosen.
	Targets targets.Options
	// MaxTargets per target group; 0 for no limit.
	MaxTargets int
	// UnmergedRules keeps every rule of an endpoint group apart instead of joining the ports of one
	// source to a range.
	UnmergedRules bool
	// GroupTags distinguish the security group that carries endpoint rules from others of an interface.
	GroupTags map[string]string
	// Requeue is how long to wait for AWS once the first fast looks are over; 15 s if not above zero.
	Requeue time.Duration
	// Resync is how often unchanged bindings are compared with AWS; 10 h if not above zero.
	Resync time.Duration
	// FirstLook is how long after a start bindings that did not change are left alone; up to a
	// half is added, spread over the bindings. 30 min if zero. Resync bounds it.
	FirstLook time.Duration
	// Fence is asked before every write; nil: engine.Unfenced.
	Fence engine.Fence
	// Recorder records what runs read and do; nil: NoRecorder.
	Recorder Recorder
	// Queue has bindings run again; nil: none are.
	Queue Queue
	// Drift is what happens to what others have changed; empty: engine.RepairDrift.
	Drift engine.DriftMode
	// Silence is the silence of engine.Config.
	Silence engine.SilenceWatcher
	// Clock is the clock of all that is remembered and planned.
	Clock clock.PassiveClock
}

// Reconciler runs bindings. What it remembers saves calls and decides nothing.
type Reconciler struct {
	Config
	memory *memory
	owner  *ruleOwner
}

// Outcome is the result of a run.
type Outcome struct {
	// RetryAfter is when to look again; zero: on a change or resync only.
	RetryAfter time.Duration
	// Changed reports whether something was written to AWS.
	Changed bool
	// Registered is how many targets were registered, the last of them at RegisteredAt.
	Registered   int
	RegisteredAt time.Time
	// Waiting reports whether a call waits for its turn, which it has after RetryAfter.
	Waiting bool
	// AllRegistered reports whether no endpoint waits to be registered, though targets may wait to be taken out.
	AllRegistered bool
	// Deferred reports whether nothing had changed since the last complete run, so nothing was done.
	Deferred bool
	// Idle reports that nothing is left to do, and RetryAfter is when the binding is compared with AWS
	// next.
	Idle     bool
	Findings finding.List
}

// New returns a Reconciler.
func New(c Config) *Reconciler {
	if c.Requeue <= 0 {
		c.Requeue = durations.Requeue
	}
	if c.Resync <= 0 {
		c.Resync = durations.Resync
	}
	if c.FirstLook == 0 {
		c.FirstLook = durations.Overdue
	}
	if c.Targets.Nodes == nil {
		c.Targets.Nodes = &targets.NodeSets{}
	}
	if c.Fence == nil {
		c.Fence = engine.Unfenced{}
	}
	if c.Recorder == nil {
		c.Recorder = NoRecorder{}
	}
	if c.Queue == nil {
		c.Queue = noQueue{}
	}
	m := newMemory(c)
	return &Reconciler{Config: c, memory: m, owner: newRuleOwner()}
}

func (r *Reconciler) fence() error {
	if err := r.Fence.Fence(); err != nil {
		return fmt.Errorf("another process may have taken over, nothing more is written: %w", err)
	}
	return nil
}

// change carries one write to Kubernetes out, unless this process must not write any more.
func (r *Reconciler) change(ctx context.Context, w Write) error {
	if err := r.fence(); err != nil {
		return err
	}
	return r.Cluster.Change(ctx, w)
}

func (r *Reconciler) write(ctx context.Context, patches []cluster.Patch) error {
	if len(patches) == 0 {
		return nil
	}
	if err := r.fence(); err != nil {
		return err
	}
	return r.Cluster.Write(ctx, patches)
}

func (r *Reconciler) phase(name string, start time.Time) {
	r.Recorder.Phase(name, r.Clock.Now().Sub(start))
}
