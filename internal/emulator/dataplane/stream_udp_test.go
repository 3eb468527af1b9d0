package dataplane

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// startUDPTarget starts a UDP target that answers each datagram with its name, the client address that it sees, and the
// payload.
func startUDPTarget(t *testing.T, name, at string) *testTarget {
	t.Helper()
	conn, err := net.ListenPacket("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, maxDatagramBytes)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(fmt.Appendf(nil, "%s %s %s", name, from.(*net.UDPAddr).IP, buf[:n]), from)
		}
	}()
	return &testTarget{name, conn.LocalAddr().(*net.UDPAddr).AddrPort()}
}

type udpClient struct {
	t    *testing.T
	conn net.Conn
}

func dialUDP(t *testing.T, at netip.AddrPort, local string) udpClient {
	t.Helper()
	d := net.Dialer{}
	if local != "" {
		d.LocalAddr = &net.UDPAddr{IP: net.ParseIP(local)}
	}
	conn, err := d.Dial("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return udpClient{t, conn}
}

// sendAndReceive sends a datagram. It returns the name of the target, the client address that the target sees, and the
// payload. It returns empty strings if no answer arrives in time.
func (c udpClient) sendAndReceive(payload string, wait time.Duration) (name, seen, rest string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(payload)); err != nil {
		c.t.Fatal(err)
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(wait))
	buf := make([]byte, maxDatagramBytes)
	n, err := c.conn.Read(buf)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", "", ""
	}
	if err != nil {
		c.t.Fatal(err)
	}
	parts := strings.SplitN(string(buf[:n]), " ", 3)
	return parts[0], parts[1], parts[2]
}

func firstUDPAddress(t *testing.T, p *Plane) netip.AddrPort {
	t.Helper()
	for _, e := range p.Endpoints() {
		if e.UDP {
			return e.LocalAddress
		}
	}
	t.Fatal("no socket for datagrams is open")
	return netip.AddrPort{}
}

func TestUDPFlowKeepsItsTarget(t *testing.T) {
	a, b := startUDPTarget(t, "a", "127.0.0.1:0"), startUDPTarget(t, "b", "127.0.0.1:0")
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{Protocol: UDP, DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", UDP, a, b)))
	at := firstUDPAddress(t, p)
	used := map[string]bool{}
	for range 40 {
		c := dialUDP(t, at, "127.9.8.7")
		first, seen, rest := c.sendAndReceive("one", conditionTimeout)
		second, _, _ := c.sendAndReceive("two", conditionTimeout)
		if first == "" || first != second || seen != "127.9.8.7" || rest != "one" {
			t.Fatalf("a flow went to %q, then %q; the target saw %s and %q", first, second, seen, rest)
		}
		used[first] = true
	}
	if len(used) != 2 {
		t.Errorf("40 flows went to %v", used)
	}
	large := strings.Repeat("x", 20000)
	if _, _, rest := dialUDP(t, at, "").sendAndReceive(large, conditionTimeout); rest != large {
		t.Errorf("a large datagram came back with %d bytes", len(rest))
	}
}

func TestUDPWithoutTargetIsDropped(t *testing.T) {
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{Protocol: UDP, DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", UDP)))
	if name, _, _ := dialUDP(t, firstUDPAddress(t, p), "").sendAndReceive("x", brief); name != "" {
		t.Errorf("%s answered", name)
	}
}

func TestUDPFlowEndsWithItsTarget(t *testing.T) {
	a, b := startUDPTarget(t, "a", "127.0.0.1:0"), startUDPTarget(t, "b", "127.0.0.1:0")
	p := startPlane(t)
	listener := Listener{Protocol: UDP, DefaultRule: Rule{Action: forwardTo("g")}}
	apply(t, p, nlbConfig(listener, streamTargetGroup("g", UDP, a)))
	c := dialUDP(t, firstUDPAddress(t, p), "")
	wantName := func(want string) {
		t.Helper()
		eventually(t, want+" answers", func() bool {
			name, _, _ := c.sendAndReceive("x", brief)
			return name == want
		})
	}
	wantName("a")
	draining := streamTargetGroup("g", UDP, a, b)
	draining.Targets[0].State = StateDraining
	apply(t, p, nlbConfig(listener, draining))
	if name, _, _ := c.sendAndReceive("x", conditionTimeout); name != "a" {
		t.Errorf("a flow moved to %q while its target drains", name)
	}
	apply(t, p, nlbConfig(listener, streamTargetGroup("g", UDP, b)))
	wantName("b")
}

func TestIdleUDPFlowsAreRemoved(t *testing.T) {
	a := startUDPTarget(t, "a", "127.0.0.1:0")
	entries := make(chan AccessEntry, 1)
	p := startPlane(t, func(o *Options) {
		o.UDPIdleTimeout = brief
		o.LogAccess = func(e AccessEntry) { entries <- e }
	})
	apply(t, p, nlbConfig(Listener{Protocol: UDP, DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", UDP, a)))
	dialUDP(t, firstUDPAddress(t, p), "").sendAndReceive("x", brief) // the reply may be late, but the flow expires in any case
	if e := <-entries; e.TargetGroup != "g" || e.Target != a.addr {
		t.Errorf("entry %+v", e)
	}
}

func TestTCPAndUDPOnOnePort(t *testing.T) {
	a := startTCPTarget(t, "a", "127.0.0.1")
	startUDPTarget(t, "a", a.addr.String())
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{Protocol: TCPUDP, DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", TCPUDP, a)))
	e := p.Endpoints()
	if len(e) != 2 || e[0].LocalAddress != e[1].LocalAddress {
		t.Fatalf("sockets %+v", e)
	}
	dialTCP(t, firstListenerAddress(t, p)).readGreeting(t)
	if name, _, _ := dialUDP(t, firstUDPAddress(t, p), "").sendAndReceive("x", conditionTimeout); name != "a" {
		t.Errorf("%q answered", name)
	}
	apply(t, p, nlbConfig(Listener{Protocol: TCP, DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", TCPUDP, a)))
	if e := p.Endpoints(); len(e) != 1 || e[0].UDP {
		t.Errorf("a TCP listener has the sockets %+v", e)
	}
}

func TestProxyProtocolOfUDP(t *testing.T) {
	a := startUDPTarget(t, "a", "127.0.0.1:0")
	g := streamTargetGroup("g", UDP, a)
	g.Attributes["proxy_protocol_v2.enabled"] = "true"
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{Protocol: UDP, DefaultRule: Rule{Action: forwardTo("g")}}, g))
	c := dialUDP(t, firstUDPAddress(t, p), "")
	for _, payload := range []string{"one", "two"} {
		_, _, rest := c.sendAndReceive(payload, conditionTimeout)
		r := bytes.NewReader([]byte(rest))
		command, family, from, dest := readProxyHeader(t, r)
		left := make([]byte, r.Len())
		_, _ = r.Read(left)
		if command != 0x21 || family != 0x12 || from != c.conn.LocalAddr().String() || dest != "10.250.1.5:80" || string(left) != payload {
			t.Errorf("header %02x %02x %s %s, payload %q", command, family, from, dest, left)
		}
	}
}

func TestQUICIsRoutedByServerID(t *testing.T) {
	a, b := startUDPTarget(t, "a", "127.0.0.1:0"), startUDPTarget(t, "b", "127.0.0.1:0")
	ids := []string{"0x0123456789abcdef", "0xfedcba9876543210"}
	g := streamTargetGroup("g", QUIC, a, b)
	for i := range g.Targets {
		g.Targets[i].QUICServerID = ids[i]
	}
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{Protocol: QUIC, DefaultRule: Rule{Action: forwardTo("g")}}, g))
	at := firstUDPAddress(t, p)
	raw := func(id string) string {
		text, err := hex.DecodeString(id[2:])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for i, want := range []string{"a", "b"} {
		short := "\x40\x08" + raw(ids[i]) + "nonce"
		long := "\xc0\x00\x00\x00\x01\x0c\x08" + raw(ids[i]) + "abc" + "\x00"
		for range 5 {
			for _, packet := range []string{short, long} {
				if name, _, _ := dialUDP(t, at, "").sendAndReceive(packet, conditionTimeout); name != want {
					t.Errorf("a packet for %s went to %q", want, name)
				}
			}
		}
	}
	// Packets without a known server ID go to the same target. A packet with the server ID of the other target goes there.
	c := dialUDP(t, at, "")
	first, _, _ := c.sendAndReceive("\xc0\x00\x00\x00\x01\x08abcdefgh\x00", conditionTimeout)
	again, _, _ := c.sendAndReceive("\xc0\x00\x00\x00\x01\x08abcdefgh\x00", conditionTimeout)
	if first == "" || first != again {
		t.Errorf("a flow without server ID went to %q, then %q", first, again)
	}
	other := map[string]int{"a": 1, "b": 0}[first]
	if name, _, _ := c.sendAndReceive("\x40\x08"+raw(ids[other])+"nonce", conditionTimeout); name != []string{"a", "b"}[other] {
		t.Errorf("a packet with the server ID of the other target went to %q", name)
	}
}
