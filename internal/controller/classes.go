package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayclass"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
	"github.com/fulcrum-lb/fulcrum/internal/translate/unserved"
)

// classControllerName is the name of the controller of GatewayClasses and configurations of Gateways, in logs and metrics.
const classControllerName = "aws-lbc-gateway-class-controller"

// classReconciler reconciles GatewayClasses, the configurations of Gateways, and ListenerSets. It also reports objects that
// no controller serves because the name of their class is mistyped.
type classReconciler struct {
	cluster  *kube.Cluster
	options  gatewayclass.Options
	unserved unserved.Options
	triggers *queue.Triggers[cluster.Ref]
	metrics  *Metrics
	fence    engine.Fence
	clock    clock.PassiveClock
	versions *Versions

	mu sync.Mutex
	// statusCleared has the time at which the status of each ListenerSet was last cleared.
	statusCleared map[cluster.Ref]time.Time
}

// ClassController returns the controller of GatewayClasses and of the configurations of Gateways. clock provides the
// transition times of conditions. versions are the versions of the installed Gateway API CRDs.
func ClassController(c config.Config, cl *kube.Cluster, m *Metrics, fence engine.Fence, clock clock.PassiveClock, versions *Versions) queue.Controller[cluster.Ref] {
	s := newClasses(c, cl, m, fence, clock, versions)
	return queue.Controller[cluster.Ref]{
		Name: classControllerName, Triggers: s.triggers, Reconciler: s,
	}
}

// Label implements queue.Reconciler.
func (s *classReconciler) Label(r cluster.Ref) []any {
	return []any{"kind", r.Kind, "namespace", r.Namespace, "name", r.Name}
}

// Controller implements queue.Reconciler.
func (s *classReconciler) Controller(cluster.Ref) string { return classControllerName }

// Tenant implements queue.Reconciler.
func (s *classReconciler) Tenant(r cluster.Ref) string { return r.Namespace }

func newClasses(c config.Config, cl *kube.Cluster, m *Metrics, fence engine.Fence, clock clock.PassiveClock, versions *Versions) *classReconciler {
	key, value, _ := c.SecretsLabel()
	s := &classReconciler{cluster: cl, metrics: m, fence: fence, clock: clock, versions: versions, statusCleared: map[cluster.Ref]time.Time{}, options: gatewayclass.Options{
		ALB: c.Gates.IsEnabled(config.ALBGatewayAPI), NLB: c.Gates.IsEnabled(config.NLBGatewayAPI), ListenerSets: c.Gates.IsEnabled(config.GatewayListenerSet),
		SecretKey: key, SecretValue: value, ServiceAccount: c.Kubernetes.ServiceAccount,
	}}
	s.unserved = unserved.Options{IngressClass: c.Ingress.Class, Gateways: servesGateways(c.Gates)}
	if c.Gates.IsEnabled(config.EnableServiceController) {
		s.unserved.Services = &settings.ServiceSelection{Class: c.Service.Class, LoadBalancersOnly: c.Gates.IsEnabled(config.ServiceTypeLoadBalancerOnly)}
	}
	s.triggers = queue.NewTriggers(cl, nil, s)
	return s
}

// ClassKinds returns the kinds that the controller of GatewayClasses and configurations reads.
func ClassKinds() []cluster.Kind {
	return append([]cluster.Kind{cluster.KindSecret, cluster.KindService, cluster.KindIngress, cluster.KindIngressClass}, gatewayKinds()...)
}

// RecordRootChange implements queue.Changes.
func (s *classReconciler) RecordRootChange(_, _ cluster.Object) {}

// Ignores implements queue.Changes.
func (s *classReconciler) Ignores(_, _ cluster.Object) bool { return false }

// Items implements queue.Changes.
func (s *classReconciler) Items(v *cluster.View, obj cluster.Object) []cluster.Ref {
	out := unserved.ObjectsToReport(v, obj, s.unserved)
	if s.unserved.Gateways {
		out = append(out, gatewayclass.ObjectsToReconcile(obj)...)
	}
	return out
}

// eventsOf returns events for the findings about an object. The events are emitted again periodically while the findings
// remain.
func eventsOf(ref cluster.Ref, found finding.List) []cluster.Patch {
	var out []cluster.Patch
	for _, f := range found.Sorted() {
		out = append(out, cluster.Event{Ref: f.Object, Warning: true, Reason: string(f.Reason), Message: string(f.Reason) + ": " + f.TextWithField()})
	}
	return append(out, cluster.LastingWarnings{Subject: "unserved " + ref.String()})
}

// Reconcile implements queue.Reconciler. It writes the status and the events of one object.
func (s *classReconciler) Reconcile(ctx context.Context, ref cluster.Ref) (queue.NextRun, error) {
	v := s.cluster.View()
	opt := s.options
	opt.Versions = s.versions.Get()
	var patches []cluster.Patch
	if s.unserved.Gateways {
		patches = gatewayclass.Patches(v, ref, opt, s.clock.Now())
	}
	found, due := unserved.Report(v, ref, s.unserved, s.clock.Now())
	if err := v.Err(); err != nil {
		return queue.NextRun{}, err
	}
	if obj, err := v.Object(ref.Kind, ref.Namespace, ref.Name); obj == nil && err == nil {
		s.triggers.Forget(ref) // the ListenerSet is enqueued again by a route whose status still names it
	} else {
		s.triggers.RecordReads(ref, v)
	}
	patches, wait := s.withoutRepeatedClear(ref, patches)
	var errs []error
	for _, p := range patches {
		errs = append(errs, s.cluster.Write(ctx, []cluster.Patch{p}))
	}
	errs = append(errs, s.cluster.Write(ctx, eventsOf(ref, found)))
	if due > 0 && (wait == 0 || due < wait) {
		wait = due
	}
	err := errors.Join(errs...)
	if err != nil {
		s.forgetCleared(ref)
	}
	if err != nil && s.fence.CheckFence() != nil {
		return queue.NextRun{After: durations.RetryPeriod}, nil
	}
	if err != nil {
		s.metrics.errors.WithLabelValues(classControllerName, "update_status_error").Inc()
		return queue.NextRun{}, err
	}
	if len(patches) > 0 {
		logr.FromContextOrDiscard(ctx).V(1).Info("updated object", "patches", len(patches))
	}
	return queue.NextRun{After: wait}, nil
}

// withoutRepeatedClear returns patches without the patch that clears the status of a ListenerSet, if the status was cleared
// less than durations.LongInterval ago. It also returns the time until the omitted patch may be written, or 0 if no patch
// was omitted. Without this limit, another controller that restores the status would cause endless writes.
func (s *classReconciler) withoutRepeatedClear(ref cluster.Ref, patches []cluster.Patch) ([]cluster.Patch, time.Duration) {
	if ref.Kind != cluster.KindListenerSet {
		return patches, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.statusCleared, func(_ cluster.Ref, at time.Time) bool { return now.Sub(at) >= durations.LongInterval })
	i := slices.IndexFunc(patches, func(p cluster.Patch) bool {
		e, ok := p.(cluster.StatusEdit)
		return ok && e.Ref == ref
	})
	if i < 0 {
		return patches, 0
	}
	if at, recently := s.statusCleared[ref]; recently {
		return slices.Delete(slices.Clone(patches), i, i+1), durations.LongInterval - now.Sub(at)
	}
	s.statusCleared[ref] = now
	return patches, 0
}

// forgetCleared forgets when the status of a ListenerSet was cleared, so that a failed clear is repeated.
func (s *classReconciler) forgetCleared(ref cluster.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.statusCleared, ref)
}
