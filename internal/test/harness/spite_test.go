package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// refusedMember returns YAML of a member of IngressGroup "team" in namespace "spite". It has n rules whose status code
// AWS rejects. The status code depends on turn.
func refusedMember(turn, n int) string {
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("/spite%d=act", i))
	}
	doc := webIngress(ingressAnnotations("group.name", "team", "group.order", "-1000",
		"actions.act", fmt.Sprintf(`{"type":"fixed-response","fixedResponseConfig":{"statusCode":"%d"}}`, 600+turn%400)), paths...)
	doc = strings.ReplaceAll(doc, "{name: act, port: {number: 80}}", "{name: act, port: {name: use-annotation}}")
	return strings.NewReplacer("namespace: shop", "namespace: spite", "name: web\n", "name: spite\n").Replace(doc)
}

// TestManyRejectedValuesDelayNoOtherTenant checks a namespace with a hundred rules that AWS rejects, whose values
// change every second. They cause few rejected calls, and a change in another namespace takes effect within five
// seconds.
func TestManyRejectedValuesDelayNoOtherTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Emulator.Faults().SetLimits(fault.DocumentedLimits(1))
		r.Apply(shop, "apiVersion: v1\nkind: Namespace\nmetadata: {name: spite}\n", memberWithStatus("good", "5", "200", "/good"))
		settleWithoutErrors(t, r)
		r.Emulator.Calls().Reset()
		longest := time.Duration(0)
		turns := seeds.Amount(120, 300)
		for turn := range turns {
			r.Apply(refusedMember(turn, 100))
			status := fmt.Sprint(200 + turn/30)
			if turn%30 == 0 {
				r.Apply(memberWithStatus("good", "5", status, "/good"))
			}
			begun := time.Now()
			r.Settle(time.Second)
			if turn%30 == 0 {
				for answerTo(r, 80, "shop.example.com", "/good") != status && time.Since(begun) < time.Minute {
					time.Sleep(time.Second)
					r.Settle(time.Second)
				}
				longest = max(longest, time.Since(begun))
			}
			if left := time.Second - time.Since(begun); left > 0 {
				time.Sleep(left)
			}
		}
		refused := 0
		for _, e := range r.Emulator.Calls().Entries() {
			if e.Mutating && e.Code != "" {
				refused++
			}
		}
		t.Logf("BENCH 100 refused rules with new values every second: %d refused calls in %ds, goal %d; a change of another member took %s",
			refused, turns, 20+turns/10*2, longest)
		if refused > 20+turns/10*2 {
			t.Errorf("%d refused calls", refused)
		}
		if longest > 5*time.Second {
			t.Errorf("a change of another member took %s", longest)
		}
	})
}
