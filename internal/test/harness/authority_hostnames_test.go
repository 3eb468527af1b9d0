package harness

import (
	"cmp"
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

// A route for a wildcard is held, and its spec no longer covers the hostname of another listener: its wildcard belongs to a
// further listener, or it names other hostnames. Its live rule does not serve that hostname all the same.
func TestAHeldRouteDoesNotServeTheHostnameOfAnotherListener(t *testing.T) {
	t.Parallel()
	const both = openListener + `, {name: alt, port: 8080, protocol: HTTP, ` + labelled + `}, `
	const own, wide = `{name: web, port: 80, protocol: HTTP, hostname: web.example.com}`, `{name: wide, port: 80, protocol: HTTP, hostname: "*.com", ` + labelled + `}`
	route := func(host, rule, more string) string {
		doc := strings.Replace(teamRoute(rule, more), "team.example.com", host, 1)
		return strings.Replace(doc, "[{name: edge, namespace: shop}]", "[{name: edge, namespace: shop, sectionName: http}, {name: edge, namespace: shop, sectionName: alt}]", 1)
	}
	const wildcard = `"*.example.com"`
	refused := "matches: [{path: {type: PathPrefix, value: /}, headers: [{name: x, value: " + strings.Repeat("x", 200) + "}]}]"
	for name, c := range map[string]struct {
		edit      string // "": none
		listeners string
		serves    string // a hostname that goes on being served, if any
	}{
		"too large": {route(wildcard, "", many()), own, "other.example.com"},
		"too large, wildcard of another listener":  {route(wildcard, "", many()), own + ", " + wide, "other.example.com"},
		"too large with other hostnames":           {route("a.example.com", "", many()), own, "other.example.com"},
		"too large, for all hostnames":             {strings.Replace(route(wildcard, "", many()), "hostnames: ["+wildcard+"]", "", 1), own + ", " + wide, "other.example.com"},
		"too large, on another port":               {strings.Replace(route(wildcard, "", many()), "{name: edge, namespace: shop, sectionName: http}, ", "", 1), own, "other.example.com"},
		"conditions that AWS does not take":        {route(wildcard, refused, ""), own, "other.example.com"},
		"such conditions for other hostnames":      {route("a.example.com", refused, ""), own, ""},
		"such conditions, wildcard of another one": {route(wildcard, refused, ""), own + ", " + wide, ""},
		"not held, wildcard of another listener":   {"", own + ", " + wide, ""},
	} {
		for _, first := range []string{"listener", "edit", "together"} {
			t.Run(name+"/"+first+" first", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := httpAuthority.begin(t)
					r.Apply(edgeOf("listeners: ["+both+"]"), route(wildcard, "", ""))
					r.Settle(10 * time.Minute)
					before := answered(r, 80, "web.example.com", "/")
					if !strings.HasPrefix(before, "k8s-") {
						t.Fatalf("the route does not serve the hostname: %s", before)
					}
					gateway := edgeOf("listeners: [" + both + c.listeners + "]")
					switch {
					case first == "edit" && c.edit != "":
						r.Apply(c.edit)
						r.Settle(time.Minute)
						r.Apply(gateway)
					case first == "listener" && c.edit != "":
						r.Apply(edgeOf("listeners: [" + both + own + "]"))
						r.Settle(time.Minute)
						r.Apply(c.edit)
						r.Settle(time.Minute)
						r.Apply(gateway)
					default:
						r.Apply(gateway, c.edit)
					}
					for _, horizon := range []time.Duration{time.Second, time.Hour} {
						r.Settle(horizon)
						if got := answered(r, 80, "web.example.com", "/"); strings.HasPrefix(got, "k8s-") {
							t.Errorf("after %s requests for the hostname of the listener get %s", horizon, got)
						}
						if got := answered(r, 80, cmp.Or(c.serves, "none"), "/"); c.serves != "" && got != before {
							t.Errorf("after %s what is held gives %s, want %s", horizon, got, before)
						}
					}
					r.Emulator.Calls().Reset()
					r.Settle(time.Hour)
					if n := r.Emulator.Calls().Count("CreateRule") + r.Emulator.Calls().Count("DeleteRule") + r.Emulator.Calls().Count("SetRulePriorities"); n > 0 && !strings.Contains(name, "conditions") {
						t.Errorf("%d further calls about rules", n)
					}
				})
			})
		}
	}
}
