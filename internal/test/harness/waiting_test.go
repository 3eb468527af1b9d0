package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// deleteMembersWithKill deletes two of the four members of an IngressGroup, kills the controller at its n-th AWS call, and
// restarts it. It returns the time until both members are deleted, or an hour if they are not. more is false if the
// controller is not killed because it makes fewer calls.
func deleteMembersWithKill(t *testing.T, n int) (took time.Duration, more bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Checkpoints: true})
		r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[2:4]...),
			teamIngress("one", "1", "/one=web"), teamIngress("two", "2", "/two=api"), teamIngress("three", "3", "/three=web"), teamIngress("four", "4", "/four=api"))
		r.settleOrFail(10 * time.Minute)
		r.Emulator.Faults().SetHook(func(fault.Call) fault.Action {
			if n--; n == 0 {
				r.Kill()
			}
			return fault.Action{}
		})
		deleteInShop(t, r, cluster.KindIngress, "one")
		deleteInShop(t, r, cluster.KindIngress, "two")
		begun := time.Now()
		for time.Since(begun) < time.Hour && !(r.isDeleted(cluster.KindIngress, "shop", "one") && r.isDeleted(cluster.KindIngress, "shop", "two")) {
			r.Settle(time.Second)
			time.Sleep(time.Second)
			if r.WasKilled() {
				more = true
				r.Start()
			}
		}
		took = time.Since(begun)
	})
	return took, more
}

// TestMembersAreDeletedSoonAfterKill checks that two members are deleted within 30 seconds if the controller is killed
// and restarted. It kills the controller once at each AWS call.
func TestMembersAreDeletedSoonAfterKill(t *testing.T) {
	t.Parallel()
	n, more := 1, true
	for ; more; n++ {
		var took time.Duration
		if took, more = deleteMembersWithKill(t, n); took > 30*time.Second {
			t.Errorf("killed at AWS call %d: deletion took %v", n, took)
		}
	}
	if n == 2 {
		t.Error("the controller was never killed")
	}
}

// TestWaitingDeletionIsReported checks that a deleted Ingress remains while its targets drain, and that one Normal
// event reports the wait.
func TestWaitingDeletionIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:2]...), readyPods("api", podAddresses[2:4]...), teamIngress("one", "1", "/one=web"), teamIngress("two", "2", "/two=api"))
		r.settleOrFail(10 * time.Minute)
		time.Sleep(time.Minute) // until the targets are healthy, because other targets do not drain
		r.Apply(readyPods("web", podAddresses[0]))
		r.Settle(5 * time.Second)
		deleteInShop(t, r, cluster.KindIngress, "one")
		r.Settle(30 * time.Second)
		if r.isDeleted(cluster.KindIngress, "shop", "one") {
			t.Fatal("the Ingress is deleted while targets drain")
		}
		var reported []string
		for _, o := range r.Store.All("Event") {
			if e := o.(*corev1.Event); e.InvolvedObject.Name == "one" && strings.Contains(e.Message, "WaitingToDelete") {
				reported = append(reported, e.Type+" "+e.Reason+" "+e.Message)
			}
		}
		if len(reported) != 1 || !strings.Contains(reported[0], "drain") || !strings.HasPrefix(reported[0], "Normal ") {
			t.Errorf("events: %q", reported)
		}
		r.settleOrFail(10 * time.Minute)
		if !r.isDeleted(cluster.KindIngress, "shop", "one") {
			t.Error("the Ingress is not deleted")
		}
	})
}
