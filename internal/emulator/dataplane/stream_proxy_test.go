package dataplane

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readProxyHeader reads a proxy protocol header, verifies its checksum and returns its fields.
func readProxyHeader(t *testing.T, r io.Reader) (command byte, family byte, from, to string) {
	t.Helper()
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	if string(head[:12]) != "\r\n\r\n\x00\r\nQUIT\n" {
		t.Fatalf("signature %q", head[:12])
	}
	body := make([]byte, binary.BigEndian.Uint16(head[14:]))
	if _, err := io.ReadFull(r, body); err != nil {
		t.Fatal(err)
	}
	whole := append(bytes.Clone(head), body...)
	sum := binary.BigEndian.Uint32(whole[len(whole)-4:])
	copy(whole[len(whole)-4:], []byte{0, 0, 0, 0})
	if want := crc32.Checksum(whole, crc32.MakeTable(crc32.Castagnoli)); sum != want {
		t.Errorf("checksum %08x, want %08x", sum, want)
	}
	if size := map[byte]int{0x10: 4, 0x20: 16}[head[13]&0xf0]; size > 0 {
		address := func(ip, port []byte) string {
			a, _ := netip.AddrFromSlice(ip)
			return netip.AddrPortFrom(a, binary.BigEndian.Uint16(port)).String()
		}
		from, to = address(body[:size], body[2*size:]), address(body[size:2*size], body[2*size+2:])
	}
	return head[12], head[13], from, to
}

func TestProxyProtocol(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	g := streamTargetGroup("g", TCP, &testTarget{"raw", ln.Addr().(*net.TCPAddr).AddrPort()})
	g.Attributes["proxy_protocol_v2.enabled"] = "true"
	p := startPlane(t, func(o *Options) {
		o.ClientAddress = func(netip.Addr) netip.Addr { return netip.MustParseAddr("203.0.113.9") }
	})
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	client := dialTCP(t, firstListenerAddress(t, p))
	if _, err := io.WriteString(client.Conn, "payload"); err != nil {
		t.Fatal(err)
	}
	_ = client.Conn.(*net.TCPConn).CloseWrite()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	target := newTestConn(t, conn)
	command, family, from, dest := readProxyHeader(t, target)
	port := client.LocalAddr().(*net.TCPAddr).Port
	want := []any{byte(0x21), byte(0x11), fmt.Sprintf("203.0.113.9:%d", port), "10.250.1.5:80"}
	if d := cmp.Diff(want, []any{command, family, from, dest}); d != "" {
		t.Errorf("header (-want +got):\n%s", d)
	}
	if rest, _ := io.ReadAll(target); string(rest) != "payload" {
		t.Errorf("after the header: %q", rest)
	}
	// Health checks send a header without addresses.
	g.HealthCheck = HealthCheck{Protocol: TCP, Interval: time.Hour}
	g.Targets[0].Epoch = "checked"
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	if conn, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	if command, family, _, _ := readProxyHeader(t, newTestConn(t, conn)); command != 0x20 || family != 0 {
		t.Errorf("header of a health check: %02x %02x", command, family)
	}
}

func TestProxyHeaderOfIPv6(t *testing.T) {
	h := proxyHeader(netip.MustParseAddrPort("[2001:db8::1]:4660"), netip.MustParseAddrPort("10.0.0.1:80"), false)
	if h[13] != 0x21 || binary.BigEndian.Uint16(h[14:]) != 36+7 || len(h) != 16+36+7 {
		t.Errorf("header % x", h)
	}
	if from, dest := netip.AddrFrom16([16]byte(h[16:32])), netip.AddrFrom16([16]byte(h[32:48])).Unmap(); from.String() != "2001:db8::1" || dest.String() != "10.0.0.1" {
		t.Errorf("from %s to %s", from, dest)
	}
}
