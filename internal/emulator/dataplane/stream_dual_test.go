package dataplane

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// nodeIPv6 is the IPv6 address of the load balancer node in dualStackConfig.
var nodeIPv6 = netip.MustParseAddr("2001:db8::5")

// dualStackConfig returns nlbConfig with a dual-stack load balancer.
func dualStackConfig(l Listener, groups ...TargetGroup) Config {
	cfg := nlbConfig(l, groups...)
	cfg.LoadBalancers[0].Nodes[0].IPv6 = nodeIPv6
	return cfg
}

// skipWithoutIPv6 skips a test on a machine without IPv6.
func skipWithoutIPv6(t *testing.T) {
	t.Helper()
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6:", err)
	}
	_ = ln.Close()
}

// listenerLocalAddress returns the local address of the listener at node address "at".
func listenerLocalAddress(t *testing.T, p *Plane, at netip.Addr, udp bool) netip.AddrPort {
	t.Helper()
	for _, e := range p.Endpoints() {
		if e.NodeAddress.Addr() == at && e.UDP == udp {
			return e.LocalAddress
		}
	}
	t.Fatalf("no socket at %s is open", at)
	return netip.AddrPort{}
}

func TestDualStackListenerServesIPv6(t *testing.T) {
	skipWithoutIPv6(t)
	a := startTCPTarget(t, "a", "127.0.0.1")
	startUDPTarget(t, "a", a.addr.String())
	g := streamTargetGroup("g", TCPUDP, a)
	g.Attributes["preserve_client_ip.enabled"] = "true"
	p := startPlane(t)
	apply(t, p, dualStackConfig(Listener{Protocol: TCPUDP, DefaultRule: Rule{Action: forwardTo("g")}}, g))
	if e := p.Endpoints(); len(e) != 4 {
		t.Fatalf("sockets %+v", e)
	}
	// The address of an IPv6 client cannot be preserved for an IPv4 target: the target sees the address of the node.
	_, seen := dialTCP(t, listenerLocalAddress(t, p, nodeIPv6, false).String()).readGreeting(t)
	_, datagram, rest := dialUDP(t, listenerLocalAddress(t, p, nodeIPv6, true), "").sendAndReceive("x", conditionTimeout)
	if d := cmp.Diff([]string{"127.250.1.5", "127.250.1.5", "x"}, []string{seen, datagram, rest}); d != "" {
		t.Errorf("an IPv6 client (-want +got):\n%s", d)
	}
	if _, seen = dialTCP(t, firstListenerAddress(t, p)).readGreeting(t); seen != "127.0.0.1" {
		t.Errorf("the address of an IPv4 client became %s", seen)
	}
	apply(t, p, nlbConfig(Listener{Protocol: TCPUDP, DefaultRule: Rule{Action: forwardTo("g")}}, g))
	if e := p.Endpoints(); len(e) != 2 {
		t.Errorf("without IPv6 the sockets are %+v", e)
	}
}

func TestIPv6TargetSeesIPv6Client(t *testing.T) {
	skipWithoutIPv6(t)
	g := streamTargetGroup("g", TCP, startTCPTarget(t, "six", "::1"))
	g.Attributes["preserve_client_ip.enabled"] = "true"
	p := startPlane(t)
	apply(t, p, dualStackConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	name, seen := dialTCP(t, listenerLocalAddress(t, p, nodeIPv6, false).String()).readGreeting(t)
	if name != "six" || seen != "::1" {
		t.Errorf("%s sees %s", name, seen)
	}
	if name, _ := dialTCP(t, firstListenerAddress(t, p)).readGreeting(t); name != "six" {
		t.Errorf("an IPv4 client reached %q", name)
	}
}

func TestProxyProtocolHasIPv6ClientAddress(t *testing.T) {
	skipWithoutIPv6(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	g := streamTargetGroup("g", TCP, &testTarget{"raw", ln.Addr().(*net.TCPAddr).AddrPort()})
	g.Attributes["proxy_protocol_v2.enabled"] = "true"
	p := startPlane(t)
	apply(t, p, dualStackConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	client := dialTCP(t, listenerLocalAddress(t, p, nodeIPv6, false).String())
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	command, family, from, dest := readProxyHeader(t, newTestConn(t, conn))
	want := []any{byte(0x21), byte(0x21), client.LocalAddr().String(), "[2001:db8::5]:80"}
	if d := cmp.Diff(want, []any{command, family, from, dest}); d != "" {
		t.Errorf("header (-want +got):\n%s", d)
	}
}

func TestDNSNameOmitsUnhealthyZones(t *testing.T) {
	peers := []*testTarget{startTCPTarget(t, "a", "127.0.0.1"), startTCPTarget(t, "b", "127.0.0.1"), startTCPTarget(t, "c", "127.0.0.1")}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	peers[1].addr = gone.Addr().(*net.TCPAddr).AddrPort()
	_ = gone.Close()
	g := streamTargetGroup("g", TCP, peers...)
	g.HealthCheck = HealthCheck{Protocol: TCP, Interval: 10 * time.Millisecond, HealthyThreshold: 2, UnhealthyThreshold: 2}
	for i := range g.Targets {
		g.Targets[i].State = StateInitial
	}
	g.Targets[2].Zone = "b"
	cfg := nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g)
	cfg.LoadBalancers[0].DNSName = "net"
	cfg.LoadBalancers[0].Nodes = append(cfg.LoadBalancers[0].Nodes, Node{Zone: "b", Address: netip.MustParseAddr("10.250.2.5")})
	p := startPlane(t)
	apply(t, p, cfg)
	resolves := func(want ...string) {
		t.Helper()
		eventually(t, "the name is right", func() bool {
			all, _ := p.Resolve("net")
			var got []string
			for _, a := range all {
				got = append(got, a.String())
			}
			return cmp.Equal(want, got)
		})
	}
	resolves("127.250.1.5", "127.250.2.5")
	g.Attributes["target_group_health.dns_failover.minimum_healthy_targets.percentage"] = "60"
	apply(t, p, cfg)
	resolves("127.250.2.5")
	g.Attributes["target_group_health.dns_failover.minimum_healthy_targets.percentage"] = "50"
	apply(t, p, cfg)
	resolves("127.250.1.5", "127.250.2.5")
}

func TestZoneHealthIgnoresTargetGroupsOfWeightZero(t *testing.T) {
	g := streamTargetGroup("g", TCP, startTCPTarget(t, "b", "127.0.0.1"))
	g.Targets[0].Zone = "b"
	next := streamTargetGroup("next", TCP, startTCPTarget(t, "c", "127.0.0.1"))
	next.Targets[0].State, next.HealthCheck = StateInitial, HealthCheck{Protocol: TCP, Interval: time.Hour}
	cfg := nlbConfig(Listener{DefaultRule: Rule{Action: Forward{TargetGroups: []WeightedTargetGroup{{ARN: "g", Weight: 1}, {ARN: "next"}}}}}, g, next)
	cfg.LoadBalancers[0].DNSName = "net"
	cfg.LoadBalancers[0].Nodes = append(cfg.LoadBalancers[0].Nodes, Node{Zone: "b", Address: netip.MustParseAddr("10.250.2.5")})
	p := startPlane(t)
	apply(t, p, cfg)
	want := []netip.Addr{netip.MustParseAddr("127.250.2.5")}
	if got, _ := p.Resolve("net"); !slices.Equal(want, got) {
		t.Errorf("the name is %s, want %s", got, want)
	}
}

func TestFlowsEndWithTheirTargetGroup(t *testing.T) {
	a, b := startUDPTarget(t, "a", "127.0.0.1:0"), startUDPTarget(t, "b", "127.0.0.1:0")
	old, next := streamTargetGroup("old", UDP, a), streamTargetGroup("next", UDP, b)
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{Protocol: UDP, DefaultRule: Rule{Action: forwardTo("old")}}, old))
	c := dialUDP(t, firstUDPAddress(t, p), "")
	if name, _, _ := c.sendAndReceive("x", conditionTimeout); name != "a" {
		t.Fatalf("%q answered", name)
	}
	listener := Listener{Protocol: UDP, DefaultRule: Rule{Action: forwardTo("next")}}
	apply(t, p, nlbConfig(listener, old, next))
	if name, _, _ := c.sendAndReceive("x", conditionTimeout); name != "a" {
		t.Errorf("the flow moved to %q before its target group was gone", name)
	}
	apply(t, p, nlbConfig(listener, next))
	eventually(t, "b answers", func() bool {
		name, _, _ := c.sendAndReceive("x", brief)
		return name == "b"
	})
	// TCP connections stay open when their target group is deleted.
	one, two := startTCPTarget(t, "one", "127.0.0.1"), startTCPTarget(t, "two", "127.0.0.1")
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("kept")}}, streamTargetGroup("kept", TCP, one)))
	l := dialTCP(t, firstListenerAddress(t, p))
	l.readGreeting(t)
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("other")}}, streamTargetGroup("other", TCP, two)))
	l.checkEcho(t, "after its target group has gone")
}
