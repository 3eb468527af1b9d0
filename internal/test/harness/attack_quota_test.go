package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// The tests in this file cover the AWS quotas of a load balancer, which the members of an IngressGroup share.

func manyRanges(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("10.%d.0.0/16", i))
	}
	return strings.Join(out, ",")
}

func manyPorts(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`{"HTTP":%d}`, 8000+i))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// TestMemberCannotExhaustSecurityGroupRules checks a member that needs as many or more rules than the 60 of a security
// group. The other members keep their clients, and can still change their client ranges or open new ports.
func TestMemberCannotExhaustSecurityGroupRules(t *testing.T) {
	t.Parallel()
	for name, notes := range map[string][]string{
		"more ranges than fit":       {"listen-ports", `[{"HTTP":8081}]`, "inbound-cidrs", manyRanges(70)},
		"as many ranges as fit":      {"listen-ports", `[{"HTTP":8081}]`, "inbound-cidrs", manyRanges(59)},
		"more ports than fit":        {"listen-ports", manyPorts(70), "inbound-cidrs", "10.0.0.0/8"},
		"more of both":               {"listen-ports", manyPorts(8), "inbound-cidrs", manyRanges(8)},
		"a prefix list that is huge": {"listen-ports", `[{"HTTP":8081}]`, "inbound-cidrs", manyRanges(58), "security-group-prefix-lists", "PREFIXES"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				settleWithoutErrors(t, r)
				var own []string
				for _, n := range notes {
					own = append(own, strings.ReplaceAll(n, "PREFIXES", r.Seeded.PrefixList))
				}
				r.Apply(ingressInNamespace("team", "large", "alb", "team.example.com", "", append(own, "group.name", "edge", "group.order", "-1000")...))
				r.Settle(attackSettleTime)
				open := func() string { return fmt.Sprint(stateOfKinds(r, "security-group")) }
				if !strings.Contains(open(), "tcp 80-80 10.0.0.0/8") {
					t.Errorf("the client range of the victims is closed: %s", open())
				}
				for _, n := range []string{"a", "b"} {
					r.Apply(ingressInNamespace("shop", n, "alb", n+".example.com", "", "group.name", "edge", "scheme", "internal", "inbound-cidrs", "10.200.0.0/16", "wafv2-acl-name", "rig"))
				}
				r.Settle(attackSettleTime)
				if !strings.Contains(open(), "tcp 80-80 10.200.0.0/16") || strings.Contains(open(), "tcp 80-80 10.0.0.0/8") {
					t.Errorf("the victims' change is not applied: %s", open())
				}
				if name == "as many ranges as fit" {
					return // no rule for another port fits
				}
				r.Apply(ingressInNamespace("shop", "a", "alb", "a.example.com", "", "group.name", "edge", "scheme", "internal", "inbound-cidrs", "10.200.0.0/16", "wafv2-acl-name", "rig", "listen-ports", `[{"HTTP":80},{"HTTP":81}]`))
				r.Settle(attackSettleTime)
				if name != "a prefix list that is huge" && !slices.ContainsFunc(stateOfKinds(r, "listener"), func(l string) bool { return strings.Contains(l, ",81,") }) {
					t.Error("the victim's new port is not there")
				}
				for n, w := range warningsByObject(r) {
					if n == "b" || n == "a" && name != "a prefix list that is huge" {
						t.Errorf("warnings on victim %s: %q", n, w)
					}
				}
			})
		})
	}
}

// TestBindingAboveTheQuotaKeepsTheRulesOfItsTargets checks a TargetGroupBinding that needs more rules than the 60 of the
// security group of its pods. The rule of its first port is replaced by the rule of both ports.
func TestBindingAboveTheQuotaKeepsTheRulesOfItsTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		admit := func(ports string, others ...string) {
			from := strings.Join(append([]string{"{securityGroup: {groupID: " + r.Seeded.ExtraSG + "}}"}, others...), ", ")
			r.Apply(bindingTo(r.Seeded.TargetGroups["external"], "networking: {ingress: [{from: ["+from+"], ports: ["+ports+"]}]}"))
			r.Settle(attackSettleTime)
		}
		r.Apply(shop, readyPods("web", podAddresses[:3]...))
		admit("{port: 8080}")
		open := func() string { return fmt.Sprint(stateOfKinds(r, "security-group")) }
		if !strings.Contains(open(), "tcp 8080-8080 sg:extra") {
			t.Fatalf("the port is closed: %s", open())
		}
		var others []string
		for _, cidr := range strings.Split(manyRanges(70), ",") {
			others = append(others, "{ipBlock: {cidr: "+cidr+"}}")
		}
		admit("{port: 8080}, {port: 9090}", others...)
		if !strings.Contains(open(), "tcp 8080-9090 sg:extra") || strings.Contains(open(), "tcp 8080-8080 sg:extra") {
			t.Errorf("the rule of both ports does not replace the rule of one port: %s", open())
		}
	})
}
