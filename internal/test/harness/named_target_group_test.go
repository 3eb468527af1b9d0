package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// targetGroupNameOf returns the name of the target group whose id has the route "namespace-name".
func targetGroupNameOf(r *Harness, route, kind string) string {
	s := r.Emulator.Store()
	s.Lock()
	defer s.Unlock()
	for arn, g := range s.Partition(Account, Region).ELB.TargetGroups {
		for k, v := range g.Tags {
			if strings.HasSuffix(k, "/resource") && strings.Contains(v, ":"+route+":"+kind+"-") {
				return strings.Split(arn, "/")[1]
			}
		}
	}
	r.T.Fatal("no target group")
	return ""
}

// TestNamedTargetGroupIsNoProofOfServing checks that an older ListenerSet that is edited does not take a live host or port from
// a younger one, if its route names the target group of the younger one.
func TestNamedTargetGroupIsNoProofOfServing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		toWire := strings.Replace(listenerSetParentRef, "more", "wire", 1)
		const host, port = "port: 80, protocol: HTTP, hostname: bank.example.com", "port: 7000, protocol: TCP"
		r := harnessWithOwnedGateways(t,
			listenerSet("evil", "more", 2020, "edge", "port: 80, protocol: HTTP, hostname: evil.example.com"), listenerSet("evil", "wire", 2020, "net", "port: 7001, protocol: TCP"),
			routeOfNamespace("HTTPRoute", "evil", "all", 2020, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "evil", "all", 2020, toWire, ""),
			listenerSet("bank", "more", 2024, "edge", host), listenerSet("bank", "wire", 2024, "net", port),
			routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "bank", "db", 2024, toWire, ""))
		r.advanceTime(10 * time.Minute)
		check := func(when string) {
			t.Helper()
			got := servingRoute(r, "application", 80, "bank.example.com", "/") + " " + servingRoute(r, "network", 7000, "", "")
			if got != "bank-web bank-db" {
				t.Errorf("%s: %s", when, got)
			}
		}
		check("before")
		r.Apply(listenerSet("evil", "more", 2020, "edge", host), listenerSet("evil", "wire", 2020, "net", port))
		r.advanceTime(10 * time.Minute)
		check("an honest edit")
		named := func(kind, parent, route string) string {
			return strings.Replace(routeOfNamespace(kind, "evil", "all", 2020, parent, ""), "{name: web, port: 80}", "{name: web, port: 80}, {group: gateway.k8s.aws, kind: TargetGroupName, name: "+targetGroupNameOf(r, route, kind)+"}", 1)
		}
		r.Apply(named("HTTPRoute", listenerSetParentRef, "bank-web"), named("TCPRoute", toWire, "bank-db"))
		r.advanceTime(10 * time.Minute)
		check("after the route of evil names the target group")
		r.Apply(routeOfNamespace("HTTPRoute", "evil", "all", 2020, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "evil", "all", 2020, toWire, ""))
		r.advanceTime(10 * time.Minute)
		check("after it names it no more")
	})
}
