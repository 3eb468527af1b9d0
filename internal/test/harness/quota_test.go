package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTargetTypeChangeAtUniqueTargetGroupQuota checks that at the quota of unique target groups, where a new target
// group does not fit beside the old one, the change is made in one call and an event explains it.
func TestTargetTypeChangeAtUniqueTargetGroupQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Emulator: slowChecks()})
		old := webIngress("", "/=web", "/api=api")
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), old)
		awaitSettled(t, r)
		time.Sleep(time.Minute) // until the targets are healthy
		setQuota(r, "target-groups-per-application-load-balancer", 2)
		before := answerTo(r, 80, "shop.example.com", "/")
		r.Emulator.Calls().Reset()
		r.Apply(strings.Replace(old, "target-type: ip", "target-type: instance", 1))
		editOften(r, "web", busyStackInterval(), time.Hour)
		if after := answerTo(r, 80, "shop.example.com", "/"); after == before || after == "503" || after == "default" {
			t.Errorf("before %s, an hour later %s; warnings %v", before, after, warningsByObject(r))
		}
		n := countCalls(r, "ModifyRule")
		t.Logf("BENCH the quota of unique target groups: %d calls of ModifyRule in an hour of looks every %s, goal %d", n, busyStackInterval(), maxRejectedCallsPerHour)
		if n > maxRejectedCallsPerHour {
			t.Errorf("%d calls of ModifyRule", n)
		}
		if text := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(text, "changed in one step") || !strings.Contains(text, "TooManyUniqueTargetGroupsPerLoadBalancer") {
			t.Errorf("the owner reads %s", text)
		}
		for _, line := range r.State() {
			if strings.HasPrefix(line, "target-group ") && strings.Contains(line, `"ip"`) {
				t.Errorf("an old target group is left: %s", line)
			}
		}
	})
}

// TestOldTargetGroupServesAtTargetGroupQuota checks that at the account's quota of target groups, where a replacement
// cannot be created, the old target group still serves, and that the change is made when the quota allows.
func TestOldTargetGroupServesAtTargetGroupQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		old := webIngress("", "/=web", "/api=api")
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), old)
		awaitSettled(t, r)
		setQuota(r, "target-groups", countTargetGroups(r))
		before := answerTo(r, 80, "shop.example.com", "/")
		r.Emulator.Calls().Reset()
		r.Apply(strings.Replace(old, "target-type: ip", "target-type: instance", 1))
		for range 360 {
			editOften(r, "web", 10*time.Second, 10*time.Second)
			if now := answerTo(r, 80, "shop.example.com", "/"); now != before {
				t.Fatalf("answered by %s, before by %s", now, before)
			}
		}
		if n := countCalls(r, "CreateTargetGroup"); n > maxRejectedCallsPerHour {
			t.Errorf("%d calls of CreateTargetGroup", n)
		}
		if text := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(text, "QuotaReached") || !strings.Contains(text, "TooManyTargetGroups") {
			t.Errorf("the owner reads %s", text)
		}
		setQuota(r, "target-groups", 100)
		r.Settle(maxRepeatDelay)
		if now := answerTo(r, 80, "shop.example.com", "/"); now == before {
			t.Error("there is room, and the change is not made")
		}
	})
}

// maxRepeatDelay is the maximum time until a refused call is repeated and its plan carried out.
const maxRepeatDelay = 20 * time.Minute

// TestUnusedTargetGroupIsDeletedAtTargetGroupQuota checks that an unused target group is deleted before a new one is
// created if the quota has room for only one.
func TestUnusedTargetGroupIsDeletedAtTargetGroupQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), webIngress("", "/=web"))
		awaitSettled(t, r)
		setQuota(r, "target-groups", countTargetGroups(r))
		r.Emulator.Calls().Reset()
		r.Apply(webIngress("", "/new=api"))
		r.Settle(maxRepeatDelay)
		if now := answerTo(r, 80, "shop.example.com", "/new"); !strings.Contains(now, "k8s-shop-api") {
			t.Errorf("answered by %s: %v", now, warningsByObject(r))
		}
		if n := countCalls(r, "CreateTargetGroup"); n > 5 {
			t.Errorf("%d calls of CreateTargetGroup", n)
		}
	})
}

func countTargetGroups(r *Harness) int {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	return len(w.Partition(Account, Region).ELB.TargetGroups)
}
