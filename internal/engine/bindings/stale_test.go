package bindings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// staleStore is a store whose cached objects with the names in stale are outdated: Confirm fails for them.
type staleStore struct {
	*cluster.Memory
	stale *[]string
}

func (b staleStore) Confirm(obj cluster.Object) error {
	if slices.Contains(*b.stale, obj.GetName()) {
		return cluster.StaleError{Ref: cluster.RefOf(obj)}
	}
	return nil
}

// CacheOnly implements cluster.LookupSource.
func (b staleStore) CacheOnly() cluster.Source { return b.Memory }

// newStaleHarness returns a test harness with a staleStore, the names of its outdated objects, and the names of the bindings
// that were enqueued.
func newStaleHarness(t *testing.T, objects ...string) (w *harness, stale *[]string, again *enqueuedBindings) {
	t.Helper()
	w = newHarness(t, objects...)
	stale, again = new([]string), new(enqueuedBindings)
	w.conf.Cluster = kube.New(staleStore{w.store, stale}, kube.MemoryAPI{Store: w.store}, w.conf.Clock)
	w.conf.Queue = again
	w.restart()
	return w, stale, again
}

// TestAnEditedBindingDelaysNoRulesOfOthers checks that the rules of other bindings are updated without delay while a user
// keeps editing a binding whose Service is missing. The rules of the edited binding remain unchanged.
func TestAnEditedBindingDelaysNoRulesOfOthers(t *testing.T) {
	w, stale, again := newStaleHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "other", "ip", 9090))
	w.run("a")
	w.run("b")
	checkEqual(t, "both", "tcp 8080-9090 sg-b", w.aws.rulesOf("sg-node"))
	w.deleteObject(cluster.KindService, "other")
	*stale, *again = []string{"b"}, nil
	edit := func(port int) {
		t.Helper()
		w.putObjects(strings.ReplaceAll(bindingDoc("a", "web", "ip", port), "name: a}", fmt.Sprintf("name: a, generation: %d}", port)))
		if out := w.run("a"); len(out.Findings) != 0 {
			t.Errorf("blamed for another's binding: %v", out.Findings)
		}
		checkEqual(t, "condition", "True SuccessfullyReconciled", w.readyStatus("a"))
		checkEqual(t, "rules", fmt.Sprintf("tcp %d-9090 sg-b", port), w.aws.rulesOf("sg-node"))
	}
	edit(8081)
	if err := w.reconciler.SyncRules(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.reconciler.Reconcile(t.Context(), bindings.Key{Namespace: "ns", Name: "b"}); err == nil {
		t.Error("a run over a binding that has changed does not wait")
	}
	w.now = w.now.Add(time.Minute)
	edit(8082)
	checkEqual(t, "targets", "10.0.2.1:8080", w.aws.targetsOf("arn/b"))

	*stale = nil
	w.run("b")
	w.now = w.now.Add(durations.FirstBackOff)
	w.run("b")
	checkEqual(t, "once its runs find that it has no Service", "tcp 8082-8082 sg-b", w.aws.rulesOf("sg-node"))
	checkEqual(t, "targets then", "", w.aws.targetsOf("arn/b"))
}

// TestRulesOfARecreatedServiceStay checks that the rules of the targets of a deleted Service are not removed for some
// seconds, because the Service may be created again. Then the targets and their rules are removed.
func TestRulesOfARecreatedServiceStay(t *testing.T) {
	w, _, _ := newStaleHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "other", "ip", 9090))
	w.run("a")
	w.run("b")
	w.deleteObject(cluster.KindService, "other")
	w.run("b")
	w.putObjects(strings.ReplaceAll(bindingDoc("a", "web", "ip", 8081), "name: a}", "name: a, generation: 2}"))
	w.run("a")
	checkEqual(t, "in the first moment", "tcp 8081-9090 sg-b", w.aws.rulesOf("sg-node"))
	checkEqual(t, "targets", "10.0.2.1:8080", w.aws.targetsOf("arn/b"))
	w.now = w.now.Add(durations.FirstBackOff)
	w.run("b")
	checkEqual(t, "after it", "tcp 8081-8081 sg-b", w.aws.rulesOf("sg-node"))
	checkEqual(t, "targets after it", "", w.aws.targetsOf("arn/b"))
}

// rangesCallbackAWS is a fakeAWS that calls onRangesRead when the CIDR blocks of the VPC are read. At that time, the
// endpoints of a run are resolved, but its rules are not planned yet.
type rangesCallbackAWS struct {
	*fakeAWS
	onRangesRead func()
}

func (l *rangesCallbackAWS) VPCRanges(ctx context.Context, vpc string) ([]string, error) {
	l.onRangesRead()
	return l.fakeAWS.VPCRanges(ctx, vpc)
}

// TestABindingThatChangesDuringItsRunIsRunAgain checks that if the Service of a binding is deleted during a run of the
// binding, that run reports no error and a later run handles the deletion.
func TestABindingThatChangesDuringItsRunIsRunAgain(t *testing.T) {
	w, stale, _ := newStaleHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
	changed := false
	w.conf.Cloud = &rangesCallbackAWS{w.aws, func() {
		if !changed {
			changed, *stale = true, []string{"a"}
			w.deleteObject(cluster.KindService, "web")
		}
	}}
	w.restart()
	if out := w.run("a"); !changed || len(out.Findings) != 0 {
		t.Errorf("changed %v, findings %v", changed, out.Findings)
	}
	if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); !errors.As(err, new(cluster.StaleError)) {
		t.Errorf("the next run does not wait for what has changed: %v", err)
	}
	*stale = nil
	w.run("a")
	w.now = w.now.Add(durations.FirstBackOff)
	w.run("a")
	checkEqual(t, "targets and rules in the end", "", w.aws.targetsOf("arn/a")+w.aws.rulesOf("sg-node"))
}

// TestADeletedBindingWaitsForNoRulesOfAnother checks that the run of a deleted binding removes the rules of that binding
// without waiting for other bindings, and does not remove the rules of another binding whose Service is missing.
func TestADeletedBindingWaitsForNoRulesOfAnother(t *testing.T) {
	w, stale, _ := newStaleHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "other", "ip", 9090))
	w.run("a")
	w.run("b")
	w.deleteObject(cluster.KindService, "other")
	*stale = []string{"b"}
	w.deleteObject(cluster.KindBinding, "a")
	if out := w.run("a"); w.binding("a") != nil || len(out.Findings) != 0 {
		t.Errorf("the finalizer is still there, findings %v", out.Findings)
	}
	checkEqual(t, "rules", "tcp 9090-9090 sg-b", w.aws.rulesOf("sg-node"))
	*stale = nil
	w.run("b")
	w.now = w.now.Add(durations.FirstBackOff)
	w.run("b")
	checkEqual(t, "rules after its own run", "", w.aws.rulesOf("sg-node"))
}

// TestADeletedBindingWaitsForTheServiceOfItsSuccessor checks that the targets of a deleted binding stay registered, for a
// limited time, until the Service of another binding with the same target group is created.
func TestADeletedBindingWaitsForTheServiceOfItsSuccessor(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		w, _, _ := newStaleHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
		w.run("a")
		w.putObjects(strings.ReplaceAll(bindingDoc("b", "other", "ip", 8080), "arn/b", "arn/a"), podDocs("other", p1))
		w.deleteObject(cluster.KindBinding, "a")
		out := w.run("a")
		if w.binding("a") == nil || len(out.Findings) != 0 || out.RetryAfter != time.Second {
			t.Errorf("again after %v, findings %v", out.RetryAfter, out.Findings)
		}
		checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
		left := ""
		if arrives {
			w.putObjects(serviceDoc("other", "ClusterIP"))
			left = "10.0.1.1:8080"
		} else {
			w.now = w.now.Add(time.Minute)
		}
		w.run("a")
		checkEqual(t, "targets after that", left, w.aws.targetsOf("arn/a"))
		if w.binding("a") != nil {
			t.Error("the finalizer is still there")
		}
	}
}
