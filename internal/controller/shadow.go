package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/queue"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// ErrShadowWrite is the error of any attempt to write to Kubernetes or AWS in shadow mode.
var ErrShadowWrite = errors.New("shadow mode writes nothing")

// ShadowFence is the fence in shadow mode. Shadow mode makes no writes. The fence additionally prevents a write by mistake.
var ShadowFence = engine.ReadOnlyFence{Err: ErrShadowWrite}

// Shadow implements shadow mode: it makes the plans that the controller would carry out, and stores their steps for metrics
// and the report.
type Shadow struct {
	engine   *engine.Engine
	bindings *bindings.Reconciler
	metrics  *Metrics

	mu            sync.Mutex
	items         map[shadowKey]ShadowItem
	reportChanged bool
}

// shadowKey identifies an item that was planned in shadow mode. kind is a model.Kind or one of the kinds below.
type shadowKey struct{ kind, name string }

// The values of shadowKey.kind for items that are not stacks.
const (
	shadowBindingKind = "TargetGroupBinding"
	shadowRulesKind   = "rules of nodes and pods"
)

// NewShadow returns a Shadow that plans with the settings sc and bc of a controller, and the work queues that plan its
// stacks and bindings. It replaces the fences in sc and bc by ShadowFence.
func NewShadow(sc engine.Config, bc bindings.Config, m *Metrics) (*Shadow, queue.Controller[model.StackID], queue.Controller[bindings.Key]) {
	s := &Shadow{metrics: m, items: map[shadowKey]ShadowItem{}}
	m.shadow.Store(s)
	sc.Fence, bc.Fence = ShadowFence, ShadowFence
	triggers := StackTriggers(sc.Cluster, sc.Frontends, nil)
	sc.Recorder, sc.Checkpoints, sc.Secrets = stackReadRecorder{triggers: triggers}, nil, nil
	s.engine = engine.New(sc)
	bound := queue.NewTriggers(sc.Cluster, []cluster.Kind{cluster.KindBinding}, BindingChanges{})
	bc.Recorder = bindingReadRecorder{triggers: bound}
	s.bindings = bindings.New(bc)
	return s,
		queue.Controller[model.StackID]{
			Name: model.Ingress.ControllerName(), Triggers: triggers, Reconciler: shadowStackReconciler{shadow: s, triggers: triggers},
		},
		queue.Controller[bindings.Key]{
			Name: bindingControllerName, Triggers: bound, Reconciler: shadowBindingReconciler{shadow: s, triggers: bound},
		}
}

// shadowStackReconciler is the reconciler of stacks in shadow mode.
type shadowStackReconciler struct {
	stackDescriber
	shadow   *Shadow
	triggers *queue.Triggers[model.StackID]
}

// Reconcile implements queue.Reconciler. It makes the plan of a stack, and does not carry it out.
func (l shadowStackReconciler) Reconcile(ctx context.Context, id model.StackID) (queue.NextRun, error) {
	s := l.shadow
	key := shadowKey{string(id.Kind), id.String()}
	d, err := s.engine.DraftPlan(ctx, id)
	if err != nil {
		return queue.NextRun{}, s.recordFailure(ctx, key, err)
	}
	s.metrics.findings.set(id, d.Findings)
	item := ShadowItem{Findings: len(d.Findings)}
	for _, step := range d.Plan.Steps {
		item.addStep(shadowStep(step))
	}
	if d.Stack.IsEmpty() && len(d.Stack.Leaving) == 0 && len(d.Plan.Steps) == 0 {
		s.forget(key)
		l.triggers.Forget(id)
		return queue.NextRun{}, nil
	}
	s.recordPlan(ctx, key, item)
	return queue.NextRun{After: durations.LongInterval, Idle: true}, nil
}

func shadowStep(step plan.Step) ShadowStep {
	out := ShadowStep{ID: string(step.ID), Kind: string(step.Address.Kind), Impact: step.Impact, Why: step.Why, Waits: step.Waits()}
	for _, f := range step.Fields() {
		out.Changes = append(out.Changes, f.String())
	}
	return out
}

// shadowBindingReconciler is the reconciler of TargetGroupBindings in shadow mode.
type shadowBindingReconciler struct {
	bindingDescriber
	shadow   *Shadow
	triggers *queue.Triggers[bindings.Key]
}

// Reconcile implements queue.Reconciler. It makes the plan of a TargetGroupBinding, and does not carry it out.
func (l shadowBindingReconciler) Reconcile(ctx context.Context, k bindings.Key) (queue.NextRun, error) {
	s := l.shadow
	key := shadowKey{shadowBindingKind, k.String()}
	d, ok, err := s.bindings.DraftPlan(ctx, k)
	switch {
	case err != nil:
		return queue.NextRun{}, s.recordFailure(ctx, key, err)
	case !ok:
		s.forget(key)
		s.metrics.findings.set(k, nil)
		l.triggers.Forget(k)
		return queue.NextRun{}, nil
	}
	s.metrics.findings.set(k, d.Findings())
	if d.ReadError != nil {
		return queue.NextRun{}, s.recordFailure(ctx, key, d.ReadError)
	}
	item := ShadowItem{Findings: len(d.Findings())}
	for _, i := range d.AWSItems() {
		item.addStep(shadowRuleStep(i))
	}
	s.recordPlan(ctx, key, item)
	return queue.NextRun{After: durations.LongInterval, Idle: true}, nil
}

// PlanRules makes the plan of the security group rules of nodes and pods, which all bindings share.
func (s *Shadow) PlanRules(ctx context.Context) error {
	key := shadowKey{shadowRulesKind, ""}
	changes, err := s.bindings.DraftRuleChanges(ctx)
	if err != nil {
		return s.recordFailure(ctx, key, err)
	}
	item := ShadowItem{}
	for _, c := range changes {
		for _, i := range c.Items() {
			item.addStep(shadowRuleStep(i))
		}
	}
	s.recordPlan(ctx, key, item)
	return nil
}

func shadowRuleStep(i bindingplan.PlanItem) ShadowStep {
	return ShadowStep{ID: i.ID(), Kind: i.Kind, Impact: plan.NoImpact, Why: i.Why}
}

// maxErrorText is how many characters of an error the report shows.
const maxErrorText = 500

// recordFailure records that no plan could be made for an item, and returns err. It does not record an error about a stale
// object.
func (s *Shadow) recordFailure(ctx context.Context, key shadowKey, err error) error {
	if errors.As(err, new(cluster.StaleError)) {
		return err // the plan is made again when the cache has received the change
	}
	s.recordPlan(ctx, key, ShadowItem{Failed: finding.Truncate(finding.EscapeNonPrintable(err.Error()), maxErrorText)})
	return err
}

// recordPlan records the plan of an item. If it differs from the previous plan, it logs the number of steps.
func (s *Shadow) recordPlan(ctx context.Context, key shadowKey, item ShadowItem) {
	item.Kind, item.ID = key.kind, key.name
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items[key].equal(item) {
		return
	}
	s.items[key], s.reportChanged = item, true
	logr.FromContextOrDiscard(ctx).V(1).Info("planned in shadow mode", "steps", item.Count, "findings", item.Findings)
}

// forget removes the plan of an item that does not exist any more.
func (s *Shadow) forget(key shadowKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.items[key]; known {
		delete(s.items, key)
		s.reportChanged = true
	}
}

// shadowMetrics collects the metrics of shadow mode. It collects no metrics if no Shadow is set.
type shadowMetrics struct{ atomic.Pointer[Shadow] }

var (
	shadowStepsDesc = prometheus.NewDesc("fulcrum_shadow_steps",
		"Steps that the controller would carry out now, by kind of resource and impact. Only with --shadow.", []string{"kind", "impact"}, nil)
	shadowItemsDesc = prometheus.NewDesc("fulcrum_shadow_items",
		"Load balancers and TargetGroupBindings, by kind and by result of the plan: none (no steps), changes or failed. Only with --shadow.", []string{"kind", "plan"}, nil)
)

// Describe implements prometheus.Collector.
func (m *shadowMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- shadowStepsDesc
	ch <- shadowItemsDesc
}

// Collect implements prometheus.Collector.
func (m *shadowMetrics) Collect(ch chan<- prometheus.Metric) {
	s := m.Load()
	if s == nil {
		return
	}
	r := s.Report(time.Time{})
	for _, n := range r.Steps {
		ch <- prometheus.MustNewConstMetric(shadowStepsDesc, prometheus.GaugeValue, float64(n.Count), n.Kind, string(n.Impact))
	}
	for _, n := range r.Items {
		ch <- prometheus.MustNewConstMetric(shadowItemsDesc, prometheus.GaugeValue, float64(n.Count), n.Kind, n.Plan)
	}
}
