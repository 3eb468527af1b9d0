package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestInvalidValueDoesNotBlockOtherMembers checks that the valid attributes and tags of a member are set although another
// member has an invalid one. AWS rejects a call with an invalid value as a whole.
func TestInvalidValueDoesNotBlockOtherMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ bad, good, state string }{
		"attributes": {"load-balancer-attributes: no.such.attribute=1", "load-balancer-attributes: idle_timeout.timeout_seconds=90", `"idle_timeout.timeout_seconds":"90"`},
		"tags":       {"tags: Team=a<b", "tags: Owner=good", `"Owner":"good"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				member := func(name, order, annotation string) string {
					key, value, _ := strings.Cut(annotation, ": ")
					pairs := []string{"group.name", "team", "group.order", order}
					if key != "" {
						pairs = append(pairs, key, value)
					}
					return strings.NewReplacer("name: web\n", "name: "+name+"\n", "shop.example.com", name+".example.com").Replace(webIngress(ingressAnnotations(pairs...), "/=web"))
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), member("bad", "-5", ""), member("good", "5", ""))
				settleWithoutErrors(t, r)
				r.Emulator.Calls().Reset()
				r.Apply(member("bad", "-5", c.bad), member("good", "5", c.good))
				r.Settle(time.Minute)
				if !slices.ContainsFunc(r.State(), func(l string) bool { return strings.HasPrefix(l, "load-balancer ") && strings.Contains(l, c.state) }) {
					t.Errorf("the load balancer does not have %s: %v", c.state, warningsByObject(r))
				}
				editOften(r, "good", busyStackInterval(), time.Hour)
				if n := countCalls(r, "ModifyLoadBalancerAttributes") + countCalls(r, "AddTags"); n > 2*maxRejectedCallsPerHour {
					t.Errorf("%d calls in an hour", n)
				}
			})
		})
	}
}
