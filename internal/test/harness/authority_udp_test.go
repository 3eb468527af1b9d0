package harness

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

const udpRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: UDPRoute
metadata: {name: u, namespace: team}
spec:
  parentRefs: [{name: edge, namespace: shop}]
  rules: [{backendRefs: [{name: web, namespace: bank, port: 80}]}]
---
`

// tcpAndUDPListeners returns a Gateway with a TCP listener on port 80 and a UDP listener. udp has the port and the
// other fields of the UDP listener.
func tcpAndUDPListeners(udp string) string {
	return edgeWithSpec("listeners: [{name: tcp, protocol: TCP, port: 80, " + allowLabelledRoutes + "}, {name: udp, protocol: UDP, " + udp + "}]")
}

// udpListeners lists the ARNs of the listeners of port 80 that accept UDP.
func udpListeners(r *Harness) []string { return listenersWithProtocol(r, "UDP", "TCP_UDP") }

func listenersWithProtocol(r *Harness, protocols ...string) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for arn, l := range w.Partition(Account, Region).ELB.Listeners {
		if l.Port == 80 && slices.Contains(protocols, string(l.Protocol)) {
			out = append(out, arn)
		}
	}
	slices.Sort(out)
	return out
}

// udpScenario is a port for TCP and UDP that a TCPRoute uses. The port accepts UDP only while the Gateway has a UDP
// listener for it.
var udpScenario = consentScenario{
	docs: func(t *testing.T) []string {
		return []string{strings.Replace(tcpScenario.docs(t)[0], "kind: TCPRoute, namespace: team}", "kind: TCPRoute, namespace: team}, {group: gateway.networking.k8s.io, kind: UDPRoute, namespace: team}", 1),
			bankPods(), "---" + tcpAndUDPListeners("port: 80, "+allowLabelledRoutes) + tcpRoute(bankBackend)}
	},
	serving:    udpListeners,
	holdCauses: entriesOf(tcpScenario.holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "replaced", "too many backends", "target group configuration wrong"),
	withdrawals: map[string]func(r *Harness){
		"listener": func(r *Harness) { r.Apply(tcpListener("port: 80, " + allowLabelledRoutes)) },
		"port":     func(r *Harness) { r.Apply(tcpAndUDPListeners("port: 81, " + allowLabelledRoutes)) },
	},
}

// TestPortKeepsTCPWithoutItsUDPListener checks that a held listener for TCP and UDP is changed to TCP and keeps its
// target groups when the UDP listener is removed from the Gateway.
func TestPortKeepsTCPWithoutItsUDPListener(t *testing.T) {
	t.Parallel()
	for way, hold := range entriesOf(udpScenario.holdCauses, "configuration missing", "configuration wrong", "class missing") {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := udpScenario.startServing(t)
				hold(r)
				r.Settle(time.Minute)
				before, to := udpListeners(r), targetGroupsForHost(80, "")(r)
				if len(before) != 1 || len(to) == 0 {
					t.Fatalf("before the withdrawal the listeners are %s and forward to %s", before, to)
				}
				udpScenario.withdrawals["listener"](r)
				for _, horizon := range []time.Duration{time.Second, time.Minute} {
					r.Settle(horizon)
					if got := listenersWithProtocol(r, "TCP"); !slices.Equal(got, before) {
						t.Errorf("after %s the listeners of TCP are %s, want %s", horizon, got, before)
					}
					if got := targetGroupsForHost(80, "")(r); !slices.Equal(got, to) {
						t.Errorf("after %s the listeners forward to %s, want %s", horizon, got, to)
					}
				}
			})
		})
	}
}

// TestAllowedRoutesOfUDPDoNotChangePortProtocol checks that the protocols of a port depend only on its listeners, not
// on the routes that they admit. A TCPRoute also receives UDP if the UDP listener does not admit it and no UDPRoute
// exists.
func TestAllowedRoutesOfUDPDoNotChangePortProtocol(t *testing.T) {
	t.Parallel()
	for edge, withdraw := range map[string]func(r *Harness){
		"allowedRoutes":                  func(r *Harness) { r.Apply(tcpAndUDPListeners("port: 80, allowedRoutes: {namespaces: {from: Same}}")) },
		"ReferenceGrant of the UDPRoute": func(r *Harness) { r.Apply(strings.Replace(bankGrant, "kind: HTTPRoute", "kind: TCPRoute", 1)) },
		"UDPRoute":                       func(r *Harness) { r.deleteObject(cluster.KindUDPRoute, "team", "u") },
	} {
		t.Run(edge, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := udpScenario.startServing(t)
				before, to := udpListeners(r), targetGroupsForHost(80, "")(r)
				r.Apply(udpRoute)
				r.Settle(10 * time.Minute)
				withdraw(r)
				r.Settle(time.Hour)
				if got := udpListeners(r); !slices.Equal(got, before) {
					t.Errorf("listeners of UDP: %s, want %s", got, before)
				}
				if got := targetGroupsForHost(80, "")(r); !slices.Equal(got, to) {
					t.Errorf("UDP is forwarded to %s, want %s", got, to)
				}
			})
		})
	}
}
