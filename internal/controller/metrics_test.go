package controller

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// readMetrics returns the values of counters and gauges by "name{label=value,...}". It omits histograms.
func readMetrics(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if m.Histogram == nil {
				out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return out
}

func TestFailedCallsAreCountedByCause(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewMetrics()
	if err := m.Register(r); err != nil {
		t.Fatal(err)
	}
	call := func(status, code string) {
		m.CountCall(Call{Service: "EC2", Operation: "X", Status: status, Code: code, Duration: time.Second, Attempts: 1})
	}
	call("200", "")
	call("403", "UnauthorizedOperation")
	call("400", "AuthFailure")
	call("503", "RequestLimitExceeded") // throttling, although the name resembles a quota error
	call("400", "SecurityGroupLimitExceeded")
	call("400", "ValidationError")
	got := map[string]float64{}
	for k, v := range readMetrics(t, r) {
		name, _, _ := strings.Cut(k, "{")
		got[name] += v
	}
	want := map[string]float64{
		"fulcrum_aws_calls_total": 6, "aws_api_calls_total": 6, "aws_api_call_permission_errors_total": 2, "aws_api_call_throttled_errors_total": 1,
		"aws_api_call_service_limit_exceeded_errors_total": 1, "aws_api_call_validation_errors_total": 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestObjectCountsIncludeTargetGroupsOfBindings(t *testing.T) {
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	binding := func(name, arn string, labels map[string]string) *elbv2.TargetGroupBinding {
		return &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, Labels: labels},
			Spec: elbv2.TargetGroupBindingSpec{TargetGroupARN: arn, ServiceRef: elbv2.ServiceReference{Name: "s"}}}
	}
	ours := map[string]string{"ingress.k8s.aws/stack": "g"}
	if err := m.Put(binding("a", "arn:aws:x:1:targetgroup/t/1", ours), binding("b", "arn:aws:x:1:targetgroup/t/1", ours),
		binding("c", "arn:aws:x:1:targetgroup/t/2", nil)); err != nil {
		t.Fatal(err)
	}
	r := prometheus.NewRegistry()
	if err := r.Register(objectCounts{syncedMemory{m}}); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"awslbc_controller_cache_object_total{resource=ingress}":                    0,
		"awslbc_controller_cache_object_total{resource=service}":                    0,
		"awslbc_controller_cache_object_total{resource=targetgroupbinding}":         3,
		"aws_target_group_info{namespace=n,service=s,target_group=targetgroup/t/1}": 1,
	}
	if d := cmp.Diff(want, readMetrics(t, r)); d != "" {
		t.Error(d)
	}
}

// TestTopConsumersHaveTheControllerNamesOfDashboards checks that the kinds have the controller names that dashboards of
// older controllers use.
func TestTopConsumersHaveTheControllerNamesOfDashboards(t *testing.T) {
	for kind, want := range map[model.Kind]string{
		model.Ingress: "ingress", model.Service: "service", model.ALBGateway: "albgateway", model.NLBGateway: "nlbgateway",
		model.GlobalAccelerator: "globalaccelerator",
	} {
		if got := kind.ConsumerName(); got != want {
			t.Errorf("%s is counted as %q, want %q", kind, got, want)
		}
	}
}

func TestTopConsumersOfTheLastWindow(t *testing.T) {
	synctest.Test(t, testTopConsumers)
}

func testTopConsumers(t *testing.T) {
	talk := newTopConsumers()
	r := prometheus.NewRegistry()
	if err := r.Register(talk); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"a": 4, "b": 3, "c": 2, "d": 1} {
		for range n {
			talk.countRun("ingress", "n", name)
		}
	}
	if got := readMetrics(t, r); len(got) != 0 {
		t.Errorf("shown before the window is over: %v", got)
	}
	time.Sleep(durations.SweepInterval)
	want := map[string]float64{}
	for name, n := range map[string]float64{"a": 4, "b": 3, "c": 2} {
		want["awslbc_controller_top_talkers{controller=ingress,name="+name+",namespace=n}"] = n
	}
	if d := cmp.Diff(want, readMetrics(t, r)); d != "" {
		t.Error(d)
	}
	time.Sleep(durations.SweepInterval)
	if got := readMetrics(t, r); len(got) != 0 {
		t.Errorf("series stay after their window: %v", got)
	}
}
