package bindings_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

func checkEqual[T comparable](t *testing.T, what string, want, got T) {
	t.Helper()
	if want != got {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

var (
	p1 = pod{name: "p1", ip: "10.0.1.1", node: "n1"}
	p2 = pod{name: "p2", ip: "10.0.2.1", node: "n2"}
	p3 = pod{name: "p3", ip: "10.0.1.2", node: "n1"}
)

func ipHarness(t *testing.T, pods ...pod) *harness {
	t.Helper()
	return newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", pods...), bindingDoc("a", "web", "ip", 8080))
}

func TestNewTargetsAreRegisteredBeforeOldOnesAreRemoved(t *testing.T) {
	w := ipHarness(t, p1, p2)
	w.run("a")
	checkEqual(t, "first run", "list a; authorize sg-node tcp 8080-8080 sg-b; register a 10.0.1.1:8080; register a 10.0.2.1:8080", w.aws.takeLog())
	checkEqual(t, "condition", "True SuccessfullyReconciled", w.readyStatus("a"))
	if b := w.binding("a"); b.Annotations[targets.CheckpointAnnotation] == "" || *b.Status.ObservedGeneration != b.Generation || len(b.Finalizers) != 1 {
		t.Errorf("binding %+v", b)
	}
	w.putObjects(podDocs("web", p2, p3))
	w.run("a")
	checkEqual(t, "swap", "list a; register a 10.0.1.2:8080; deregister a 10.0.1.1:8080", w.aws.takeLog())
}

func TestOldPodsServeUntilNewOnesAreHealthy(t *testing.T) {
	old, next := p1, p2
	old.readyCondition, next.readyCondition = true, true
	turned := func() *harness { // a harness whose Service selected pod old before, and now selects pod next
		w := ipHarness(t, old)
		w.run("a")
		w.aws.setAllStates("arn/a", "healthy")
		w.putObjects(podDocs("web", next))
		w.aws.takeLog()
		return w
	}
	both := "10.0.1.1:8080 10.0.2.1:8080"
	tests := []struct {
		name   string
		change func(w *harness)
		want   string
	}{
		{"the new one is checked", func(*harness) {}, both},
		{"the new one is healthy", func(w *harness) { w.aws.targetsByGroup["arn/a"][1].State = "healthy" }, "10.0.2.1:8080"},
		{"the new one is unhealthy", func(w *harness) { w.aws.targetsByGroup["arn/a"][1].State = "unhealthy" }, "10.0.2.1:8080"},
		{"no load balancer uses the target group", func(w *harness) { w.aws.targetsByGroup["arn/a"][1].State = "unused" }, "10.0.2.1:8080"},
		{"the old one is gone", func(w *harness) { w.deleteObject(cluster.KindPod, "p1") }, "10.0.2.1:8080"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := turned()
			if out := w.run("a"); out.RetryAfter != 2*time.Second {
				t.Errorf("again after %s", out.RetryAfter)
			}
			checkEqual(t, "at first", both, w.aws.targetsOf("arn/a"))
			tt.change(w)
			w.run("a")
			checkEqual(t, "then", tt.want, w.aws.targetsOf("arn/a"))
		})
	}
	w := turned()
	w.putObjects(strings.ReplaceAll(podDocs("web", next), "port: 8080", "port: 9090"), bindingDoc("a", "web", "ip", 9090))
	w.run("a")
	checkEqual(t, "rules while both serve", "tcp 8080-8080 sg-b, tcp 9090-9090 sg-b", w.aws.rulesOf("sg-node"))
	w.aws.setAllStates("arn/a", "healthy")
	w.run("a")
	checkEqual(t, "rules after", "tcp 9090-9090 sg-b", w.aws.rulesOf("sg-node"))
	w = turned()
	w.run("a")
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	checkEqual(t, "deleted meanwhile", "", w.aws.targetsOf("arn/a")+w.aws.rulesOf("sg-node"))
	w = turned()
	w.aws.maxTargets = 1
	w.run("a")
	checkEqual(t, "without room for both", "10.0.2.1:8080", w.aws.targetsOf("arn/a"))
	w = turned()
	w.conf.MaxTargetsPerTargetGroup = 1
	w.restart()
	w.run("a")
	w.run("a")
	checkEqual(t, "at the operator's limit", "10.0.2.1:8080", w.aws.targetsOf("arn/a"))
}

func TestUnchangedBindingMakesNoCalls(t *testing.T) {
	w := ipHarness(t, p1, p2)
	w.run("a")
	w.aws.takeLog()
	for range 3 {
		if out := w.run("a"); !out.Deferred || out.RetryAfter < 25*time.Minute {
			t.Errorf("outcome %+v", out)
		}
	}
	w.restart()
	if out := w.run("a"); !out.Deferred {
		t.Errorf("after a restart %+v", out)
	}
	checkEqual(t, "calls", "", w.aws.takeLog())
	w.now = w.now.Add(46 * time.Minute)
	w.aws.targetsByGroup["arn/a"] = nil // another client deregistered all targets
	w.run("a")
	checkEqual(t, "after a while", "list a; register a 10.0.1.1:8080; register a 10.0.2.1:8080", w.aws.takeLog())
}

func TestReadinessFollowsHealth(t *testing.T) {
	gated := p1
	gated.gate, gated.notReady = "a", true
	w := ipHarness(t, gated)
	condition := func() string {
		obj, _ := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: "p1"})
		c, _, ok := targets.CurrentCondition(obj.(*corev1.Pod), "target-health.elbv2.k8s.aws/a")
		if !ok {
			return "none"
		}
		return strings.TrimSpace(string(c.Status) + " " + c.Reason)
	}
	out := w.run("a")
	checkEqual(t, "after registering", "False Elb.RegistrationInProgress", condition())
	if out.RetryAfter != 2*time.Second {
		t.Errorf("first look after %s", out.RetryAfter)
	}
	b := w.binding("a")
	if b.Annotations[targets.CheckpointAnnotation] != "" || b.Status.ObservedGeneration == nil {
		t.Errorf("checkpoint %q, generation %v", b.Annotations[targets.CheckpointAnnotation], b.Status.ObservedGeneration)
	}
	w.now = w.now.Add(30 * time.Second)
	if out := w.run("a"); out.RetryAfter != 5*time.Second {
		t.Errorf("then after %s", out.RetryAfter)
	}
	w.aws.setAllStates("arn/a", "healthy")
	w.aws.takeLog()
	w.run("a")
	checkEqual(t, "healthy", "True", condition())
	checkEqual(t, "calls", "list a", w.aws.takeLog())
	if out := w.run("a"); !out.Deferred {
		t.Errorf("settled: %+v", out)
	}
	checkEqual(t, "calls when settled", "", w.aws.takeLog())
}

func TestRegisteredPods(t *testing.T) {
	tests := []struct {
		name string
		pods []pod
		node string // new status of the Ready condition of all nodes; empty: "True"
		want string
	}{
		{"ready", []pod{p1, p2}, "", "10.0.1.1:8080 10.0.2.1:8080"},
		{"unready only by a gate", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}}, "", "10.0.1.1:8080"},
		{"containers unready", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", hasUnreadyContainers: true}}, "", ""},
		{"terminating", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", terminating: true}, p2}, "", "10.0.2.1:8080"},
		{"node unknown, nothing better", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}}, "Unknown", "10.0.1.1:8080"},
		{"node unknown, others there", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}, p2}, "Unknown", "10.0.2.1:8080"},
		{"node down", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}}, "False", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := ipHarness(t, tt.pods...)
			if tt.node != "" {
				w.putObjects(strings.ReplaceAll(nodesDoc, `"True"`, `"`+tt.node+`"`))
			}
			w.run("a")
			checkEqual(t, "targets", tt.want, w.aws.targetsOf("arn/a"))
		})
	}
}

func TestForgedEndpointsAreNotRegistered(t *testing.T) {
	w := ipHarness(t, p1)
	w.putObjects(strings.ReplaceAll(podDocs("web", p1), `addresses: ["10.0.1.1"]`, `addresses: ["10.0.200.1"]`))
	out := w.run("a")
	checkEqual(t, "targets", "", w.aws.targetsOf("arn/a"))
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.EndpointIgnored {
		t.Errorf("findings %v", out.Findings)
	}
}

func TestAddressesOutsideTheVPCAreRegisteredForAllZones(t *testing.T) {
	w := ipHarness(t, pod{name: "p1", ip: "100.64.0.1", node: "n2"})
	w.run("a")
	if got := w.aws.takeLog(); !strings.HasSuffix(got, "register a 100.64.0.1:8080all") {
		t.Error(got)
	}
}

func TestFencedProcessWritesNothing(t *testing.T) {
	w := ipHarness(t, p1)
	w.conf.Fence = engine.ReadOnlyFence{Err: classedError{failure.Fenced, "lease lost"}}
	w.restart()
	if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); err == nil {
		t.Error("no error")
	}
	checkEqual(t, "calls", "", w.aws.takeLog())
	if len(w.binding("a").Finalizers) != 0 {
		t.Error("the finalizer was written")
	}
}
