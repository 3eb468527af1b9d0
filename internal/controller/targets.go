package controller

import (
	"context"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// bindingReconciler implements queue.Reconciler for TargetGroupBindings, with a bindings.Reconciler.
type bindingReconciler struct {
	bindingDescriber
	BindingChanges
	reconciler *bindings.Reconciler
	metrics    *Metrics
}

// BindingConfig returns the configuration of the reconciler of bindings. The caller sets the clients, the clock and the
// recorder.
func BindingConfig(c config.Config, vpc string, fence engine.Fence) bindings.Config {
	return bindings.Config{
		ClusterName: c.ClusterName, VPC: vpc, Fence: fence,
		Targets: targets.Options{
			FailOpen: c.Gates.IsEnabled(config.EndpointsFailOpen), UseEndpointsObjects: !c.Targets.EndpointSlices, QUICVariable: c.Targets.QUICVariable,
		},
		MaxTargetsPerTargetGroup: c.Targets.MaxPerTargetGroup, SecurityGroupTags: c.Security.ENISecurityGroupTags,
		Requeue: c.Targets.RequeueDuration, Resync: c.Kubernetes.SyncPeriod, FirstComparisonDelay: c.Targets.ComparisonDeferral,
		UnmergedRules: c.Security.UnrestrictedRules, Drift: engine.DriftMode(c.Drift),
	}
}

// BindingChanges implements queue.Changes for bindings.
type BindingChanges struct{}

// RecordRootChange implements queue.Changes.
func (BindingChanges) RecordRootChange(_, _ cluster.Object) {}

// Ignores implements queue.Changes.
func (BindingChanges) Ignores(_, _ cluster.Object) bool { return false }

// Items implements queue.Changes. A change of a TargetGroupBinding enqueues the binding. A change of a pod enqueues the
// bindings that its readiness gates name, including deleted bindings. Without this rule, the readiness gate of a deleted
// binding would never become True, because no run of that binding has read the pod.
func (BindingChanges) Items(_ *cluster.View, obj cluster.Object) []bindings.Key {
	switch k, _ := cluster.KindOf(obj); k {
	case cluster.KindBinding:
		return []bindings.Key{{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	case cluster.KindPod:
		var out []bindings.Key
		for _, v := range cluster.IndexValues(cluster.PodByReadinessGate, obj) {
			if namespace, name, ok := strings.Cut(v, "/"); ok {
				out = append(out, bindings.Key{Namespace: namespace, Name: name})
			}
		}
		return out
	}
	return nil
}

// BindingController returns the controller of TargetGroupBindings, and the bindings.Reconciler that it uses. It replaces the
// recorder and the queue in cfg.
func BindingController(cfg bindings.Config, cl *kube.Cluster, m *Metrics, log logr.Logger) (queue.Controller[bindings.Key], *bindings.Reconciler) {
	enqueuer := &queue.Enqueuer[bindings.Key]{}
	r := &bindingReconciler{metrics: m}
	triggers := queue.NewTriggers(cl, []cluster.Kind{cluster.KindBinding}, r)
	cfg.Recorder, cfg.Queue = bindingRecorder{bindingReadRecorder{triggers: triggers}, m, log}, enqueuer
	r.reconciler = bindings.New(cfg)
	return queue.Controller[bindings.Key]{Name: bindingControllerName, Triggers: triggers, Reconciler: r, Enqueuer: enqueuer, Metrics: m}, r.reconciler
}

// BindingKinds returns the kinds of objects that runs of TargetGroupBindings read.
func BindingKinds() []cluster.Kind { return slices.Clone(watchedKinds) }

// Ignores implements queue.Changes. It ignores checkpoints that this process has written.
func (r *bindingReconciler) Ignores(old, new cluster.Object) bool {
	return r.reconciler.IsOwnCheckpoint(old, new)
}

// Reconcile implements queue.Reconciler.
func (r *bindingReconciler) Reconcile(ctx context.Context, k bindings.Key) (queue.NextRun, error) {
	r.metrics.topConsumers.countRun("targetgroupbinding", k.Namespace, k.Name)
	out, err := r.reconciler.Reconcile(ctx, k)
	if since := queue.ChangedAt(ctx); out.RegisteredCount > 0 && !since.IsZero() {
		r.metrics.registrationTime.WithLabelValues().Observe(out.RegisteredAt.Sub(since).Seconds())
	}
	if err == nil || len(out.Findings) > 0 {
		r.metrics.findings.set(k, out.Findings)
	}
	if err != nil && r.reconciler.Fence.CheckFence() != nil {
		return queue.NextRun{After: durations.RetryPeriod}, nil
	}
	if failure.PostponedFor(err) > 0 {
		return queue.NextRun{After: out.RetryAfter}, err // a postponed run is not a failure
	}
	if err != nil {
		r.metrics.errors.WithLabelValues(bindingControllerName, "reconcile_targetgroupbinding_error").Inc()
		return queue.NextRun{After: out.RetryAfter}, err
	}
	logr.FromContextOrDiscard(ctx).V(1).Info("reconciled", "changed", out.Changed, "deferred", out.Deferred,
		"retryAfter", out.RetryAfter.String(), "findings", len(out.Findings))
	return queue.NextRun{After: out.RetryAfter, Postponed: out.CallPostponed, ChangeCarriedOut: out.AllRegistered, Idle: out.Deferred || out.Idle}, nil
}

// bindingDescriber implements the methods of queue.Reconciler that describe bindings.
type bindingDescriber struct{}

// Tenant implements queue.Reconciler.
func (bindingDescriber) Tenant(k bindings.Key) string { return k.Namespace }

// Controller implements queue.Reconciler.
func (bindingDescriber) Controller(bindings.Key) string { return bindingControllerName }

// Label implements queue.Reconciler.
func (bindingDescriber) Label(k bindings.Key) []any {
	return []any{"tgb", k.String(), "namespace", k.Namespace, "name", k.Name}
}
