package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// While a whole Gateway is held, no rule for a wildcard or for all hostnames serves a hostname that belongs to another
// listener, and it serves the others on.
func TestARuleOfAHeldGatewayDoesNotServeTheHostnameOfAnotherListener(t *testing.T) {
	t.Parallel()
	for way, hold := range some(heldWays, "configuration missing", "configuration wrong", "class missing") {
		for _, hosts := range []string{`hostnames: ["*.example.com"]`, ""} {
			t.Run(way+"/"+hosts, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := httpAuthority.begin(t)
					r.Apply(strings.Replace(teamRoute("", ""), "hostnames: [team.example.com]", hosts, 1))
					r.Settle(10 * time.Minute)
					before := answered(r, 80, "web.example.com", "/")
					if !strings.HasPrefix(before, "k8s-") {
						t.Fatalf("the route does not serve the hostname: %s", before)
					}
					hold(r)
					r.Settle(time.Minute)
					r.Apply(edgeOf(`listeners: [` + openListener + `, {name: web, port: 80, protocol: HTTP, hostname: web.example.com}]`))
					check := func(horizon time.Duration) {
						r.Settle(horizon)
						if got := answered(r, 80, "web.example.com", "/"); got != "404" {
							t.Errorf("after %s requests for the hostname of the listener get %s", horizon, got)
						}
						if got := answered(r, 80, "other.example.com", "/"); got != before {
							t.Errorf("after %s what is held gives %s, want %s", horizon, got, before)
						}
						if got := len(liveRules(r, 80)); got != 2 {
							t.Errorf("after %s the port has %d rules, want 2", horizon, got)
						}
					}
					check(time.Second)
					check(time.Hour)
					r.Apply(authorityWorld) // it is not held any more
					check(time.Hour)
				})
			})
		}
	}
}
