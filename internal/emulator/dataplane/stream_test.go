package dataplane

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testTarget is a target for tests.
type testTarget struct {
	name string
	addr netip.AddrPort
}

// startTCPTarget starts a target that sends its name and the client address that it sees, and then echoes what it receives.
func startTCPTarget(t *testing.T, name, host string, wrap ...func(net.Listener) net.Listener) *testTarget {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().(*net.TCPAddr).AddrPort()
	for _, w := range wrap {
		ln = w(ln)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			go func() {
				seen := conn.RemoteAddr().(*net.TCPAddr).IP
				_, _ = fmt.Fprintf(conn, "%s %s\n", name, seen)
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return &testTarget{name, addr}
}

// streamTargetGroup returns a target group without health checks. Its targets are in zone "a".
func streamTargetGroup(arn string, p Protocol, peers ...*testTarget) TargetGroup {
	g := TargetGroup{ARN: arn, Protocol: p, HealthCheck: HealthCheck{Disabled: true}, Attributes: map[string]string{}}
	for _, p := range peers {
		g.Targets = append(g.Targets, Target{
			ID: p.addr.Addr().String(), Address: p.addr.Addr(), Port: p.addr.Port(), Zone: "a", State: StateHealthy,
		})
	}
	return g
}

// nlbConfig returns the configuration of albConfig with a Network Load Balancer. The protocol of listener l defaults to TCP.
func nlbConfig(l Listener, groups ...TargetGroup) Config {
	if l.Protocol == "" {
		l.Protocol = TCP
	}
	cfg := albConfig(l, groups...)
	cfg.LoadBalancers[0].IsNetwork = true
	return cfg
}

// testConn is a connection with a buffered reader and a deadline.
type testConn struct {
	net.Conn
	*bufio.Reader
}

// Read reads from the buffered reader. Both embedded types have a method with this name.
func (l testConn) Read(b []byte) (int, error) { return l.Reader.Read(b) }

func dialTCP(t *testing.T, at string) testConn {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	return newTestConn(t, conn)
}

func newTestConn(t *testing.T, conn net.Conn) testConn {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(conditionTimeout))
	return testConn{conn, bufio.NewReader(conn)}
}

// readGreeting reads the name of the target and the client address that the target sees.
func (l testConn) readGreeting(t *testing.T) (name, seen string) {
	t.Helper()
	text, err := l.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	name, seen, _ = strings.Cut(strings.TrimSpace(text), " ")
	return name, seen
}

// checkEcho checks that the connection is still open: it sends a line and expects the same line from the target.
func (l testConn) checkEcho(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(l.Conn, text+"\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := l.ReadString('\n'); err != nil || got != text+"\n" {
		t.Fatalf("sent %q, got %q, %v", text, got, err)
	}
}

// checkReset checks that the load balancer resets the connection.
func (l testConn) checkReset(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, l); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("want a reset, got %v", err)
	}
}

// checkNewConnectionIsReset checks that the load balancer resets a new connection, possibly during connect.
func checkNewConnectionIsReset(t *testing.T, at string) {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if errors.Is(err, syscall.ECONNRESET) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	newTestConn(t, conn).checkReset(t)
}

func TestTCPPassesThrough(t *testing.T) {
	a := startTCPTarget(t, "a", "127.0.0.1")
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", TCP, a)))
	l := dialTCP(t, firstListenerAddress(t, p))
	if name, seen := l.readGreeting(t); name != "a" || seen != "127.250.1.5" {
		t.Errorf("target %s saw %s, want the node", name, seen)
	}
	l.checkEcho(t, "hello")
	// A half-close is forwarded, and data that was sent before it still arrives.
	if _, err := io.WriteString(l.Conn, "last words"); err != nil {
		t.Fatal(err)
	}
	_ = l.Conn.(*net.TCPConn).CloseWrite()
	if rest, err := io.ReadAll(l); err != nil || string(rest) != "last words" {
		t.Errorf("after the end of one direction: %q, %v", rest, err)
	}
}

func TestTLSPassesThroughTCPListener(t *testing.T) {
	ca := newIssuer(t)
	secure := startTCPTarget(t, "secure", "127.0.0.1", func(ln net.Listener) net.Listener {
		return tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, "target.example.com")}})
	})
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", TCP, secure)))
	conn, err := tls.Dial("tcp", firstListenerAddress(t, p), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	newTestConn(t, conn).readGreeting(t)
	if got := conn.ConnectionState().PeerCertificates[0].DNSNames[0]; got != "target.example.com" {
		t.Errorf("certificate of %s, want the target's own", got)
	}
}

func TestListenerWithoutTargetsResets(t *testing.T) {
	p := startPlane(t)
	gone := startTCPTarget(t, "gone", "127.0.0.1")
	groups := map[string]TargetGroup{
		"no target":         streamTargetGroup("g", TCP),
		"draining target":   streamTargetGroup("g", TCP, gone),
		"target in no zone": streamTargetGroup("g", TCP, gone),
		"no verdict yet":    streamTargetGroup("g", TCP, gone),
	}
	groups["draining target"].Targets[0].State = StateDraining
	groups["target in no zone"].Targets[0].Zone = "b"
	fresh := groups["no verdict yet"]
	fresh.HealthCheck = HealthCheck{Interval: time.Hour, HealthyThreshold: 10}
	fresh.Targets[0].State, fresh.Targets[0].Epoch = StateInitial, "new"
	groups["no verdict yet"] = fresh
	for name, g := range groups {
		t.Run(name, func(t *testing.T) {
			apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
			checkNewConnectionIsReset(t, firstListenerAddress(t, p))
		})
	}
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: Forward{TargetGroups: []WeightedTargetGroup{{"g", 0}, {"h", 0}}}}}, streamTargetGroup("g", TCP, gone), streamTargetGroup("h", TCP, gone)))
	checkNewConnectionIsReset(t, firstListenerAddress(t, p))
}

func TestRefusedTargetConnectionResetsTheClient(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := &testTarget{"dead", ln.Addr().(*net.TCPAddr).AddrPort()}
	_ = ln.Close()
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", TCP, dead)))
	checkNewConnectionIsReset(t, firstListenerAddress(t, p))
}

// countByTarget opens n connections and returns the number of connections by name of the target.
func countByTarget(t *testing.T, p *Plane, n int) map[string]int {
	t.Helper()
	got := map[string]int{}
	for range n {
		l := dialTCP(t, firstListenerAddress(t, p))
		name, _ := l.readGreeting(t)
		got[name]++
		_ = l.Conn.Close()
	}
	return got
}

func TestFlowsAreSpreadWithoutStickiness(t *testing.T) {
	a, b := startTCPTarget(t, "a", "127.0.0.1"), startTCPTarget(t, "b", "127.0.0.1")
	g := streamTargetGroup("g", TCP, a, b)
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	if got := countByTarget(t, p, 60); len(got) != 2 {
		t.Errorf("60 connections went to %v", got)
	}
	g.Attributes["stickiness.enabled"], g.Attributes["stickiness.type"] = "true", "source_ip"
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	if got := countByTarget(t, p, 20); len(got) != 1 {
		t.Errorf("sticky connections went to %v", got)
	}
}

func TestFlowsAreDistributedByWeight(t *testing.T) {
	a, b := startTCPTarget(t, "a", "127.0.0.1"), startTCPTarget(t, "b", "127.0.0.1")
	groups := []TargetGroup{streamTargetGroup("ga", TCP, a), streamTargetGroup("gb", TCP, b)}
	p := startPlane(t)
	use := func(f Forward) { apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: f}}, groups...)) }
	use(Forward{TargetGroups: []WeightedTargetGroup{{"ga", 1}, {"gb", 0}}})
	if got := countByTarget(t, p, 20); got["b"] != 0 {
		t.Errorf("a target group of weight 0 got connections: %v", got)
	}
	use(Forward{TargetGroups: []WeightedTargetGroup{{"ga", 50}, {"gb", 50}}})
	if got := countByTarget(t, p, 60); len(got) != 2 {
		t.Errorf("even weights gave %v", got)
	}
	use(Forward{TargetGroups: []WeightedTargetGroup{{"ga", 50}, {"gb", 50}}, StickinessDuration: time.Hour})
	if got := countByTarget(t, p, 20); len(got) != 1 {
		t.Errorf("a sticky forward gave %v", got)
	}
}

func TestClientAddressIsPreserved(t *testing.T) {
	a := startTCPTarget(t, "a", "127.0.0.1")
	g := streamTargetGroup("g", TCP, a)
	g.Attributes["preserve_client_ip.enabled"] = "true"
	p := startPlane(t)
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, 8, 7)}}
	conn, err := d.Dial("tcp", firstListenerAddress(t, p))
	if err != nil {
		t.Fatal(err)
	}
	if _, seen := newTestConn(t, conn).readGreeting(t); seen != "127.9.8.7" {
		t.Errorf("the target saw %s", seen)
	}
}

func TestHairpinTimesOut(t *testing.T) {
	a := startTCPTarget(t, "a", "127.9.8.7")
	g := streamTargetGroup("g", TCP, a)
	g.Attributes["preserve_client_ip.enabled"] = "true"
	p := startPlane(t, func(o *Options) { o.ConnectTimeout = brief })
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, 8, 7)}}
	conn, err := d.Dial("tcp", firstListenerAddress(t, p))
	if err != nil {
		t.Fatal(err)
	}
	newTestConn(t, conn).checkReset(t)
}

func TestTLSListener(t *testing.T) {
	ca := newIssuer(t)
	offered := make(chan []string, 1)
	plain := startTCPTarget(t, "plain", "127.0.0.1")
	secure := startTCPTarget(t, "secure", "127.0.0.1", func(ln net.Listener) net.Listener {
		return tls.NewListener(ln, &tls.Config{
			Certificates: []tls.Certificate{ca.issue(t, 0, "target")}, NextProtos: []string{"h2", "http/1.1"},
			GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) { offered <- h.SupportedProtos; return nil, nil },
		})
	})
	base := Listener{
		Protocol: TLS, SSLPolicy: "ELBSecurityPolicy-TLS13-1-2-2021-06",
		Certificates: []Certificate{{ARN: "first", TLS: ca.issue(t, 0, "first.example.com")}, {ARN: "second", TLS: ca.issue(t, 0, "*.second.example.com")}},
	}
	p := startPlane(t)
	use := func(alpn string, g TargetGroup) {
		l := base
		l.ALPN, l.DefaultRule = alpn, Rule{Action: forwardTo("g")}
		apply(t, p, nlbConfig(l, g))
	}
	dial := func(name string, protos ...string) (*tls.Conn, error) {
		return tls.Dial("tcp", firstListenerAddress(t, p), &tls.Config{InsecureSkipVerify: true, ServerName: name, NextProtos: protos})
	}
	tests := map[string]struct {
		policy, server string
		offer          []string
		cert, chosen   string
	}{
		"first certificate by default": {"None", "other.example.com", nil, "first.example.com", ""},
		"certificate by name":          {"None", "a.second.example.com", nil, "*.second.example.com", ""},
		"no policy":                    {"", "first.example.com", []string{"h2"}, "first.example.com", ""},
		"HTTP2Only":                    {"HTTP2Only", "first.example.com", []string{"http/1.1", "h2"}, "first.example.com", "h2"},
		"HTTP2Only, nothing in common": {"HTTP2Only", "first.example.com", []string{"http/1.1"}, "first.example.com", ""},
		"HTTP1Only":                    {"HTTP1Only", "first.example.com", []string{"h2", "http/1.1"}, "first.example.com", "http/1.1"},
		"HTTP2Optional":                {"HTTP2Optional", "first.example.com", []string{"h2", "http/1.1"}, "first.example.com", "http/1.1"},
		"HTTP2Preferred":               {"HTTP2Preferred", "first.example.com", []string{"http/1.1", "h2"}, "first.example.com", "h2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			use(tt.policy, streamTargetGroup("g", TCP, plain))
			conn, err := dial(tt.server, tt.offer...)
			if err != nil {
				t.Fatal(err)
			}
			l := newTestConn(t, conn)
			l.readGreeting(t)
			l.checkEcho(t, "secret")
			state := conn.ConnectionState()
			if d := cmp.Diff([]string{tt.cert, tt.chosen}, []string{state.PeerCertificates[0].DNSNames[0], state.NegotiatedProtocol}); d != "" {
				t.Errorf("certificate and protocol (-want +got):\n%s", d)
			}
		})
	}
	t.Run("TLS to the target", func(t *testing.T) {
		use("HTTP2Preferred", streamTargetGroup("g", TLS, secure))
		conn, err := dial("first.example.com", "h2")
		if err != nil {
			t.Fatal(err)
		}
		if name, _ := newTestConn(t, conn).readGreeting(t); name != "secure" {
			t.Errorf("%s answered", name)
		}
		if d := cmp.Diff([]string{"h2"}, <-offered); d != "" {
			t.Errorf("protocols offered to the target (-want +got):\n%s", d)
		}
	})
	t.Run("version below the policy", func(t *testing.T) {
		use("", streamTargetGroup("g", TCP, plain))
		_, err := tls.Dial("tcp", firstListenerAddress(t, p), &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		if err == nil {
			t.Error("TLS 1.1 was accepted")
		}
	})
}

func TestFlowsKeepTheirTarget(t *testing.T) {
	a, b := startTCPTarget(t, "a", "127.0.0.1"), startTCPTarget(t, "b", "127.0.0.1")
	p := startPlane(t)
	old := streamTargetGroup("g", TCP, a)
	listener := Listener{DefaultRule: Rule{Action: forwardTo("g")}}
	apply(t, p, nlbConfig(listener, old))
	l := dialTCP(t, firstListenerAddress(t, p))
	l.readGreeting(t)

	drained := streamTargetGroup("g", TCP, a, b)
	drained.Targets[0].State = StateDraining
	apply(t, p, nlbConfig(listener, drained))
	l.checkEcho(t, "while it drains")
	if got := countByTarget(t, p, 10); got["a"] != 0 {
		t.Errorf("new flows went to a draining target: %v", got)
	}
	apply(t, p, nlbConfig(listener, streamTargetGroup("g", TCP, b)))
	l.checkEcho(t, "after it has left")

	other := dialTCP(t, firstListenerAddress(t, p))
	other.readGreeting(t)
	ending := streamTargetGroup("g", TCP, a)
	ending.Attributes["deregistration_delay.connection_termination.enabled"] = "true"
	apply(t, p, nlbConfig(listener, ending))
	other.checkReset(t)
	l.checkEcho(t, "which concerns others")

	apply(t, p, Config{})
	l.checkReset(t)
	if n := len(p.Endpoints()); n != 0 {
		t.Errorf("%d sockets are open", n)
	}
}

func TestIdleConnectionsAreReset(t *testing.T) {
	a := startTCPTarget(t, "a", "127.0.0.1")
	entries := make(chan AccessEntry, 1)
	p := startPlane(t, func(o *Options) { o.LogAccess = func(e AccessEntry) { entries <- e } })
	apply(t, p, nlbConfig(Listener{
		DefaultRule: Rule{Action: forwardTo("g")}, Attributes: map[string]string{"tcp.idle_timeout.seconds": "1"},
	}, streamTargetGroup("g", TCP, a)))
	dialTCP(t, firstListenerAddress(t, p)).checkReset(t)
	if e := <-entries; e.Target != a.addr {
		t.Errorf("the connection was to %s", e.Target)
	}
}

func TestForbiddenFlowsGetNoAnswer(t *testing.T) {
	a := startTCPTarget(t, "a", "127.0.0.1")
	seen := make(chan Packet, 1)
	p := startPlane(t, func(o *Options) {
		o.IsPermitted = func(pk Packet) bool { seen <- pk; return pk.Destination.Port() != 80 }
	})
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", TCP, a)))
	l := dialTCP(t, firstListenerAddress(t, p))
	_ = l.SetReadDeadline(time.Now().Add(brief))
	var timeout net.Error
	if _, err := l.ReadByte(); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("want silence, got %v", err)
	}
	want := Packet{Source: netip.MustParseAddr("127.0.0.1"), Destination: netip.MustParseAddrPort("10.250.1.5:80")}
	if got := <-seen; got != want {
		t.Errorf("packet %+v, want %+v", got, want)
	}
}

func TestApplicationLoadBalancerBehindNetworkLoadBalancer(t *testing.T) {
	web := startBackend(t, "web")
	cfg := albConfig(Listener{ARN: "inner", Port: 8080, DefaultRule: Rule{Action: forwardTo("web")}}, targetGroupOf("web", web))
	front := nlbConfig(Listener{ARN: "outer", DefaultRule: Rule{Action: forwardTo("alb")}})
	front.LoadBalancers[0].ARN = "nlb"
	front.LoadBalancers[0].Nodes[0].Address = netip.MustParseAddr("10.250.3.5")
	cfg.LoadBalancers = append(cfg.LoadBalancers, front.LoadBalancers...)
	cfg.TargetGroups = append(cfg.TargetGroups, TargetGroup{
		ARN: "alb", Protocol: TCP, IsALB: true, Targets: []Target{{ID: "lb", Port: 8080, State: StateInitial, Nodes: cfg.LoadBalancers[0].Nodes}},
		HealthCheck: HealthCheck{Protocol: HTTP, Interval: 20 * time.Millisecond, HealthyThreshold: 2},
	})
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	apply(t, p, cfg)
	eventually(t, "the ALB is healthy", func() bool { return len(got.list()) > 0 && got.list()[len(got.list())-1].State == StateHealthy })
	var outer string
	for _, e := range p.Endpoints() {
		if e.Listener == "outer" {
			outer = e.LocalAddress.String()
		}
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 9, 8, 7)}}
	c := &http.Client{Timeout: conditionTimeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: d.DialContext}}
	e := send(t, c, newTestRequest(t, http.MethodGet, "http://"+outer+"/path", nil)).parseEcho(t)
	if d := cmp.Diff([]string{"web", "/path", "127.9.8.7"}, []string{e.Name, e.URI, e.Header.Get("X-Forwarded-For")}); d != "" {
		t.Errorf("request at the target (-want +got):\n%s", d)
	}
}

func TestFinishedFlowsAreReported(t *testing.T) {
	a := startTCPTarget(t, "a", "127.0.0.1")
	entries := make(chan AccessEntry, 1)
	p := startPlane(t, func(o *Options) { o.LogAccess = func(e AccessEntry) { entries <- e } })
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, streamTargetGroup("g", TCP, a)))
	l := dialTCP(t, firstListenerAddress(t, p))
	l.readGreeting(t)
	_ = l.Conn.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, l)
	e := <-entries
	want := []string{"lb", "listener", "g", a.addr.String(), l.LocalAddr().String()}
	if d := cmp.Diff(want, []string{e.LoadBalancer, e.Listener, e.TargetGroup, e.Target.String(), e.Client.String()}); d != "" {
		t.Errorf("entry (-want +got):\n%s", d)
	}
}
