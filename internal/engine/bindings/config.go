package bindings

import (
	"context"
	"fmt"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Config is what a Reconciler needs.
type Config struct {
	Cloud   Cloud
	Cluster Cluster
	// ClusterName is the name that tags of security groups may mention.
	ClusterName string
	// VPC of the controller, for bindings that name none.
	VPC string
	// Targets says how endpoints are chosen.
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
	// Fence returns an error once this process must not write any more. Nil: there is no other.
	Fence func() error
	// Viewed is called with the questions that the run of a binding asked, before anything is done with the
	// answers. The view is nil once the binding is gone, which is then to be forgotten.
	Viewed func(key Key, v *cluster.View)
	// Phase is called with how long a run took, and its parts: view, claim, health, rules, apply, report, and
	// run for all of them after the view. Nil to ignore.
	Phase func(phase string, took time.Duration)
	// PodReady is called with how long a pod's readiness gate took to become true. Nil to ignore.
	PodReady func(binding Key, took time.Duration)
	// NoServerID is called with how many endpoints of a QUIC target group were left out for want of a
	// server id. Nil to ignore.
	NoServerID func(binding Key, endpoints int)
	// Changed is called with each change of AWS that was carried out. Nil to ignore.
	Changed func(Change)
	// Drift says what happens to what others have changed; empty: engine.RepairDrift.
	Drift engine.DriftMode
	// Drifted is called with each kind of thing that others have changed. Nil to ignore.
	Drifted func(kind string, mode engine.DriftMode)
	// Again is called with a binding that has to be run because others have changed its targets, or because rules that it
	// asked for may be gone. Nil to ignore.
	Again func(Key)
	// WatchSilence is that of engine.Config.
	WatchSilence func(ctx context.Context, report func(ctx context.Context, since time.Time)) (stop func())
	// Now is the clock.
	Now func() time.Time
}

// Reconciler runs bindings. What it remembers saves calls and decides nothing.
type Reconciler struct {
	Config
	memory *memory
	owner  *ruleOwner
}

// Outcome is what a run brought about.
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
	m := newMemory(c)
	return &Reconciler{Config: c, memory: m, owner: newRuleOwner()}
}

func (r *Reconciler) viewed(key Key, v *cluster.View) {
	if r.Viewed != nil {
		r.Viewed(key, v)
	}
}

func (r *Reconciler) fence() error {
	if r.Fence == nil {
		return nil
	}
	if err := r.Fence(); err != nil {
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
	if r.Phase != nil {
		r.Phase(name, r.Now().Sub(start))
	}
}
