package bindings_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

func TestServiceCountsAsMissingAfterADelay(t *testing.T) {
	w := ipHarness(t, p1)
	w.run("a")
	w.aws.takeLog()
	w.deleteObject(cluster.KindService, "web")
	if out := w.run("a"); out.RetryAfter == 0 {
		t.Errorf("outcome %+v", out)
	}
	checkEqual(t, "at first", "", w.aws.takeLog())
	w.now = w.now.Add(6 * time.Second)
	w.run("a")
	checkEqual(t, "then", "list a; deregister a 10.0.1.1:8080; revoke sg-node tcp 8080-8080 sg-b", w.aws.takeLog())
	checkEqual(t, "condition", "False BackendNotFound", w.readyStatus("a"))
	w.putObjects(serviceDoc("web", "ClusterIP"))
	w.run("a")
	checkEqual(t, "back", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "condition", "True SuccessfullyReconciled", w.readyStatus("a"))
}

func TestDeletionOpensReadinessGates(t *testing.T) {
	gated := p1
	gated.gate = "a"
	w := ipHarness(t, gated)
	w.run("a")
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	checkEqual(t, "targets", "", w.aws.targetsOf("arn/a"))
	checkEqual(t, "rules", "", w.aws.rulesOf("sg-node"))
	obj, _ := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: "p1"})
	if c, _, _ := targets.CurrentCondition(obj.(*corev1.Pod), "target-health.elbv2.k8s.aws/a"); c != targets.ReleasedCondition {
		t.Errorf("condition %v", c)
	}
	if w.binding("a") != nil {
		t.Error("the binding is still there")
	}
	w.aws.takeLog()
	w.run("a")
	checkEqual(t, "calls for what is gone", "", w.aws.takeLog())
}

func TestBindingOfAMissingTargetGroupIsDeleted(t *testing.T) {
	w := ipHarness(t, p1)
	w.run("a")
	delete(w.aws.targetsByGroup, "arn/a")
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	if w.binding("a") != nil {
		t.Error("the binding is still there")
	}
}

func TestARemovedFinalizerIsAddedAgain(t *testing.T) {
	w := ipHarness(t, p1)
	w.run("a")
	b := w.binding("a").DeepCopy()
	b.Finalizers = nil
	if err := w.store.Put(b); err != nil {
		t.Fatal(err)
	}
	w.run("a")
	if len(w.binding("a").Finalizers) != 1 {
		t.Error("the binding could go before its targets")
	}
}
