package bindings_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestARuleNeededDuringItsRevocationIsAuthorizedAgain checks what happens if a new target needs a rule while another run
// revokes this rule. The rule must be authorized again, and the target must not be registered before that.
func TestARuleNeededDuringItsRevocationIsAuthorizedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
		w.run("a")
		w.putObjects(podDocs("web"))
		answer := make(chan struct{})
		w.aws.holdRuleChange = answer
		var runs sync.WaitGroup
		runs.Go(func() { _, _ = w.reconciler.Reconcile(t.Context(), keyOf("a")) })
		synctest.Wait()
		if w.aws.holdRuleChange != nil {
			t.Fatal("no rule is taken away")
		}
		w.putObjects(serviceDoc("other", "ClusterIP"), podDocs("other", p2), bindingDoc("b", "other", "ip", 8080))
		runs.Go(func() { _, _ = w.reconciler.Reconcile(t.Context(), keyOf("b")) })
		synctest.Wait()
		checkEqual(t, "targets while it is taken away", "", w.aws.targetsOf("arn/b"))
		close(answer)
		runs.Wait()
		checkEqual(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
		checkEqual(t, "targets", "10.0.2.1:8080", w.aws.targetsOf("arn/b"))
	})
}

// TestRulesAreNotRevokedDuringARunOfTheirBinding checks that the rules of targets that a run is about to register are not
// revoked. During the run, the endpoints disappear and return, and SyncRules compares all rules.
func TestRulesAreNotRevokedDuringARunOfTheirBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
		var again enqueuedBindings
		w.conf.Queue = &again
		w.restart()
		w.run("a")
		w.putObjects(podDocs("web", p1, p2))
		answer := make(chan struct{})
		w.aws.holdRegister = answer
		var runs sync.WaitGroup
		runs.Go(func() { _, _ = w.reconciler.Reconcile(t.Context(), keyOf("a")) })
		synctest.Wait()
		if w.aws.holdRegister != nil {
			t.Fatal("no target is registered")
		}
		w.putObjects(podDocs("web"))
		if err := w.reconciler.SyncRules(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkEqual(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
		w.putObjects(podDocs("web", p1, p2))
		close(answer)
		runs.Wait()
		if len(again) != 1 {
			t.Errorf("%d more runs are asked for, want one", len(again))
		}
		w.run("a")
		checkEqual(t, "rules in the end", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
		checkEqual(t, "targets", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
		w.aws.log = nil
		w.run("a")
		checkEqual(t, "calls of a run without a change", "", strings.Join(w.aws.log, ", "))
	})
}

// TestASlowRuleChangeDelaysNoOtherBinding checks that a run that waits for AWS while it revokes rules does not delay other
// runs. They can register targets whose rules exist, and change another security group.
func TestASlowRuleChangeDelaysNoOtherBinding(t *testing.T) {
	for how, hang := range map[string]func(a *fakeAWS, until chan struct{}){
		"reading": func(a *fakeAWS, until chan struct{}) {
			a.readsUntilCallback, a.onSecurityGroupRead = 1, func() { <-until }
		},
		"changing": func(a *fakeAWS, until chan struct{}) { a.holdRuleChange = until },
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 9090),
					strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/a", "arn/b"))
				w.aws.rules["sg-other"], w.aws.targetsByGroup["arn/c"] = nil, nil
				w.aws.enis["i-2"][0].SecurityGroups[0].ID = "sg-other"
				w.run("a")
				w.run("b")
				w.deleteObject(cluster.KindBinding, "a")
				answer := make(chan struct{})
				hang(w.aws, answer)
				var runs sync.WaitGroup
				runs.Go(func() { _, _ = w.reconciler.Reconcile(t.Context(), keyOf("a")) })
				synctest.Wait()
				start := time.Now()
				w.putObjects(podDocs("web", p1, pod{name: "p9", ip: "10.0.1.2", node: "n1"}))
				w.run("b")
				checkEqual(t, "targets behind a rule that is there", "10.0.1.1:8080 10.0.1.2:8080", w.aws.targetsOf("arn/b"))
				w.putObjects(serviceDoc("other", "ClusterIP"), podDocs("other", p2), bindingDoc("c", "other", "ip", 7070))
				w.run("c")
				checkEqual(t, "rules of another security group", "tcp 7070-7070 sg-b", w.aws.rulesOf("sg-other"))
				if took := time.Since(start); took > 0 {
					t.Errorf("they took %v", took)
				}
				close(answer)
				runs.Wait()
				checkEqual(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
			})
		})
	}
}

func TestAPanicInRulePlanningStopsNoOtherBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 9090))
		w.run("a")
		w.deleteObject(cluster.KindBinding, "a")
		w.aws.readsUntilCallback, w.aws.onSecurityGroupRead = 1, func() { panic("test") }
		if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); err == nil || !strings.Contains(err.Error(), "panic") {
			t.Fatalf("error %v", err)
		}
		w.putObjects(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/a", "arn/b"))
		w.run("b")
		w.run("a")
		checkEqual(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	})
}
