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
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
	"github.com/fulcrum-lb/fulcrum/internal/translate/unserved"
)

// classController is the name of what works on GatewayClasses and configurations of Gateways.
const classController = "aws-lbc-gateway-class-controller"

// classes is the line of what belongs to Gateways and is no load balancer, and of what was probably meant for this controller.
type classes struct {
	cluster  *kube.Cluster
	opt      gatewayclass.Options
	unserved unserved.Options
	triggers *queue.Triggers[cluster.Ref]
	metrics  *Metrics
	fence    engine.Fence
	clock    clock.PassiveClock
	versions *Versions

	mu sync.Mutex
	// cleared is when the status of a ListenerSet was taken off last.
	cleared map[cluster.Ref]time.Time
}

// ClassLine returns the controller of GatewayClasses and of the configurations of Gateways. clock is that of what is
// noted on classes, and versions returns the versions of the Gateway API by CRD, nil if they are not known.
func ClassLine(c config.Config, cl *kube.Cluster, m *Metrics, fence engine.Fence, clock clock.PassiveClock, versions *Versions) queue.Line[cluster.Ref] {
	s := newClasses(c, cl, m, fence, clock, versions)
	return queue.Line[cluster.Ref]{
		Name: classController, MaxDelay: durations.MaxDelay, Triggers: s.triggers, Reconciler: s,
	}
}

// Label implements queue.Reconciler.
func (s *classes) Label(r cluster.Ref) []any {
	return []any{"kind", string(r.Kind), "namespace", r.Namespace, "name", r.Name}
}

// Controller implements queue.Reconciler.
func (s *classes) Controller(cluster.Ref) string { return classController }

// Tenant implements queue.Reconciler.
func (s *classes) Tenant(r cluster.Ref) string { return r.Namespace }

func newClasses(c config.Config, cl *kube.Cluster, m *Metrics, fence engine.Fence, clock clock.PassiveClock, versions *Versions) *classes {
	key, value, _ := c.SecretsLabel()
	s := &classes{cluster: cl, metrics: m, fence: fence, clock: clock, versions: versions, cleared: map[cluster.Ref]time.Time{}, opt: gatewayclass.Options{
		ALB: c.Gates.On(config.ALBGatewayAPI), NLB: c.Gates.On(config.NLBGatewayAPI), ListenerSets: c.Gates.On(config.GatewayListenerSet),
		SecretKey: key, SecretValue: value, ServiceAccount: c.Kubernetes.ServiceAccount,
	}}
	s.unserved = unserved.Options{IngressClass: c.Ingress.Class, Gateways: servesGateways(c.Gates)}
	if c.Gates.On(config.EnableServiceController) {
		s.unserved.Services = &settings.ServiceSelection{Class: c.Service.Class, LoadBalancersOnly: c.Gates.On(config.ServiceTypeLoadBalancerOnly)}
	}
	s.triggers = queue.NewTriggers(cl, nil, s)
	return s
}

// ClassKinds returns the kinds that the line of classes reads.
func ClassKinds() []cluster.Kind {
	return append([]cluster.Kind{cluster.KindSecret, cluster.KindService, cluster.KindIngress, cluster.KindIngressClass}, gatewayKinds()...)
}

// Saw implements queue.Changes.
func (s *classes) Saw(_, _ cluster.Object) {}

// Ignores implements queue.Changes.
func (s *classes) Ignores(_, _ cluster.Object) bool { return false }

// Items implements queue.Changes.
func (s *classes) Items(v *cluster.View, obj cluster.Object) []cluster.Ref {
	out := unserved.Items(v, obj, s.unserved)
	if s.unserved.Gateways {
		out = append(out, gatewayclass.Items(obj)...)
	}
	return out
}

// events returns the events of findings, which last.
func events(ref cluster.Ref, found finding.List) []cluster.Patch {
	var out []cluster.Patch
	for _, f := range found.Sorted() {
		out = append(out, cluster.Event{Ref: report.RefTo(f.Object), Warning: true, Reason: string(f.Reason), Message: string(f.Reason) + ": " + f.Located()})
	}
	return append(out, cluster.Lasting{Of: "unserved " + ref.String()})
}

// Reconcile writes what is due to one object. What goes wrong with it is tried again with back-off, and concerns no other.
func (s *classes) Reconcile(ctx context.Context, ref cluster.Ref) (queue.Next, error) {
	v := s.cluster.View()
	opt := s.opt
	opt.Versions = s.versions.Get()
	var patches []cluster.Patch
	if s.unserved.Gateways {
		patches = gatewayclass.Patches(v, ref, opt, s.clock.Now())
	}
	found, due := unserved.Report(v, ref, s.unserved, s.clock.Now())
	if err := v.Err(); err != nil {
		return queue.Next{}, err
	}
	if obj, err := v.Object(ref.Kind, ref.Namespace, ref.Name); obj == nil && err == nil {
		s.triggers.Gone(ref) // routes may have what was said of a ListenerSet, which makes it an item again
	} else {
		s.triggers.Ran(ref, v)
	}
	patches, wait := s.withoutRepeatedClear(ref, patches)
	var errs []error
	for _, p := range patches {
		errs = append(errs, s.cluster.Write(ctx, []cluster.Patch{p}))
	}
	errs = append(errs, s.cluster.Write(ctx, events(ref, found)))
	if due > 0 && (wait == 0 || due < wait) {
		wait = due
	}
	err := errors.Join(errs...)
	if err != nil {
		s.forgetCleared(ref)
	}
	if err != nil && s.fence.Fence() != nil {
		return queue.Next{After: durations.RetryPeriod}, nil
	}
	if err != nil {
		s.metrics.errors.WithLabelValues(classController, "update_status_error").Inc()
		return queue.Next{}, err
	}
	if len(patches) > 0 {
		logr.FromContextOrDiscard(ctx).V(1).Info("updated object", "patches", len(patches))
	}
	return queue.Next{After: wait}, nil
}

// withoutRepeatedClear leaves out the patch that takes the status off a ListenerSet where that was done a moment ago,
// and returns in how long it is due.
func (s *classes) withoutRepeatedClear(ref cluster.Ref, patches []cluster.Patch) ([]cluster.Patch, time.Duration) {
	if ref.Kind != cluster.KindListenerSet {
		return patches, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.cleared, func(_ cluster.Ref, at time.Time) bool { return now.Sub(at) >= durations.Period })
	i := slices.IndexFunc(patches, func(p cluster.Patch) bool {
		e, ok := p.(cluster.StatusEdit)
		return ok && e.Ref == ref
	})
	if i < 0 {
		return patches, 0
	}
	if at, recently := s.cleared[ref]; recently {
		return slices.Delete(slices.Clone(patches), i, i+1), durations.Period - now.Sub(at)
	}
	s.cleared[ref] = now
	return patches, 0
}

// forgetCleared makes the status of a ListenerSet be removed again after a failure.
func (s *classes) forgetCleared(ref cluster.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cleared, ref)
}
