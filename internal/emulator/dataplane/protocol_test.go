package dataplane

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// startGRPC starts a server with the gRPC health service, and returns the server as a target.
func startGRPC(t *testing.T) (Target, *health.Server) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := health.NewServer()
	srv := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("seen", strings.Join(metadata.ValueFromIncomingContext(ctx, "x-forwarded-proto"), "")))
		return next(ctx, req)
	}))
	healthpb.RegisterHealthServer(srv, h)
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(srv.Stop)
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	return Target{ID: "grpc", Address: at.Addr(), Port: at.Port(), State: StateInitial}, h
}

func TestGRPCIsForwardedAndChecked(t *testing.T) {
	target, service := startGRPC(t)
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	g := TargetGroup{ARN: "g", Protocol: HTTP, ProtocolVersion: GRPC, Targets: []Target{target},
		HealthCheck: HealthCheck{Interval: 10 * time.Millisecond}}
	l := httpsListener(newIssuer(t), t)
	l.Rules = []Rule{{Priority: 1, Conditions: []Condition{HTTPHeader{Name: "kind", Values: []string{"empty"}}}, Action: forwardTo("none")}}
	apply(t, p, albConfig(l, g, TargetGroup{ARN: "none", Protocol: HTTP, ProtocolVersion: GRPC}))
	eventually(t, "healthy by the status unimplemented", func() bool { return len(got.list()) == 1 && got.list()[0].State == StateHealthy })

	conn, err := grpc.NewClient("passthrough:///"+firstListenerAddress(t, p), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	c := healthpb.NewHealthClient(conn)
	var trailer metadata.MD
	resp, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Trailer(&trailer))
	if err != nil || resp.Status != healthpb.HealthCheckResponse_SERVING || strings.Join(trailer.Get("seen"), "") != "https" {
		t.Errorf("unary call: %v %v, trailer %v", resp, err, trailer)
	}
	if _, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "unknown"}); status.Code(err) != codes.NotFound {
		t.Errorf("the status of the target should pass, got %v", err)
	}
	stream, err := c.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
		m, err := stream.Recv()
		if err != nil || m.Status != want {
			t.Errorf("stream: want %s, got %v %v", want, m, err)
		}
		service.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "kind", "empty")
	if _, err := c.Check(ctx, &healthpb.HealthCheckRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("without targets: want Unavailable, got %v", err)
	}
}

func TestProtocolVersions(t *testing.T) {
	b := startBackend(t, "b")
	ca := newIssuer(t)
	for _, c := range []struct {
		version ProtocolVersion
		http2   bool
		method  string
		grpc    bool
		want    int
		proto   string
	}{
		{HTTP1, false, "GET", false, 200, "HTTP/1.1"},
		{HTTP1, true, "GET", false, 200, "HTTP/1.1"},
		{HTTP1, true, "POST", true, 464, ""},
		{HTTP2, false, "GET", false, 464, ""},
		{HTTP2, true, "GET", false, 200, "HTTP/2.0"},
		{HTTP2, true, "POST", true, 200, "HTTP/2.0"},
		{GRPC, false, "POST", false, 464, ""},
		{GRPC, true, "GET", false, 464, ""},
		{GRPC, true, "POST", true, 200, "HTTP/2.0"},
	} {
		p := startPlane(t)
		g := targetGroupOf("g", b)
		g.ProtocolVersion = c.version
		apply(t, p, albConfig(httpsListener(ca, t), g))
		req := newTestRequest(t, c.method, "https://"+firstListenerAddress(t, p)+"/", nil)
		if c.grpc {
			req.Header.Set("Content-Type", "application/grpc")
		}
		got := send(t, httpsClient(t, c.http2), req)
		if got.StatusCode != c.want {
			t.Errorf("%+v: got %d", c, got.StatusCode)
		} else if c.want == 200 && got.parseEcho(t).Proto != c.proto {
			t.Errorf("%+v: target saw %s", c, got.parseEcho(t).Proto)
		}
	}
}

func TestHTTPSTargets(t *testing.T) {
	ca := newIssuer(t)
	for version, want := range map[ProtocolVersion]string{HTTP1: "HTTP/1.1", HTTP2: "HTTP/2.0"} {
		ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{ca.issue(t, 0, "anything")}, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		at := ln.Addr().(*net.TCPAddr).AddrPort()
		b := &backend{name: "tls", addr: at}
		srv := &http.Server{Handler: b}
		go func() { _ = srv.Serve(ln) }()
		defer func() { _ = srv.Close() }()
		var got healthResults
		p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
		g := checkedTargetGroup("g", b)
		g.Protocol, g.ProtocolVersion = HTTPS, version
		apply(t, p, albConfig(httpsListener(ca, t), g))
		eventually(t, "healthy", func() bool { return len(got.list()) == 1 && got.list()[0].State == StateHealthy })
		if e := send(t, httpsClient(t, true), newTestRequest(t, "GET", "https://"+firstListenerAddress(t, p)+"/", nil)).parseEcho(t); e.Proto != want {
			t.Errorf("%s: target saw %s", version, e.Proto)
		}
	}
}

func TestWebSocketUpgrade(t *testing.T) {
	b := startBackend(t, "b", func(b *backend) {
		b.handle = func(w http.ResponseWriter, r *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
			_ = rw.Flush()
			_, _ = io.Copy(conn, rw)
		}
	})
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, targetGroupOf("g", b))
	apply(t, p, cfg)
	conn, err := net.Dial("tcp", firstListenerAddress(t, p))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(conditionTimeout))
	_, _ = io.WriteString(conn, "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n")
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" {
		t.Fatalf("upgrade: %v %v", resp, err)
	}
	say := func(text string) {
		t.Helper()
		_, _ = io.WriteString(conn, text)
		got := make([]byte, len(text))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != text {
			t.Fatalf("echo of %q: %q %v", text, got, err)
		}
	}
	say("hello")
	cfg.TargetGroups[0].Targets[0].State = StateDraining
	apply(t, p, cfg)
	say("still here while draining")
	cfg.TargetGroups[0].Targets = nil
	apply(t, p, cfg)
	if _, err := r.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the tunnel does not end with the registration: %v", err)
	}
}

func TestRefusedRequests(t *testing.T) {
	b := startBackend(t, "b")
	p := startPlane(t)
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, targetGroupOf("g", b)))
	many := strings.Repeat("1.1.1.1, ", 30) + "1.1.1.1"
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"not HTTP":                  {"nonsense\r\n\r\n", "400"},
		"no Host":                   {"GET / HTTP/1.1\r\n\r\n", "400"},
		"headers too large":         {"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 80<<10) + "\r\n\r\n", "400"},
		"one header too large":      {"GET / HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 17<<10) + "\r\n\r\n", "400"},
		"address too long":          {"GET /" + strings.Repeat("a", 17<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", "414"},
		"TRACE":                     {"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", "405"},
		"too many proxies":          {"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: " + many + "\r\n\r\n", "463"},
		"strange transfer encoding": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "501"},
		"unknown version":           {"GET / HTTP/3.7\r\nHost: x\r\n\r\n", "505"},
	} {
		got := sendRaw(t, firstListenerAddress(t, p), c.text)
		status, _, _ := strings.Cut(strings.TrimPrefix(got, "HTTP/1.1 "), " ")
		if status != c.want || !strings.Contains(got, "Server: awselb/2.0\r\n") || !strings.Contains(got, "<center><h1>"+c.want) {
			t.Errorf("%s: want AWS's %s, got %q", name, c.want, got)
		}
	}
}
