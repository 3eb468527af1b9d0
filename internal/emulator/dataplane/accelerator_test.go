package dataplane

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newTestAccelerator returns an accelerator with one listener for the given ports. Its static address is public, and local
// replaces that address on this machine.
func newTestAccelerator(arn, public, local string, ports ...PortRange) Accelerator {
	return Accelerator{ARN: arn, DNSNames: []string{arn + ".awsglobalaccelerator.com"}, Addresses: []StaticAddress{{netip.MustParseAddr(public), netip.MustParseAddr(local)}},
		Listeners: []AcceleratorListener{{ARN: arn + "/l", Ports: ports}}}
}

func TestApplyReportsUnservedAcceleratorPorts(t *testing.T) {
	p := startPlane(t)
	wide := newTestAccelerator("wide", "75.2.0.1", "127.252.0.1", PortRange{1000, 1000}, PortRange{2000, 9000})
	same := newTestAccelerator("same", "75.2.0.1", "127.252.0.1", PortRange{1000, 1000})
	err := p.Apply(Config{Accelerators: []Accelerator{wide, same}})
	if err == nil || !strings.Contains(err.Error(), "accelerator wide has more than 200 ports") || !strings.Contains(err.Error(), "75.2.0.1:1000 is already served by wide") {
		t.Errorf("error %v", err)
	}
	if n := len(p.AcceleratorSockets()); n != 200 {
		t.Errorf("%d ports are open, want 200", n)
	}
	// The DNS name resolves even if no port of the accelerator is open.
	if found, ok := p.Resolve("WIDE.awsglobalaccelerator.com."); !ok || len(found) != 1 || found[0].String() != "127.252.0.1" {
		t.Errorf("the name has %v", found)
	}
	apply(t, p, Config{Accelerators: []Accelerator{newTestAccelerator("wide", "75.2.0.1", "127.252.0.1", PortRange{1000, 1001})}})
	before := p.AcceleratorSockets()
	apply(t, p, Config{Accelerators: []Accelerator{newTestAccelerator("wide", "75.2.0.1", "127.252.0.1", PortRange{1001, 1002})}})
	after := p.AcceleratorSockets()
	if len(before) != 2 || len(after) != 2 || before[1].Real != after[0].Real || after[1].Static.Port() != 1002 {
		t.Errorf("a port that stays is opened again: %v, then %v", before, after)
	}
	apply(t, p, Config{})
	if n := len(p.AcceleratorSockets()); n != 0 {
		t.Errorf("%d ports are open without an accelerator", n)
	}
	if _, ok := p.Resolve("wide.awsglobalaccelerator.com"); ok {
		t.Error("the name of a deleted accelerator resolves")
	}
}

// acceleratorSocketTo applies an accelerator with one instance endpoint at address at, and returns the address of its socket
// on this machine.
func acceleratorSocketTo(t *testing.T, at netip.AddrPort, udp bool, change func(*Options)) netip.AddrPort {
	t.Helper()
	p := startPlane(t, change)
	a := newTestAccelerator("a", "75.2.0.1", "127.0.0.1", PortRange{1000, 1000})
	a.Listeners[0].UDP = udp
	a.Listeners[0].EndpointGroups = []EndpointGroup{{
		Region: "us-west-2", TrafficDial: 100, PortOverrides: map[uint16]uint16{1000: at.Port()},
		Endpoints: []AcceleratorEndpoint{{ID: "i", Weight: 1, IsHealthy: true, PreserveClientIP: true, Address: at.Addr()}},
	}}
	apply(t, p, Config{Accelerators: []Accelerator{a}})
	return p.AcceleratorSockets()[0].Real
}

func TestIdleConnectionsOfAcceleratorsEnd(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	real := acceleratorSocketTo(t, ln.Addr().(*net.TCPAddr).AddrPort(), false, func(o *Options) { o.AcceleratorIdleTimeout = brief })
	conn, err := net.Dial("tcp", real.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	there, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	for side, c := range map[string]net.Conn{"client": conn, "endpoint": there} {
		c.SetDeadline(time.Now().Add(conditionTimeout))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v, want a reset", side, err)
		}
	}
}

// TestIdleFlowsOfAcceleratorsEnd checks that the endpoint sees the same source port for all datagrams of a UDP flow, and
// that datagrams after the idle timeout are a new flow.
func TestIdleFlowsOfAcceleratorsEnd(t *testing.T) {
	target, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	go func() {
		buf := make([]byte, 100)
		for {
			_, from, err := target.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = target.WriteTo(fmt.Append(nil, from), from)
		}
	}()
	ask := func(conn net.Conn) string {
		t.Helper()
		var out string
		eventually(t, "an answer", func() bool { // datagrams may be lost
			_, _ = conn.Write([]byte("?"))
			_ = conn.SetReadDeadline(time.Now().Add(brief))
			buf := make([]byte, 100)
			n, err := conn.Read(buf)
			out = string(buf[:n])
			return err == nil
		})
		return out
	}
	for name, idle := range map[string]time.Duration{"idle": 4 * time.Millisecond, "kept": 0} {
		real := acceleratorSocketTo(t, target.LocalAddr().(*net.UDPAddr).AddrPort(), true, func(o *Options) { o.AcceleratorUDPIdleTimeout = idle })
		conn, err := net.Dial("udp", real.String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		first := ask(conn)
		if name == "idle" {
			eventually(t, "another flow", func() bool { return ask(conn) != first })
			continue
		}
		for range 3 {
			if again := ask(conn); again != first {
				t.Errorf("a flow that is not idle changes from %s to %s", first, again)
			}
		}
	}
}
