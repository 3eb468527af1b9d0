package harness

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHeldGatewayRuleDoesNotServeHostnameOfOtherListener checks that, while a Gateway is held, rules for a wildcard or
// for all hostnames do not serve the hostname of a new listener, but still serve other hostnames.
func TestHeldGatewayRuleDoesNotServeHostnameOfOtherListener(t *testing.T) {
	t.Parallel()
	for way, hold := range entriesOf(holdCauses, "configuration missing", "configuration wrong", "class missing") {
		for _, hosts := range []string{`hostnames: ["*.example.com"]`, ""} {
			t.Run(way+"/"+hosts, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := httpScenario.startServing(t)
					r.Apply(strings.Replace(teamRoute("", ""), "hostnames: [team.example.com]", hosts, 1))
					r.Settle(10 * time.Minute)
					before := answerTo(r, 80, "web.example.com", "/")
					if !strings.HasPrefix(before, "k8s-") {
						t.Fatalf("the route does not serve the hostname: %s", before)
					}
					hold(r)
					r.Settle(time.Minute)
					r.Apply(edgeWithSpec(`listeners: [` + openListener + `, {name: web, port: 80, protocol: HTTP, hostname: web.example.com}]`))
					check := func(horizon time.Duration) {
						r.Settle(horizon)
						if got := answerTo(r, 80, "web.example.com", "/"); got != "404" {
							t.Errorf("after %s requests for the hostname of the listener get %s", horizon, got)
						}
						if got := answerTo(r, 80, "other.example.com", "/"); got != before {
							t.Errorf("after %s requests for the held rule get %s, want %s", horizon, got, before)
						}
						if got := len(rulesByPriority(r, 80)); got != 2 {
							t.Errorf("after %s the port has %d rules, want 2", horizon, got)
						}
					}
					check(time.Second)
					check(time.Hour)
					r.Apply(consentObjects) // ends the hold
					check(time.Hour)
				})
			})
		}
	}
}

// TestHeldRouteDoesNotServeHostnameOfOtherListener checks that the existing rule of a held wildcard route does not
// serve the hostname of another listener. This also applies if the new spec of the route no longer covers that
// hostname.
func TestHeldRouteDoesNotServeHostnameOfOtherListener(t *testing.T) {
	t.Parallel()
	const both = openListener + `, {name: alt, port: 8080, protocol: HTTP, ` + allowLabelledRoutes + `}, `
	const own, wide = `{name: web, port: 80, protocol: HTTP, hostname: web.example.com}`, `{name: wide, port: 80, protocol: HTTP, hostname: "*.com", ` + allowLabelledRoutes + `}`
	route := func(host, rule, more string) string {
		doc := strings.Replace(teamRoute(rule, more), "team.example.com", host, 1)
		return strings.Replace(doc, "[{name: edge, namespace: shop}]", "[{name: edge, namespace: shop, sectionName: http}, {name: edge, namespace: shop, sectionName: alt}]", 1)
	}
	const wildcard = `"*.example.com"`
	refused := "matches: [{path: {type: PathPrefix, value: /}, headers: [{name: x, value: " + strings.Repeat("x", 200) + "}]}]"
	for name, c := range map[string]struct {
		edit      string // empty for no edit
		listeners string
		serves    string // a hostname that is still served, if any
	}{
		"too large": {route(wildcard, "", manyRules()), own, "other.example.com"},
		"too large, wildcard of another listener":  {route(wildcard, "", manyRules()), own + ", " + wide, "other.example.com"},
		"too large with other hostnames":           {route("a.example.com", "", manyRules()), own, "other.example.com"},
		"too large, for all hostnames":             {strings.Replace(route(wildcard, "", manyRules()), "hostnames: ["+wildcard+"]", "", 1), own + ", " + wide, "other.example.com"},
		"too large, on another port":               {strings.Replace(route(wildcard, "", manyRules()), "{name: edge, namespace: shop, sectionName: http}, ", "", 1), own, "other.example.com"},
		"conditions that AWS does not take":        {route(wildcard, refused, ""), own, "other.example.com"},
		"such conditions for other hostnames":      {route("a.example.com", refused, ""), own, ""},
		"such conditions, wildcard of another one": {route(wildcard, refused, ""), own + ", " + wide, ""},
		"not held, wildcard of another listener":   {"", own + ", " + wide, ""},
	} {
		for _, first := range []string{"listener", "edit", "together"} {
			t.Run(name+"/"+first+" first", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := httpScenario.startServing(t)
					r.Apply(edgeWithSpec("listeners: ["+both+"]"), route(wildcard, "", ""))
					r.Settle(10 * time.Minute)
					before := answerTo(r, 80, "web.example.com", "/")
					if !strings.HasPrefix(before, "k8s-") {
						t.Fatalf("the route does not serve the hostname: %s", before)
					}
					gateway := edgeWithSpec("listeners: [" + both + c.listeners + "]")
					switch {
					case first == "edit" && c.edit != "":
						r.Apply(c.edit)
						r.Settle(time.Minute)
						r.Apply(gateway)
					case first == "listener" && c.edit != "":
						r.Apply(edgeWithSpec("listeners: [" + both + own + "]"))
						r.Settle(time.Minute)
						r.Apply(c.edit)
						r.Settle(time.Minute)
						r.Apply(gateway)
					default:
						r.Apply(gateway, c.edit)
					}
					for _, horizon := range []time.Duration{time.Second, time.Hour} {
						r.Settle(horizon)
						if got := answerTo(r, 80, "web.example.com", "/"); strings.HasPrefix(got, "k8s-") {
							t.Errorf("after %s requests for the hostname of the listener get %s", horizon, got)
						}
						if got := answerTo(r, 80, cmp.Or(c.serves, "none"), "/"); c.serves != "" && got != before {
							t.Errorf("after %s requests for the held rule get %s, want %s", horizon, got, before)
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

// answersOfEach returns how each load balancer that listens on a port answers a request, by the ARN of the load
// balancer.
func answersOfEach(r *Harness, port int32, host string) map[string]string {
	out := map[string]string{}
	w := r.Emulator.Store()
	w.Lock()
	balancers := map[string]string{}
	for arn, l := range w.Partition(Account, Region).ELB.Listeners {
		if l.Port == port {
			balancers[arn], out[l.LoadBalancer] = l.LoadBalancer, "default"
		}
	}
	w.Unlock()
	for _, rule := range rulesByPriority(r, port) {
		if lb := balancers[rule.Listener]; out[lb] == "default" && matchesRequest(rule.Conditions, host, "/") {
			out[lb] = actionResult(r, rule.Actions)
		}
	}
	return out
}

// TestReplacedLoadBalancerDoesNotServeHostnameOfOtherListener checks that a wildcard rule on a load balancer that is
// being replaced does not serve the hostname of another listener, but still serves other hostnames. The listener is
// added before or during the replacement.
func TestReplacedLoadBalancerDoesNotServeHostnameOfOtherListener(t *testing.T) {
	t.Parallel()
	wildcard := strings.Replace(teamRoute("", ""), "team.example.com", `"*.example.com"`, 1)
	for name, hold := range entriesOf(holdCauses, "not held", "too large") {
		if name == "too large" {
			hold = func(r *Harness) {
				r.Apply(strings.Replace(teamRoute("", manyRules()), "team.example.com", `"*.example.com"`, 1))
			}
		}
		for _, first := range []string{"listener", "replacement"} {
			t.Run(name+"/"+first, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := httpScenario.startServing(t)
					r.Apply(wildcard)
					r.Settle(10 * time.Minute)
					before := answerTo(r, 80, "web.example.com", "/")
					hold(r)
					steps := []func(r *Harness){holdCauses["replaced"], func(r *Harness) {
						r.Apply(edgeWithSpec(`listeners: [` + openListener + `, {name: web, port: 80, protocol: HTTP, hostname: web.example.com}]`))
					}}
					if first == "listener" {
						slices.Reverse(steps)
					}
					for _, step := range steps {
						step(r)
						r.Settle(time.Minute)
					}
					if n := len(answersOfEach(r, 80, "")); n != 2 {
						t.Fatalf("%d load balancers serve during the replacement", n)
					}
					for lb, got := range answersOfEach(r, 80, "web.example.com") {
						if got != "404" && got != "default" {
							t.Errorf("requests to %s for the hostname of the listener get %s", lb, got)
						}
					}
					if !slices.Contains(slices.Collect(maps.Values(answersOfEach(r, 80, "other.example.com"))), before) {
						t.Errorf("other hostnames get %v, want %s from the previous load balancer", answersOfEach(r, 80, "other.example.com"), before)
					}
					r.Settle(2 * time.Hour)
					if n := len(answersOfEach(r, 80, "")); n != 1 {
						t.Errorf("%d load balancers serve at the end", n)
					}
				})
			})
		}
	}
}
