package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTargetTypeChangeAtUniqueTargetGroupQuota checks a change of the target type at the quota of target groups for
// each load balancer, which does not allow a new target group beside the old one. The rule is changed in one step, and
// an event explains this.
func TestTargetTypeChangeAtUniqueTargetGroupQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Emulator: slowChecks()})
		old := webIngress("", "/=web", "/api=api")
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), old)
		settleWithoutErrors(t, r)
		time.Sleep(time.Minute) // lets the targets become healthy
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
			t.Errorf("warnings on the Ingress: %s", text)
		}
		for _, line := range r.State() {
			if strings.HasPrefix(line, "target-group ") && strings.Contains(line, `"ip"`) {
				t.Errorf("an old target group is left: %s", line)
			}
		}
	})
}

// TestOldTargetGroupServesAtTargetGroupQuota checks a change of the target type at the account's quota of target
// groups. The old target group serves as long as the new one cannot be created, and the change is made after the quota
// is raised.
func TestOldTargetGroupServesAtTargetGroupQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		old := webIngress("", "/=web", "/api=api")
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), old)
		settleWithoutErrors(t, r)
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
			t.Errorf("warnings on the Ingress: %s", text)
		}
		setQuota(r, "target-groups", 100)
		r.Settle(maxRepeatDelay)
		if now := answerTo(r, 80, "shop.example.com", "/"); now == before {
			t.Error("the quota is raised, but the change is not applied")
		}
	})
}

// maxRepeatDelay is the maximum time until a rejected call is repeated and the rest of its plan is applied.
const maxRepeatDelay = 20 * time.Minute

// TestUnusedTargetGroupIsDeletedAtTargetGroupQuota checks that, at the account's quota of target groups, a target group
// that is no longer needed is deleted so that a new one can be created.
func TestUnusedTargetGroupIsDeletedAtTargetGroupQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), webIngress("", "/=web"))
		settleWithoutErrors(t, r)
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
