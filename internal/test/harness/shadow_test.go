package harness

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// countingAPI is an API server that counts write requests.
type countingAPI struct {
	kube.API
	writes *atomic.Int64
}

func (c countingAPI) Create(ctx context.Context, obj cluster.Object) error {
	c.writes.Add(1)
	return c.API.Create(ctx, obj)
}

func (c countingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	c.writes.Add(1)
	return c.API.Patch(ctx, obj, part, kind, data)
}

func (c countingAPI) Update(ctx context.Context, obj cluster.Object) error {
	c.writes.Add(1)
	return c.API.Update(ctx, obj)
}

func (c countingAPI) Delete(ctx context.Context, obj cluster.Object) error {
	c.writes.Add(1)
	return c.API.Delete(ctx, obj)
}

// shadowController is a controller in shadow mode for the cluster and the AWS of a harness.
type shadowController struct {
	*controller.Shadow
	metrics *controller.Metrics
	writes  atomic.Int64
	file    string
	stop    func()
}

// startShadow starts a shadowController beside the controller of a harness. Callers must call its stop.
func startShadow(t *testing.T, r *Harness) *shadowController {
	t.Helper()
	s := &shadowController{metrics: controller.NewMetrics(), file: filepath.Join(t.TempDir(), "shadow.json")}
	cl := kube.New(&cluster.ReducedSource{Source: r.Store}, countingAPI{kube.MemoryAPI{Store: r.Store}, &s.writes}, clock.RealClock{})
	sc, bc := r.process.engineConfig, r.process.bindingConfig
	sc.Cluster, bc.Cluster = cl, cl
	shadow, stacks, bound := controller.NewShadow(sc, bc, s.metrics)
	s.Shadow, stacks.Workers, bound.Workers = shadow, 2, 2
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	src := storeEvents{r.Store}
	for _, run := range []func() error{
		func() error { return stacks.Start(ctx, src, controller.StackKinds(), logr.Discard()) },
		func() error { return bound.Start(ctx, src, controller.BindingKinds(), logr.Discard()) },
		func() error { return shadow.PlanRulesPeriodically(ctx, src.WaitForSync) },
		func() error { return shadow.WriteReportPeriodically(ctx, s.file, ClusterName, logr.Discard()) },
	} {
		running.Go(func() {
			if err := run(); err != nil {
				t.Error(err)
			}
		})
	}
	s.stop = func() { cancel(); running.Wait() }
	return s
}

// readReport returns the report that the shadow controller wrote last.
func (s *shadowController) readReport(t *testing.T) controller.ShadowReport {
	t.Helper()
	data, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	var out controller.ShadowReport
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// plannedSteps returns the sum of all values of metric fulcrum_shadow_steps.
func (s *shadowController) plannedSteps(t *testing.T) float64 {
	t.Helper()
	return s.sumOfMetric(t, "fulcrum_shadow_steps", "")
}

// sumOfMetric returns the sum of the values of a metric. If object is not empty, it adds only series with that value of the
// label name.
func (s *shadowController) sumOfMetric(t *testing.T, metric, object string) (sum float64) {
	t.Helper()
	reg := prometheus.NewRegistry()
	if err := s.metrics.Register(reg); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			matches := object == ""
			for _, l := range m.GetLabel() {
				matches = matches || l.GetName() == "name" && l.GetValue() == object
			}
			if matches {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestShadowModeWritesNothing checks that a shadow controller reports the changes that it would make, but makes no
// mutating call to AWS and no write to Kubernetes. It reports changes before the other controller has created the load
// balancer and after an edit, and none in between.
func TestShadowModeWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		s := startShadow(t, r)
		defer s.stop()
		before := r.Emulator.Calls().CountMutating()
		time.Sleep(time.Hour)
		if n := r.Emulator.Calls().CountMutating() - before; n != 0 || s.writes.Load() != 0 {
			t.Errorf("%d mutating calls and %d writes", n, s.writes.Load())
		}
		report := s.readReport(t)
		if len(report.Changes) != 1 || report.Changes[0].Count < 5 || s.plannedSteps(t) != float64(report.Changes[0].Count) || report.Cluster != ClusterName {
			t.Errorf("%v steps in the metric, report %+v", s.plannedSteps(t), report)
		}

		settleWithoutErrors(t, r)
		before = r.Emulator.Calls().CountMutating()
		time.Sleep(time.Hour)
		if report = s.readReport(t); len(report.Changes) != 0 || s.plannedSteps(t) != 0 || len(report.Items) == 0 {
			t.Errorf("the report has changes: %+v", report)
		}
		if time.Since(report.Written) > durations.LongInterval+time.Minute {
			t.Errorf("the report is too old: %s", report.Written)
		}

		r.Apply(webIngress("", "/=web", "/new=web"))
		time.Sleep(time.Minute)
		if report = s.readReport(t); len(report.Changes) != 1 || report.Changes[0].Steps[0].Why == "" {
			t.Errorf("the report does not have the edit: %+v", report)
		}
		if n := r.Emulator.Calls().CountMutating() - before; n != 0 || s.writes.Load() != 0 {
			t.Errorf("%d mutating calls and %d writes", n, s.writes.Load())
		}
	})
}

// TestShadowModeForgetsDeletedBindings checks that the metric of findings of a shadow controller has the finding of a
// TargetGroupBinding until the TargetGroupBinding is deleted.
func TestShadowModeForgetsDeletedBindings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		s := startShadow(t, r)
		defer s.stop()
		missing := "arn:aws:elasticloadbalancing:us-west-2:123456789012:targetgroup/none/0123456789abcdef"
		r.Apply(bindingTo(missing))
		time.Sleep(time.Minute)
		if s.sumOfMetric(t, "fulcrum_findings", "shared") == 0 {
			t.Error("the metric has no finding of the TargetGroupBinding, whose target group does not exist")
		}
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindBinding, Namespace: "shop", Name: "shared"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := s.sumOfMetric(t, "fulcrum_findings", "shared"); n != 0 {
			t.Errorf("the metric has %v findings of the deleted TargetGroupBinding", n)
		}
	})
}

// TestShadowModeReportsUnavailableTargets checks that the report of a shadow controller counts a TargetGroupBinding whose targets
// AWS does not return as failed, not as unchanged.
func TestShadowModeReportsUnavailableTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
		settleWithoutErrors(t, r)
		r.Emulator.Faults().Add(fault.Rule{Operation: "DescribeTargetHealth", Action: fault.Action{Deny: true}})
		s := startShadow(t, r)
		defer s.stop()
		time.Sleep(time.Hour)
		if report := s.readReport(t); len(report.Changes) != 1 || !strings.Contains(report.Changes[0].Failed, "DescribeTargetHealth") {
			t.Errorf("the report is %+v", report)
		}
	})
}
