package harness

import (
	"crypto/elliptic"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// attackerGateways are Gateways in namespace "evil" with the same listeners as ownedGateways.
var attackerGateways = strings.NewReplacer("namespace: infra", "namespace: evil", "name: edge", "name: mine", "name: net", "name: wire",
	"44444444-0000-4000-8000-00000000000", "55555555-0000-4000-8000-00000000000").Replace(ownedALBGateway + ownedNLBGateway)

// TestMovedListenerSetHasNoOlderClaims checks that a ListenerSet that moves from another Gateway takes neither a hostname
// nor a port from ListenerSets that already serve it, even if it is older.
func TestMovedListenerSetHasNoOlderClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		moved := func(name, to, listener string) string {
			return strings.Replace(listenerSet("evil", name, 2020, to, listener), "namespace: infra}", "namespace: "+map[bool]string{true: "infra", false: "evil"}[to == "edge" || to == "net"]+"}", 1)
		}
		const host, port = "port: 80, protocol: HTTP, hostname: bank.example.com", "port: 7000, protocol: TCP"
		toWire := strings.Replace(listenerSetParentRef, "more", "wire", 1)
		r := harnessWithOwnedGateways(t, attackerGateways, moved("more", "mine", host), moved("wire", "wire", port),
			routeOfNamespace("HTTPRoute", "evil", "all", 2020, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "evil", "all", 2020, toWire, ""))
		expectEqual(t, "on its own Gateways", "evil-all evil-all", servingRoute(r, "application", 80, "bank.example.com", "/")+" "+servingRoute(r, "network", 7000, "", ""))
		bank := []string{
			listenerSet("bank", "more", 2024, "edge", host), listenerSet("bank", "wire", 2024, "net", port),
			routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "bank", "db", 2024, toWire, ""),
		}
		r.deleteObject(cluster.KindHTTPRoute, "evil", "all")
		r.deleteObject(cluster.KindTCPRoute, "evil", "all")
		r.Apply(bank...)
		r.advanceTime(10 * time.Minute)
		check := func(when string) {
			t.Helper()
			expectEqual(t, when, "bank-web bank-db", servingRoute(r, "application", 80, "bank.example.com", "/")+" "+servingRoute(r, "network", 7000, "", ""))
		}
		check("before")
		r.Apply(routeOfNamespace("HTTPRoute", "evil", "all", 2020, listenerSetParentRef, ""), routeOfNamespace("TCPRoute", "evil", "all", 2020, toWire, ""))
		r.Apply(moved("more", "edge", host), moved("wire", "net", port))
		r.advanceTime(10 * time.Minute)
		check("after the move")
		expectEqual(t, "the ListenerSets that moved", "HostnameConflict False, ProtocolConflict False", listenerSetConflict(r, "evil", "more")+", "+listenerSetConflict(r, "evil", "wire"))
		// The owner edits its ListenerSets, and then the controller restarts.
		r.Apply(strings.Replace(bank[0], "name: l,", "name: renamed,", 1), strings.Replace(bank[1], "name: l,", "name: renamed,", 1))
		r.advanceTime(10 * time.Minute)
		check("after an edit")
		r.Kill()
		r.Start()
		r.advanceTime(10 * time.Minute)
		check("after a restart")
	})
}

// TestWithdrawnGrantAffectsOnlyItsNamespace checks listeners of two namespaces that present the same certificate. When
// the ReferenceGrant of one namespace is deleted, only the listener of that namespace is removed.
func TestWithdrawnGrantAffectsOnlyItsNamespace(t *testing.T) {
	t.Parallel()
	const teamGrant = `
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {namespace: vault, name: team}
spec:
  from: [{group: gateway.networking.k8s.io, kind: ListenerSet, namespace: team}]
  to: [{group: "", kind: Secret}]
---
`
	for way, hold := range entriesOf(certificateScenario.holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "Secret missing", "Secret wrong") {
		for _, who := range []string{"team", "shop"} {
			t.Run(way+"/"+who, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					opt := Options{}
					certificateScenario.options(&opt)
					r := shopWith(t, opt)
					i := newIssuer(t)
					set := strings.NewReplacer("namespace: vault", "namespace: team", "port: 443", "port: 8443", "certificateRefs: [{name: api}]", "certificateRefs: [{name: api, namespace: vault}]").Replace(secureListenerSet)
					edge := edgeWithSpec("allowedListeners: {namespaces: " + labelledSets +
						"}\n  listeners: [{name: shop, protocol: HTTPS, port: 443, hostname: shop.example.com, tls: {certificateRefs: [{name: api, namespace: vault}]}}]")
					r.Apply(consentObjects, shop, readyPods("web", podAddresses[:3]...), strings.Replace(i.issue("api", elliptic.P256(), "api.example.com"), "namespace: shop", "namespace: vault", 1),
						vaultNamespace(""), secretGrant, teamGrant, "---"+edge+set, routeOf("web", "shop.example.com", "backendRefs: [{name: web, port: 80}]"))
					r.Settle(10 * time.Minute)
					has := func(port string) bool {
						for _, l := range stateOfKinds(r, "listener") {
							if strings.Contains(l, ","+port+",") {
								return true
							}
						}
						return false
					}
					if !has("443") || !has("8443") {
						t.Fatalf("before the test not both ports are served: %v %v\n%s", warningsByObject(r), listenerSetConflict(r, "team", "more"), strings.Join(stateOfKinds(r, "listener"), "\n"))
					}
					hold(r)
					r.Settle(time.Minute)
					r.deleteObject(cluster.KindReferenceGrant, "vault", who)
					for _, horizon := range []time.Duration{time.Second, time.Hour} {
						r.Settle(horizon)
						if has("8443") != (who == "shop") || has("443") != (who == "team") {
							t.Errorf("after %s: port 443 %v, port 8443 %v", horizon, has("443"), has("8443"))
						}
					}
				})
			})
		}
	}
}

// TestPortsOfAListenerSetLeaveRoomForOthers checks that a ListenerSet with more ports than a security group can have rules
// prevents neither the port of the Gateway nor that of another ListenerSet.
func TestPortsOfAListenerSetLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ports strings.Builder
		for i := range 63 {
			fmt.Fprintf(&ports, ", {name: l%d, port: %d, protocol: HTTP, allowedRoutes: {namespaces: {from: Same}}}", i, 8001+i)
		}
		evil := strings.Replace(listenerSet("evil", "more", 2020, "edge", "port: 8000, protocol: HTTP"), "}]\n", "}"+ports.String()+"]\n", 1)
		r := harnessWithOwnedGateways(t, evil, routeOfNamespace("HTTPRoute", "evil", "all", 2020, listenerSetParentRef, ""),
			routeOfNamespace("HTTPRoute", "shop", "web", 2025, edgeParentRef, "shop.example.com"))
		r.Apply(listenerSet("bank", "more", 2025, "edge", "port: 9000, protocol: HTTP"), routeOfNamespace("HTTPRoute", "bank", "web", 2025, listenerSetParentRef, ""))
		r.advanceTime(30 * time.Minute)
		expectEqual(t, "the port of the Gateway", "shop-web", servingRoute(r, "application", 80, "shop.example.com", "/"))
		expectEqual(t, "the port of another ListenerSet", "bank-web", servingRoute(r, "application", 9000, "bank.example.com", "/"))
	})
}
