package bindings_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
)

// While a rule is taken away, because nothing asked for it any more when that was planned, something may come that needs it.
// Its targets are not registered behind a rule that is about to go, and the rule is there in the end.
func TestARuleThatIsNeededAgainWhileItIsTakenAwayComesBack(t *testing.T) {
	for name, x := range map[string]struct {
		comes        string
		binding, arn string
		target       string
	}{
		"a new target group": {
			strings.Join([]string{serviceDoc("other", "ClusterIP"), podDocs("other", p2),
				strings.ReplaceAll(bindingDoc("b", "other", "ip", 8080), "arn/a", "arn/b")}, "---"),
			"b", "arn/b", "10.0.2.1:8080",
		},
		"the endpoints of one whose rule was there": {podDocs("web", p1), "a", "arn/a", "10.0.1.1:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
				again := map[bindings.Key]bool{}
				w.conf.Again = func(k bindings.Key) { again[k] = true }
				w.restart()
				w.run("a")
				w.put(podDocs("web"))
				answer := make(chan struct{})
				w.aws.changing = answer
				var runs sync.WaitGroup
				runs.Go(func() { _ = w.rec.SyncRules(t.Context()) })
				synctest.Wait()
				if w.aws.changing != nil {
					t.Fatal("no rule is taken away")
				}
				w.put(x.comes)
				runs.Go(func() { _, _ = w.rec.Reconcile(t.Context(), keyOf(x.binding)) })
				synctest.Wait()
				close(answer)
				runs.Wait()
				for k := range again {
					w.run(k.Name)
				}
				want(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
				want(t, "targets", x.target, w.aws.ids(x.arn))
			})
		})
	}
}

// The endpoints go and come back while a run over their binding is under way, and another run plans rules in between.
func TestARuleThatIsTakenAwayDuringARunOfItsBindingComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
		again := 0
		w.conf.Again = func(bindings.Key) { again++ }
		w.restart()
		w.run("a")
		w.put(podDocs("web", p1, p2))
		answer := make(chan struct{})
		w.aws.adding = answer
		var runs sync.WaitGroup
		runs.Go(func() { _, _ = w.rec.Reconcile(t.Context(), keyOf("a")) })
		synctest.Wait()
		if w.aws.adding != nil {
			t.Fatal("no target is registered")
		}
		w.put(podDocs("web"))
		if err := w.rec.SyncRules(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, "rules", "", w.aws.rulesOf("sg-node"))
		w.put(podDocs("web", p1, p2))
		close(answer)
		runs.Wait()
		if again != 1 {
			t.Errorf("%d more runs are asked for, want one", again)
		}
		w.run("a")
		want(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
		want(t, "targets", "10.0.1.1:8080 10.0.2.1:8080", w.aws.ids("arn/a"))
		w.aws.log = nil
		w.run("a")
		want(t, "calls of a run without a change", "", strings.Join(w.aws.log, ", "))
	})
}

// A run that waits for AWS while it plans changes of rules keeps no other from registering targets for long.
func TestAPlanOfRulesThatWaitsForAWSDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 9090),
			strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/a", "arn/b"))
		w.run("a")
		w.run("b")
		w.drop(cluster.KindBinding, "a")
		answer := make(chan struct{})
		w.aws.groupReads, w.aws.atRead = 2, func() { <-answer } // the first plans without the right to change
		var runs sync.WaitGroup
		runs.Go(func() { _, _ = w.rec.Reconcile(t.Context(), keyOf("a")) })
		synctest.Wait()
		w.put(podDocs("web", p1, p2))
		start := time.Now()
		w.run("b")
		if took := time.Since(start); took == 0 || took > 5*time.Second {
			t.Errorf("registered after %v", took)
		}
		want(t, "targets", "10.0.1.1:8080 10.0.2.1:8080", w.aws.ids("arn/b"))
		close(answer)
		runs.Wait()
		want(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	})
}

func TestAPanicWhileRulesArePlannedStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 9090))
		w.run("a")
		w.drop(cluster.KindBinding, "a")
		w.aws.groupReads, w.aws.atRead = 2, func() { panic("test") }
		if _, err := w.rec.Reconcile(t.Context(), keyOf("a")); err == nil || !strings.Contains(err.Error(), "panic") {
			t.Fatalf("error %v", err)
		}
		w.put(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/a", "arn/b"))
		w.run("b")
		w.run("a")
		want(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	})
}
