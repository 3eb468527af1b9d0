package bindings_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

func TestOneRefusedTargetBlocksNoOtherRegistration(t *testing.T) {
	w := ipHarness(t, p1, p2, p3)
	w.aws.refusedItems["10.0.2.1"] = failure.Invalid
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.1.2:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "condition", "False FailedReconcile", w.readyStatus("a"))
}

func TestOneRefusedTargetBlocksNoOtherDeregistration(t *testing.T) {
	w := ipHarness(t, p1)
	for _, ip := range []string{"10.0.9.1", "10.0.9.2", "10.0.9.3"} {
		w.aws.targetsByGroup["arn/a"] = append(w.aws.targetsByGroup["arn/a"], &observed.Target{ID: ip, Port: 8080, State: "healthy"})
	}
	w.aws.refusedItems["out 10.0.9.2"] = failure.Invalid
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.9.2:8080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "condition", "False FailedReconcile", w.readyStatus("a"))
}

func TestTheSameFindingIsWrittenOnce(t *testing.T) {
	w := ipHarness(t, p1)
	w.aws.refusedItems["10.0.1.1"] = failure.Denied
	w.run("a")
	before := w.binding("a").ResourceVersion
	out := w.run("a")
	checkEqual(t, "version", before, w.binding("a").ResourceVersion)
	if out.RetryAfter < 15*time.Second {
		t.Errorf("again after %s", out.RetryAfter)
	}
}

func TestARefusedTargetIsRetriedWithBackOff(t *testing.T) {
	w := ipHarness(t, p1)
	w.aws.refusedItems[p1.ip] = failure.Invalid
	for i := range 600 { // ten minutes, with an event each second
		w.putObjects(podDocs("web", p1, pod{name: fmt.Sprint("n", i), ip: fmt.Sprintf("10.0.4.%d", i%250), node: "n1"}))
		w.tryRun("a")
		w.now = w.now.Add(time.Second)
	}
	checkEqual(t, "targets", "10.0.4.99:8080", w.aws.targetsOf("arn/a"))
	if w.aws.refusals > 14 { // each attempt makes two such calls: with a new target, and then with the refused target alone
		t.Errorf("%d calls were refused", w.aws.refusals)
	}
	delete(w.aws.refusedItems, p1.ip)
	w.now = w.now.Add(5 * time.Minute)
	w.run("a")
	checkEqual(t, "targets once it is accepted", "10.0.1.1:8080 10.0.4.99:8080", w.aws.targetsOf("arn/a"))
}

func TestFullTargetGroupDeregistersFirst(t *testing.T) {
	w := ipHarness(t, p2)
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "10.0.9.9", Port: 8080, State: "healthy"}}
	w.aws.maxTargets = 1
	w.run("a")
	checkEqual(t, "targets", "10.0.2.1:8080", w.aws.targetsOf("arn/a"))
}

func TestFullTargetGroupIsFilledUpToItsCapacity(t *testing.T) {
	var many []pod
	for i := range 9 {
		many = append(many, pod{name: fmt.Sprintf("m%d", i), ip: fmt.Sprintf("10.0.2.%d", 10+i), node: "n2"})
	}
	for room := range 10 {
		w := ipHarness(t, many...)
		w.aws.maxTargets = max(room, 1)
		if room == 0 {
			w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "10.0.9.9", Port: 8080, State: "draining"}}
		}
		w.run("a")
		got := 0
		for _, x := range w.aws.targetsByGroup["arn/a"] {
			if x.State != "draining" {
				got++
			}
		}
		if got != room {
			t.Errorf("%d of 9 registered in room for %d", got, room)
		}
	}
}

func TestLastServingTargetsStayIfNewOnesAreRefused(t *testing.T) {
	old := p1
	old.readyCondition = true
	w := ipHarness(t, old)
	w.run("a")
	w.aws.setAllStates("arn/a", "healthy")
	w.aws.targetsByGroup["arn/a"] = append(w.aws.targetsByGroup["arn/a"], &observed.Target{ID: "10.0.9.9", Port: 8080, State: "healthy"})
	w.aws.refusedItems["10.0.2.1"] = failure.Denied
	w.putObjects(podDocs("web", p2)) // the Service selects another pod now; the old pod still exists
	w.run("a")
	checkEqual(t, "targets: no address without a pod", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
	w.deleteObject(cluster.KindPod, "p1")
	w.run("a")
	checkEqual(t, "targets once the old pod is gone, whose address may be another's soon", "", w.aws.targetsOf("arn/a"))
}

func TestMaximumOfTargetsIsNotExceeded(t *testing.T) {
	w := ipHarness(t, p1, p2, p3)
	w.conf.MaxTargetsPerTargetGroup = 2
	w.restart()
	out := w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.1.2:8080", w.aws.targetsOf("arn/a"))
	if out.RetryAfter != 15*time.Second || w.binding("a").Annotations[targets.CheckpointAnnotation] != "" {
		t.Errorf("outcome %+v", out)
	}
	// The next run registers another target, because a target was deregistered.
	w.putObjects(podDocs("web", p2, p3))
	w.run("a")
	w.run("a")
	checkEqual(t, "targets after one went", "10.0.1.2:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
	if w.binding("a").Annotations[targets.CheckpointAnnotation] == "" {
		t.Error("there is no checkpoint although all endpoints are registered")
	}
}

func TestTargetsBeyondTheMaximumStayRegistered(t *testing.T) {
	w := ipHarness(t, p1)
	w.conf.MaxTargetsPerTargetGroup = 1
	w.restart()
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "10.9.9.1", Port: 1, State: "draining"}, {ID: "10.9.9.2", Port: 1, State: "draining"}}
	out := w.run("a")
	checkEqual(t, "targets", "10.9.9.1:1 10.9.9.2:1", w.aws.targetsOf("arn/a"))
	if out.RetryAfter != 15*time.Second || len(out.Findings) != 1 || out.Findings[0].Reason != finding.TargetsCapped {
		t.Errorf("outcome %+v", out)
	}
}
