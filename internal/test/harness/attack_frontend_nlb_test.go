package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestInvalidMemberDoesNotHoldFrontendNLBOfOthers checks that an invalid frontend NLB setting of one member does not
// hold the changes of the other members.
func TestInvalidMemberDoesNotHoldFrontendNLBOfOthers(t *testing.T) {
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
				r.Apply(victimIngresses(r, "alb", append(front, "group.name", "edge")...)...)
				settleWithoutErrors(t, r)
				look := func() string {
					// Ignore the port that the newcomer adds. It affects no other member.
					leads := slices.DeleteFunc(nlbForwards(r), func(l string) bool { return l == "internal:80 to internal:80" })
					return strings.Join(append(leads, stateOfKinds(r, "security-group")...), "\n")
				}
				before := look()
				if !strings.Contains(before, "8443-8443") {
					t.Fatal(before)
				}
				all := append(notes, "group.name", "edge")
				if !strings.Contains(strings.Join(notes, " "), "group.order") {
					all = append(all, "group.order", "-1000")
				}
				r.Apply(ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", all...))
				r.Settle(attackSettleTime)
				if d := cmp.Diff(before, look()); d != "" {
					t.Errorf("settings of the victims (-before +after):\n%s", d)
				}
				front[5] = "8444=80"
				for _, n := range []string{"a", "b"} {
					r.Apply(ingressInNamespace("shop", n, "alb", n+".example.com", "", append(front, "group.name", "edge", "scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "wafv2-acl-name", "rig")...))
				}
				r.Settle(attackSettleTime)
				if got := look(); !strings.Contains(got, "internal:8444 to internal:80") || !strings.Contains(got, "8444-8444 10.0.0.0/8") {
					t.Errorf("the victims' change is not applied:\n%s", got)
				}
				for _, n := range []string{"a", "b"} {
					if w := warningsByObject(r)[n]; len(w) > 0 {
						t.Errorf("warnings on victim %s: %q", n, w)
					}
				}
			})
		})
	}
}

// TestInvalidPortMappingKeepsNoListenerOfOthers checks that a member with invalid ports or an invalid port mapping
// keeps only the frontend NLB listeners of its ports. Listeners and rules that the other members remove are deleted.
func TestInvalidPortMappingKeepsNoListenerOfOthers(t *testing.T) {
	t.Parallel()
	for name, notes := range map[string][]string{
		"mapping": {"listen-ports", `[{"HTTP":9000}]`, "frontend-nlb-listener-port-mapping", "x=y"},
		"ports":   {"listen-ports", "x", "frontend-nlb-listener-port-mapping", "9000=9000"},
		"both":    {"listen-ports", "x", "frontend-nlb-listener-port-mapping", "x=y"},
		"order":   {"listen-ports", `[{"HTTP":9000}]`, "frontend-nlb-listener-port-mapping", "9000=9000", "group.order", "first"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop)
				member := func(namespace, name string, notes ...string) {
					r.Apply(ingressInNamespace(namespace, name, "alb", name+".example.com", "", append(notes, "group.name", "edge")...))
				}
				front := []string{"enable-frontend-nlb", "true", "frontend-nlb-scheme", "internal", "inbound-cidrs", "10.0.0.0/8"}
				for _, n := range []string{"a", "b"} {
					member("shop", n, append(front, "listen-ports", `[{"HTTP":80},{"HTTP":8080}]`)...)
				}
				member("team", "newcomer", "listen-ports", `[{"HTTP":9000}]`, "frontend-nlb-listener-port-mapping", "9000=9000")
				settleWithoutErrors(t, r)
				expectEqual(t, "before", "[internal:80 to internal:80 internal:8080 to internal:8080 internal:9000 to internal:9000]", fmt.Sprint(nlbForwards(r)))
				member("team", "newcomer", notes...)
				r.Settle(attackSettleTime)
				expectEqual(t, "while the newcomer cannot be read", "[internal:80 to internal:80 internal:8080 to internal:8080 internal:9000 to internal:9000]", fmt.Sprint(nlbForwards(r)))
				for _, n := range []string{"a", "b"} {
					member("shop", n, append(front, "listen-ports", `[{"HTTP":80}]`)...)
				}
				r.Settle(attackSettleTime)
				expectEqual(t, "after the others gave up a port", "[internal:80 to internal:80 internal:9000 to internal:9000]", fmt.Sprint(nlbForwards(r)))
				state := strings.Join(stateOfKinds(r, "listener", "rule", "security-group"), "\n")
				for _, gone := range []string{",8080,", "8080-8080 10.0.0.0/8"} {
					if strings.Contains(state, gone) {
						t.Errorf("%q is not removed:\n%s", gone, state)
					}
				}
				if !strings.Contains(state, "9000-9000 0.0.0.0/0") {
					t.Errorf("the newcomer's port is not open:\n%s", state)
				}
				deleteIngress(t, r, "shop", "a")
				deleteIngress(t, r, "shop", "b")
				r.Settle(attackSettleTime)
				if state := strings.Join(stateOfKinds(r, "rule"), "\n"); strings.Contains(state, "a.example.com") || strings.Contains(state, "b.example.com") {
					t.Errorf("rules of deleted members are not removed:\n%s", state)
				}
			})
		})
	}
}

// TestNewMemberDoesNotDecideUnsetFrontendNLBSettings checks that a newcomer of another namespace alone cannot change a
// frontend NLB setting that no other member sets. The setting keeps its current value.
func TestNewMemberDoesNotDecideUnsetFrontendNLBSettings(t *testing.T) {
	t.Parallel()
	on := []string{"enable-frontend-nlb", "true"}
	for name, c := range map[string]struct {
		victims, newcomer []string
		agreed            bool // whether the setting changes when a victim requests the same value
	}{
		"scheme":                               {on, []string{"frontend-nlb-scheme", "internet-facing"}, true},
		"scheme, and it asks for the NLB":      {on, append(on, "frontend-nlb-scheme", "internet-facing"), false},
		"scheme, the victims ask for internal": {append(on, "frontend-nlb-scheme", "internal"), []string{"frontend-nlb-scheme", "internet-facing"}, false},
		"scheme of a new one":                  {nil, append(on, "frontend-nlb-scheme", "internet-facing"), true},
		"scheme of a new one, in internal ask": {[]string{"frontend-nlb-scheme", "internal"}, append(on, "frontend-nlb-scheme", "internet-facing"), false},
		"subnets":                              {on, []string{"frontend-nlb-subnets", "SUBNET"}, true},
		"protection":                           {on, []string{"frontend-nlb-attributes", "deletion_protection.enabled=true"}, true},
		"cross zone":                           {on, append(on, "frontend-nlb-attributes", "load_balancing.cross_zone.enabled=true"), true},
		"tags":                                 {on, []string{"frontend-nlb-tags", "Owner=evil"}, true},
		"health checks":                        {on, []string{"frontend-nlb-healthcheck-path", "/no"}, true},
		"security groups":                      {on, []string{"frontend-nlb-security-groups", "GROUP"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				filled := func(notes []string) []string {
					out := append(slices.Clone(notes), "group.name", "edge")
					for i := range out {
						out[i] = strings.NewReplacer("SUBNET", r.Seeded.Private[0], "GROUP", r.Seeded.NodeSG).Replace(out[i])
					}
					return out
				}
				r.Apply(victimIngresses(r, "alb", filled(c.victims)...)...)
				settleWithoutErrors(t, r)
				look := func() string {
					return strings.Join(append(nlbForwards(r), stateOfKinds(r, "load-balancer", "target-group", "security-group")...), "\n")
				}
				before := look()
				r.Apply(ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", append(filled(c.newcomer), "group.order", "-1000")...))
				r.Settle(attackSettleTime)
				if strings.HasPrefix(name, "scheme of a new one") {
					if got := strings.Join(nlbForwards(r), "\n"); !strings.Contains(got, "internal:80 to internal:80") || strings.Contains(got, "internet-facing") {
						t.Errorf("frontend NLBs: %s", got)
					}
				} else if d := cmp.Diff(withoutTargetGroupsOf(before, "team"), withoutTargetGroupsOf(look(), "team")); d != "" {
					t.Errorf("settings of the victims (-before +after):\n%s", d)
				}
				reported := warningsByObject(r)
				if text := strings.Join(reported["newcomer"], "\n"); !strings.Contains(text, "AnnotationConflict") || !strings.Contains(text, c.newcomer[len(c.newcomer)-2]) {
					t.Errorf("events on the newcomer: %q", text)
				}
				if len(reported["a"])+len(reported["b"]) > 0 {
					t.Errorf("warnings on victims: %q", reported)
				}
				if !c.agreed {
					return
				}
				before = look()
				r.Apply(ingressInNamespace("shop", "a", "alb", "a.example.com", "", append(filled(append(slices.Clone(c.victims), c.newcomer[len(c.newcomer)-2:]...)), "scheme", "internal", "inbound-cidrs", "10.0.0.0/8", "wafv2-acl-name", "rig")...))
				r.Settle(attackSettleTime)
				if look() == before {
					t.Errorf("the setting that both namespaces request is not applied:\n%s", before)
				}
			})
		})
	}
}

// withoutTargetGroupsOf removes the lines about target groups of a namespace from a state.
func withoutTargetGroupsOf(state, namespace string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(state, "\n"), func(l string) bool { return strings.Contains(l, "k8s-"+namespace+"-") }), "\n")
}
