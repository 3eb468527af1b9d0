package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// What members write wrong about the frontend NLB of others holds nothing of what those change.
func TestAFrontendNLBOfOthersIsNotFrozen(t *testing.T) {
	t.Parallel()
	for name, notes := range map[string][]string{
		"unreadable scheme":  {"frontend-nlb-scheme", "outside"},
		"unreadable ports":   {"frontend-nlb-listener-port-mapping", "x=y"},
		"unreadable check":   {"frontend-nlb-healthcheck-interval-seconds", "often"},
		"unreadable switch":  {"enable-frontend-nlb", "perhaps"},
		"addresses":          {"frontend-nlb-eip-allocations", "eipalloc-1"},
		"too few addresses":  {"frontend-nlb-eip-allocations", "eipalloc-1", "frontend-nlb-scheme", "internet-facing"},
		"off":                {"enable-frontend-nlb", "false"},
		"ports that are not": {"frontend-nlb-listener-port-mapping", "9999=9998", "enable-frontend-nlb", "true"},
		"order unreadable":   {"group.order", "first", "frontend-nlb-healthcheck-interval-seconds", "20"},
		"another port of it": {"frontend-nlb-listener-port-mapping", "8443=80"},
		"security groups":    {"frontend-nlb-security-groups", "sg-none"},
		"subnets":            {"frontend-nlb-subnets", "subnet-none"},
		"attributes":         {"frontend-nlb-attributes", "access_logs.s3.enabled=false"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				front := []string{"enable-frontend-nlb", "true", "frontend-nlb-scheme", "internal", "frontend-nlb-listener-port-mapping", "8443=80"}
				r.Apply(victims(r, "alb", append(front, "group.name", "edge")...)...)
				settled(t, r)
				look := func() string {
					// A port that the newcomer adds takes nothing from anybody.
					leads := slices.DeleteFunc(fronts(r), func(l string) bool { return l == "internal:80 to internal:80" })
					return strings.Join(append(leads, onlyOf(r, "security-group")...), "\n")
				}
				before := look()
				if !strings.Contains(before, "8443-8443") {
					t.Fatal(before)
				}
				all := append(notes, "group.name", "edge")
				if !strings.Contains(strings.Join(notes, " "), "group.order") {
					all = append(all, "group.order", "-1000")
				}
				r.Apply(inGroup("team", "newcomer", "alb", "team.example.com", "", all...))
				r.Settle(settleFor)
				if d := cmp.Diff(before, look()); d != "" {
					t.Errorf("what the victims have (-before +after):\n%s", d)
				}
				front[5] = "8444=80"
				for _, n := range []string{"a", "b"} {
					r.Apply(inGroup("shop", n, "alb", n+".example.com", "", append(front, "group.name", "edge", "scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "wafv2-acl-name", "rig")...))
				}
				r.Settle(settleFor)
				if got := look(); !strings.Contains(got, "internal:8444 to internal:80") || !strings.Contains(got, "8444-8444 10.0.0.0/8") {
					t.Errorf("the victims' change is not made:\n%s", got)
				}
				for _, n := range []string{"a", "b"} {
					if w := warnings(r)[n]; len(w) > 0 {
						t.Errorf("warnings on victim %s: %q", n, w)
					}
				}
			})
		})
	}
}
