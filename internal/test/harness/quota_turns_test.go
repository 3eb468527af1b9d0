package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	victimHost    = "victim.example.com"
	neighbourHost = "a-longer-name.example.com"
)

// memberRules returns n rules "path=service" whose paths begin with prefix.
func memberRules(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("/%s%d=web", prefix, i))
	}
	return out
}

// newFullLoadBalancer creates a load balancer whose rule quota is used up. Member "victim" has all its rules. Member
// "front" has a higher priority, uses the rest of the quota, and waits for more rules. victim and neighbour are the
// numbers of rules of both members.
func newFullLoadBalancer(t *testing.T, r *Harness, kind memberKind, victim, neighbour int) {
	t.Helper()
	setQuota(r, "rules-per-application-load-balancer", ruleQuota)
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), neighbourNamespace, kind.shared)
	r.Apply(kind.member("shop", "victim", false, victimHost, memberRules("v", victim)...))
	settleWithoutErrors(t, r)
	r.Apply(kind.member("team", "front", true, neighbourHost, memberRules("n", neighbour)...))
	r.Settle(time.Hour)
	if n := len(rulesByPriority(r, 80)); n != ruleQuota {
		t.Fatalf("%d rules", n)
	}
}

// countServedRules returns how many of the n memberRules with the given prefix are served for a member.
func countServedRules(r *Harness, namespace, host, prefix string, n int) int {
	served, _ := countServed(r, namespace, host, memberRules(prefix, n)...)
	return served
}

// TestFreeRulesGoToNamespaceWithFewestRules checks that free rules of the quota go to the namespace with fewer rules,
// even if a member of another namespace has a higher priority.
func TestFreeRulesGoToNamespaceWithFewestRules(t *testing.T) {
	t.Parallel()
	for _, kind := range memberKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			t.Run("of a new load balancer", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					setQuota(r, "rules-per-application-load-balancer", ruleQuota)
					r.Apply(shop, readyPods("web", podAddresses[:3]...), neighbourNamespace, kind.shared,
						kind.member("team", "front", true, neighbourHost, memberRules("n", 25)...), kind.member("shop", "victim", false, victimHost, memberRules("v", 15)...))
					r.Settle(time.Hour)
					if v, n := countServedRules(r, "shop", victimHost, "v", 15), countServedRules(r, "team", neighbourHost, "n", 25); v != ruleQuota/2 || n != ruleQuota/2 {
						t.Errorf("the victim has %d of 15 and the neighbour %d of 25", v, n)
					}
				})
			})
			t.Run("of a raised quota", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					newFullLoadBalancer(t, r, kind, 3, ruleQuota+6)
					r.Apply(kind.member("shop", "victim", false, victimHost, memberRules("v", 5)...))
					r.Settle(time.Hour)
					if v := countServedRules(r, "shop", victimHost, "v", 5); v != 3 {
						t.Fatalf("the victim has %d of 5", v)
					}
					setQuota(r, "rules-per-application-load-balancer", ruleQuota+2)
					r.Settle(time.Hour)
					if v := countServedRules(r, "shop", victimHost, "v", 5); v != 5 {
						t.Errorf("the victim has %d of 5; warnings %v", v, warningsByObject(r)["victim"])
					}
				})
			})
			t.Run("that a member gives up", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					newFullLoadBalancer(t, r, kind, 3, ruleQuota+6)
					r.Apply(kind.member("shop", "victim", false, victimHost, memberRules("v", 1)...))
					r.Settle(time.Minute)
					if v, n := countServedRules(r, "shop", victimHost, "v", 1), countServedRules(r, "team", neighbourHost, "n", ruleQuota+6); v != 1 || n != ruleQuota-1 {
						t.Errorf("the victim has %d of 1 and the neighbour %d, want %d", v, n, ruleQuota-1)
					}
					if len(rulesByPriority(r, 80)) != ruleQuota {
						t.Error("the quota is not used up")
					}
				})
			})
			t.Run("of another scheme", func(t *testing.T) {
				if kind.name != "ingress" {
					return
				}
				synctest.Test(t, func(t *testing.T) {
					r := newShop(t)
					newFullLoadBalancer(t, r, kind, 3, ruleQuota+6)
					for _, m := range []string{
						kind.member("shop", "victim", false, victimHost, memberRules("v", 3)...), kind.member("team", "front", true, neighbourHost, memberRules("n", ruleQuota+6)...),
					} {
						r.Apply(strings.Replace(m, "{note: shared", "{note: shared"+ingressAnnotations("scheme", "internet-facing"), 1))
					}
					r.Settle(3 * time.Hour)
					if v := countServedRules(r, "shop", victimHost, "v", 3); v != 3 {
						t.Errorf("the victim has %d of 3; warnings %v", v, warningsByObject(r)["victim"])
					}
				})
			})
		})
	}
}

// TestPortChangeIsServedAtRuleQuota checks that a member that moves to another port at the rule quota gets as many
// rules there as it gives up on the old port.
func TestPortChangeIsServedAtRuleQuota(t *testing.T) {
	t.Parallel()
	for name, ports := range map[string][2]string{
		"up": {`[{"HTTP":80}]`, `[{"HTTP":8080}]`}, "down": {`[{"HTTP":8080}]`, `[{"HTTP":80}]`},
		"to one that the neighbour has": {`[{"HTTP":8080}]`, `[{"HTTP":81}]`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				setQuota(r, "rules-per-application-load-balancer", ruleQuota)
				// The victim has more than half of the rules. It therefore gets new rules only for those that it gives up.
				const own = 12
				on := func(ports, doc string) string {
					return strings.Replace(doc, "{note: shared", "{note: shared"+ingressAnnotations("listen-ports", ports), 1)
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), neighbourNamespace,
					on(ports[0], groupMember("shop", "victim", false, victimHost, memberRules("v", own)...)))
				settleWithoutErrors(t, r)
				r.Apply(on(`[{"HTTP":81}]`, groupMember("team", "front", true, neighbourHost, memberRules("n", ruleQuota)...)))
				r.Settle(time.Hour)
				r.Apply(on(ports[1], groupMember("shop", "victim", false, victimHost, memberRules("v", own)...)))
				r.Settle(time.Hour)
				var port int32
				if _, err := fmt.Sscanf(ports[1], `[{"HTTP":%d}]`, &port); err != nil {
					t.Fatal(err)
				}
				served := 0
				for _, p := range memberRules("v", own) {
					at, _, _ := strings.Cut(p, "=")
					if strings.HasPrefix(answerTo(r, port, victimHost, at), "k8s-shop-") {
						served++
					}
				}
				if served != own {
					t.Errorf("%d of %d are served on port %d; warnings %v", served, own, port, warningsByObject(r)["victim"])
				}
				if n := len(rulesByPriority(r, 81)); n < ruleQuota-own {
					t.Errorf("the neighbour has %d rules left", n)
				}
			})
		})
	}
}

// TestEditIsServedAtTargetGroupQuota checks that a member whose rules get other backends, and in some cases other
// paths, is served although the quota of target groups is used up by another member.
func TestEditIsServedAtTargetGroupQuota(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string][]string{
		"another backend":            {"/v0=api"},
		"another backend and path":   {"/w0=api"},
		"another backend and 2 more": {"/w0=api", "/w1=api", "/w2=api"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				setQuota(r, "target-groups-per-application-load-balancer", 4)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), neighbourNamespace)
				r.Apply(groupMember("shop", "victim", false, victimHost, "/v0=web"))
				settleWithoutErrors(t, r)
				var docs, rules []string
				for i := range 8 {
					docs = append(docs, strings.NewReplacer("name: web,", fmt.Sprintf("name: s%d,", i), "000000000001", fmt.Sprintf("0000000000a%d", i), "30099", fmt.Sprint(30100+i)).Replace(neighbourNamespace))
					rules = append(rules, fmt.Sprintf("/n%d=s%d", i, i))
				}
				r.Apply(docs...)
				r.Apply(groupMember("team", "front", true, neighbourHost, rules...))
				r.Settle(time.Hour)
				theirs, _ := countServed(r, "team", neighbourHost, rules...)
				r.Apply(groupMember("shop", "victim", false, victimHost, edit...))
				r.Settle(time.Hour)
				if n, missing := countServed(r, "shop", victimHost, edit...); n != len(edit) {
					t.Errorf("%v; warnings %v", missing, warningsByObject(r)["victim"])
				}
				if now, _ := countServed(r, "team", neighbourHost, rules...); now < theirs || theirs != 3 {
					t.Errorf("the neighbour has %d, before %d", now, theirs)
				}
			})
		})
	}
}
