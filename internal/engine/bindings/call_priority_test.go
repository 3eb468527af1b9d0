package bindings_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// postponingAWS is a fakeAWS that postpones deregistrations while postpones is set, as if its rate limiter did not admit
// them. The first admitted calls are not postponed.
type postponingAWS struct {
	*fakeAWS
	postpones bool
	admitted  int
	priority  bindings.CallPriority // priority of the last call of Deregister
}

func (b *postponingAWS) TargetGroupsOf(bindings.Account) bindings.TargetGroups { return b }

func (b *postponingAWS) Deregister(ctx context.Context, arn string, priority bindings.CallPriority, out []*observed.Target) error {
	b.priority = priority
	if b.admitted--; b.postpones && b.admitted < 0 {
		return postponedError{classedError{failure.Throttled, "postponed"}}
	}
	return b.fakeAWS.Deregister(ctx, arn, priority, out)
}

type postponedError struct{ classedError }

func (postponedError) RetryAfter() time.Duration { return 3 * time.Second }

// TestDeregistrationIsMoreUrgentIfThePodHasEnded checks the maximum delay of a deregistration that was postponed. It is
// shorter if the pod of the target has ended, and shortest if another pod has the address of the target.
func TestDeregistrationIsMoreUrgentIfThePodHasEnded(t *testing.T) {
	w := ipHarness(t, p1, p2)
	b := &postponingAWS{fakeAWS: w.aws, postpones: true}
	w.conf.Cloud = b
	w.restart()
	w.run("a")
	old, err := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: "p2"})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, within time.Duration) {
		t.Helper()
		w.now = w.now.Add(5 * time.Second)
		w.run("a")
		if b.priority.MaxDelay != within {
			t.Errorf("%s: %+v", what, b.priority)
		}
	}
	w.putObjects(strings.SplitN(podDocs("web", p1), "---", 2)[0])
	expect("the pod is there", 45*time.Second)
	w.deleteObject(cluster.KindPod, "p2")
	expect("the pod is gone", 25*time.Second)
	if err := w.store.Put(old); err != nil {
		t.Fatal(err)
	}
	expect("the pod was only missing in the cache", 45*time.Second)
	w.deleteObject(cluster.KindPod, "p2")
	other := strings.ReplaceAll(podWithReusedAddress(p2.ip), "namespace: other", "namespace: ns")
	w.putObjects(strings.Replace(other, "2026-01-02T00:00:00Z", w.now.Format(time.RFC3339), 1))
	expect("another pod of the namespace has the address", time.Second)
	w.deleteObject(cluster.KindPod, "thief")
	w.putObjects(podWithReusedAddress(p2.ip))
	expect("a pod of another namespace has the address", time.Second)
	b.postpones = false
	w.run("a")
	if got := len(w.aws.targetsByGroup["arn/a"]); got != 1 {
		t.Errorf("%d targets in the end", got)
	}
}

// TestAllRegisteredIsReportedWhileDeregistrationsWait checks that Outcome.AllRegistered is set while a deregistration is
// postponed, but that the success event is emitted only after that call was made.
func TestAllRegisteredIsReportedWhileDeregistrationsWait(t *testing.T) {
	w := ipHarness(t, p1)
	b := &postponingAWS{fakeAWS: w.aws}
	w.conf.Cloud = b
	w.restart()
	w.run("a")
	b.postpones = true
	w.deleteObject(cluster.KindPod, "p1")
	w.putObjects(podDocs("web", p2))
	before := w.countSuccessEvents()
	if out := w.run("a"); !out.CallPostponed || out.RegisteredCount != 1 || !out.AllRegistered {
		t.Errorf("while a call that takes a target out waits: %+v", out)
	}
	if n := w.countSuccessEvents() - before; n != 0 {
		t.Errorf("%d events of success while a call waits", n)
	}
	b.postpones = false
	if out := w.run("a"); out.CallPostponed || !out.AllRegistered {
		t.Errorf("in the end: %+v", out)
	}
	if n := w.countSuccessEvents() - before; n != 1 {
		t.Errorf("%d events of success in the end", n)
	}
}

// TestEndpointsBeyondCapacityAreNotRegistered checks that a new endpoint is not registered while the target group has its
// maximum number of targets, because the deregistration of another target is postponed.
func TestEndpointsBeyondCapacityAreNotRegistered(t *testing.T) {
	w := ipHarness(t, p1)
	b := &postponingAWS{fakeAWS: w.aws}
	w.conf.Cloud, w.conf.MaxTargetsPerTargetGroup = b, 1
	w.restart()
	w.run("a")
	b.postpones = true
	w.deleteObject(cluster.KindPod, "p1")
	w.putObjects(podDocs("web", p2))
	if out := w.run("a"); !out.CallPostponed || out.AllRegistered {
		t.Errorf("while a call that makes room waits: %+v", out)
	}
}

// TestSuccessIsReportedOnceAfterAnUnneededCall checks that exactly one success event is emitted if a postponed
// deregistration is not needed any more.
func TestSuccessIsReportedOnceAfterAnUnneededCall(t *testing.T) {
	for how, change := range map[string]func(*harness){
		"the pod is there again":      func(w *harness) { w.putObjects(podDocs("web", p1, p2)) },
		"another took the target out": func(w *harness) { w.aws.targetsByGroup["arn/a"] = w.aws.targetsByGroup["arn/a"][1:] },
	} {
		t.Run(how, func(t *testing.T) {
			w := ipHarness(t, p1)
			b := &postponingAWS{fakeAWS: w.aws}
			w.conf.Cloud = b
			w.restart()
			w.run("a")
			b.postpones = true
			w.deleteObject(cluster.KindPod, "p1")
			w.putObjects(podDocs("web", p2))
			before := w.countSuccessEvents()
			w.run("a")
			change(w)
			for range 3 {
				w.now = w.now.Add(10 * time.Second)
				w.run("a")
			}
			if n := w.countSuccessEvents() - before; n != 1 {
				t.Errorf("%d events of success in the end", n)
			}
		})
	}
}

// TestThePreviousTargetGroupIsEmptiedAfterPostponement checks that after the spec names another target group, the targets of
// the previous target group are deregistered, even if their deregistration was first postponed.
func TestThePreviousTargetGroupIsEmptiedAfterPostponement(t *testing.T) {
	w := ipHarness(t, p1)
	b := &postponingAWS{fakeAWS: w.aws}
	w.conf.Cloud = b
	w.restart()
	w.run("a")
	b.postpones = true
	before := w.countSuccessEvents()
	w.editBinding("a", func(b *elbv2.TargetGroupBinding) { b.Spec.TargetGroupARN = "arn/b" })
	if out := w.run("a"); !out.CallPostponed || out.AllRegistered || w.countSuccessEvents() != before {
		t.Errorf("while a call that takes a target out waits: %+v, %d events of success", out, w.countSuccessEvents()-before)
	}
	b.postpones = false
	w.run("a")
	checkEqual(t, "old targets", "", w.aws.targetsOf("arn/a"))
	checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/b"))
	if n := w.countSuccessEvents() - before; n != 1 {
		t.Errorf("%d events of success in the end", n)
	}
}

func (w *harness) countSuccessEvents() (n int) {
	for _, o := range w.store.All("Event") {
		if o.(*corev1.Event).Reason == "SuccessfullyReconciled" {
			n++
		}
	}
	return n
}
