package harness

import (
	"strings"
	"testing"
	"testing/synctest"
)

// invalidNewMemberSettings are annotations of a new member by description. Each has an invalid value for a load balancer
// setting that the other members do not set.
var invalidNewMemberSettings = map[string][]string{
	"attribute value":          {"load-balancer-attributes", "routing.http.preserve_host_header.enabled=maybe"},
	"attribute key":            {"load-balancer-attributes", "no.such.key=1"},
	"logs to no bucket":        {"load-balancer-attributes", "access_logs.s3.enabled=true,access_logs.s3.bucket=none-such"},
	"tag":                      {"tags", "Bad<key>=x"},
	"tag value":                {"tags", "Good=a;b|c"},
	"subnets":                  {"subnets", "subnet-none"},
	"subnets by name":          {"subnets", "no,such,names"},
	"one subnet":               {"subnets", "subnet-1"},
	"pool":                     {"customer-owned-ipv4-pool", "ipv4pool-coip-none"},
	"address pool":             {"ipam-ipv4-pool-id", "ipam-pool-none"},
	"capacity":                 {"minimum-load-balancer-capacity", "CapacityUnits=999999999"},
	"name":                     {"load-balancer-name", "taken"},
	"dualstack":                {"ip-address-type", "dualstack-without-public-ipv4"},
	"trust store":              {"listen-ports", `[{"HTTPS":443}]`, "mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"none"}]`},
	"policy":                   {"listen-ports", `[{"HTTPS":443}]`, "ssl-policy", "NoSuchPolicy"},
	"certificate":              {"listen-ports", `[{"HTTPS":443}]`, "certificate-arn", "arn:aws:acm:us-west-2:123456789012:certificate/none"},
	"listener attribute":       {"listener-attributes.HTTP-80", "no.such.key=1"},
	"listener attribute value": {"listener-attributes.HTTP-80", "routing.http.response.strict_transport_security.header_value="},
	"shield":                   {"shield-advanced-protection", "true"},
	"classic":                  {"web-acl-id", "none-such"},
	"prefix list":              {"security-group-prefix-lists", "pl-none"},
	"target group attribute":   {"target-group-attributes", "no.such.key=1"},
	"redirect":                 {"ssl-redirect", "8443"},
	"frontend":                 {"enable-frontend-nlb", "true", "frontend-nlb-subnets", "subnet-none"},
	"frontend groups":          {"enable-frontend-nlb", "true", "frontend-nlb-security-groups", "sg-none"},
	"frontend attributes":      {"enable-frontend-nlb", "true", "frontend-nlb-attributes", "no.such.key=1"},
	"frontend mapping":         {"enable-frontend-nlb", "true", "frontend-nlb-listener-port-mapping", "1=2"},
}

// victimsWithFewSettings returns Ingresses "shop/a" and "shop/b" with some load balancer settings. turn is "0" or "1".
// The values of the settings differ between the two turns.
func victimsWithFewSettings(turn string) []string {
	notes := func(idle, server string) []string {
		return []string{"group.name", "edge", "load-balancer-attributes", "idle_timeout.timeout_seconds=" + idle, "tags", "Turn=" + turn,
			"listener-attributes.HTTP-80", "routing.http.response.server.enabled=" + server, "inbound-cidrs", "10." + turn + ".0.0/16"}
	}
	n := notes("10"+turn, map[string]string{"0": "true", "1": "false"}[turn])
	return []string{ingressInNamespace("shop", "a", "alb", "a"+turn+".example.com", "", n...), ingressInNamespace("shop", "b", "alb", "b.example.com", "", n...)}
}

// checkVictimSettings checks that AWS has all settings that victimsWithFewSettings sets for this turn.
func checkVictimSettings(t *testing.T, r *Harness, turn string) {
	t.Helper()
	state := strings.Join(r.State(), "\n")
	for _, want := range []string{
		`"idle_timeout.timeout_seconds":"10` + turn, `"Turn":"` + turn, "tcp 80-80 10." + turn + ".0.0/16", `"a` + turn + `.example.com"`,
		`"routing.http.response.server.enabled":"` + map[string]string{"0": "true", "1": "false"}[turn],
	} {
		if !strings.Contains(state, want) {
			t.Errorf("turn %s: no %s", turn, want)
		}
	}
}

// TestInvalidSettingDoesNotHoldOtherMembers checks that an invalid setting of one member of an existing load
// balancer does not hold the settings of the other members.
func TestInvalidSettingDoesNotHoldOtherMembers(t *testing.T) {
	t.Parallel()
	for name, notes := range invalidNewMemberSettings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(shop, readyPods("web", podAddresses[:3]...), teamShop)
				r.Apply(victimsWithFewSettings("0")...)
				settleWithoutErrors(t, r)
				checkVictimSettings(t, r, "0")
				r.Apply(ingressInNamespace("team", "newcomer", "alb", "team.example.com", "", append(notes, "group.name", "edge", "group.order", "-1000")...))
				r.Settle(attackSettleTime)
				r.Apply(victimsWithFewSettings("1")...)
				r.Settle(attackSettleTime)
				checkVictimSettings(t, r, "1")
			})
		})
	}
}
