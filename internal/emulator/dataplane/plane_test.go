package dataplane

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEndpointsFollowApply(t *testing.T) {
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: FixedResponse{Status: 200}}})
	cfg.LoadBalancers[0].Nodes = append(cfg.LoadBalancers[0].Nodes, Node{Zone: "b", Address: netip.MustParseAddr("10.250.2.5")})
	apply(t, p, cfg)
	type short struct{ Listener, Zone, Node string }
	list := func() []short {
		var out []short
		for _, e := range p.Endpoints() {
			out = append(out, short{e.Listener, e.Zone, e.NodeAddress.String()})
			if e.LocalAddress.Addr() != Loopback(e.NodeAddress.Addr()) || e.LocalAddress.Port() == 0 {
				t.Errorf("%s listens on %s", e.NodeAddress, e.LocalAddress)
			}
		}
		return out
	}
	want := []short{{"listener", "a", "10.250.1.5:80"}, {"listener", "b", "10.250.2.5:80"}}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before := p.Endpoints()
	apply(t, p, cfg)
	if diff := cmp.Diff(before, p.Endpoints(), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("applying again moved sockets (-want +got):\n%s", diff)
	}
	gone := before[1].LocalAddress.String()
	cfg.LoadBalancers[0].Nodes = cfg.LoadBalancers[0].Nodes[:1]
	apply(t, p, cfg)
	if diff := cmp.Diff(want[:1], list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if conn, err := net.Dial("tcp", gone); err == nil {
		_ = conn.Close()
		t.Error("the socket of a removed node is still open")
	}
	p.Close()
	if err := p.Apply(cfg); err == nil {
		t.Error("a closed data plane accepted a configuration")
	}
}

func TestPortOffsetReplacesPrivilegedPort(t *testing.T) {
	forbidden := func(network, address string) (net.Listener, error) {
		if strings.HasSuffix(address, ":80") || strings.HasSuffix(address, ":2000") {
			return nil, &net.OpError{Op: "listen", Net: network, Err: syscall.EACCES}
		}
		_, port, _ := net.SplitHostPort(address)
		if port != "8080" {
			t.Errorf("tried %s", address)
		}
		return net.Listen(network, "127.0.0.1:0")
	}
	ln, err := listenTCP(netip.MustParseAddrPort("127.1.2.3:80"), 8000, forbidden)
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if _, err := listenTCP(netip.MustParseAddrPort("127.1.2.3:2000"), 8000, forbidden); err == nil {
		t.Error("only ports below 1024 are shifted")
	}
}

// TestConnectionsSurviveChanges checks that a client connection stays open while rules, targets and other listeners change.
func TestConnectionsSurviveChanges(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("a")}}, targetGroupOf("a", a), targetGroupOf("b", b))
	apply(t, p, cfg)
	conn, err := net.Dial("tcp", firstListenerAddress(t, p))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(conditionTimeout))
	r := bufio.NewReader(conn)
	say := func() string {
		t.Helper()
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 {
			return resp.Status
		}
		return reply{resp, string(body)}.parseEcho(t).Name
	}
	var got []string
	got = append(got, say())
	cfg.LoadBalancers[0].Listeners[0].DefaultRule.Action = forwardTo("b")
	apply(t, p, cfg)
	got = append(got, say())
	cfg.LoadBalancers[0].Listeners = append(cfg.LoadBalancers[0].Listeners, Listener{ARN: "second", Port: 81, Protocol: HTTP, DefaultRule: Rule{Action: FixedResponse{Status: 200}}})
	apply(t, p, cfg)
	got = append(got, say())
	cfg.LoadBalancers[0].Listeners = cfg.LoadBalancers[0].Listeners[:1]
	cfg.TargetGroups[1].Targets = nil
	apply(t, p, cfg)
	got = append(got, say())
	if diff := cmp.Diff([]string{"a", "b", "b", "503 Service Unavailable"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// keepSending sends requests to URL at until stop is called. It counts them in sent. Each response must have status 200.
func keepSending(t *testing.T, at string) (sent *atomic.Int64, stop func()) {
	sent = &atomic.Int64{}
	ended := make(chan struct{})
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				resp, err := client.Get(at)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
				if resp.StatusCode != 200 {
					t.Errorf("status %d", resp.StatusCode)
					return
				}
				sent.Add(1)
			}
		})
	}
	return sent, func() {
		close(ended)
		senders.Wait()
	}
}

// TestNoRequestFailsWhileConfigurationChanges checks that no request fails while targets, rules, attributes and listeners
// change.
func TestNoRequestFailsWhileConfigurationChanges(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, targetGroupOf("g", a, b))
	apply(t, p, cfg)
	sent, stop := keepSending(t, "http://"+firstListenerAddress(t, p)+"/")
	for i := range 40 {
		lb := &cfg.LoadBalancers[0]
		lb.Listeners = lb.Listeners[:1]
		cfg.TargetGroups[0].Targets = []Target{a.target(), b.target()}
		switch i % 4 {
		case 0:
			cfg.TargetGroups[0].Targets[i/4%2].State = StateDraining
		case 1:
			lb.Listeners = append(lb.Listeners, Listener{ARN: "other", Port: 81, Protocol: HTTP, DefaultRule: Rule{Action: FixedResponse{Status: 200}}})
		case 2:
			lb.Attributes = map[string]string{"routing.http.xff_client_port.enabled": "true"}
		case 3:
			lb.Listeners[0].Rules = []Rule{{Priority: i + 1, Conditions: []Condition{PathPattern{Values: []string{"/"}}}, Action: forwardTo("g")}}
		}
		apply(t, p, cfg)
		next := sent.Load() + 8
		eventually(t, "requests after the change", func() bool { return sent.Load() >= next || t.Failed() })
	}
	stop()
}

// TestNoRequestFailsWhileARuleChangesItsTargetGroup checks that no request fails while the default rule switches between
// target groups, although the targets of the previous target group become unused at once.
func TestNoRequestFailsWhileARuleChangesItsTargetGroup(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, targetGroupOf("g", a))
	cfg.TargetGroups = append(cfg.TargetGroups, targetGroupOf("h", b))
	apply(t, p, cfg)
	_, stop := keepSending(t, "http://"+firstListenerAddress(t, p)+"/")
	for i := range 400 {
		used := i % 2
		for g := range cfg.TargetGroups {
			cfg.TargetGroups[g].Targets[0].State = ""
			if g != used {
				cfg.TargetGroups[g].Targets[0].State = StateUnused
			}
		}
		cfg.LoadBalancers[0].Listeners[0].DefaultRule.Action = forwardTo([]string{"g", "h"}[used])
		apply(t, p, cfg)
	}
	stop()
}

func TestOldConnectionsAreClosed(t *testing.T) {
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: FixedResponse{Status: 200}}})
	cfg.LoadBalancers[0].Attributes = map[string]string{"client_keep_alive.seconds": "0"}
	apply(t, p, cfg)
	if got := sendRaw(t, firstListenerAddress(t, p), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.Contains(got, "\r\nConnection: close\r\n") {
		t.Errorf("got %q", got)
	}
}

func TestProtocolOfListenerChanges(t *testing.T) {
	ca := newIssuer(t)
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: FixedResponse{Status: 200}}})
	apply(t, p, cfg)
	if got := get(t, p, "x", "/"); got.StatusCode != 200 {
		t.Errorf("HTTP: %d", got.StatusCode)
	}
	l := httpsListener(ca, t)
	l.ARN, l.Port, l.DefaultRule = "listener", 80, Rule{Action: FixedResponse{Status: 201}}
	cfg.LoadBalancers[0].Listeners[0] = l
	apply(t, p, cfg)
	if got := send(t, httpsClient(t, true), newTestRequest(t, "GET", "https://"+firstListenerAddress(t, p)+"/", nil)); got.StatusCode != 201 {
		t.Errorf("HTTPS: %d", got.StatusCode)
	}
}

func TestApplyReportsUnsupportedConfiguration(t *testing.T) {
	taken, err := net.Listen("tcp", "127.250.1.5:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).AddrPort().Port()
	p := startPlane(t, func(o *Options) {
		free := o.BindAddress
		o.BindAddress = func(at netip.AddrPort) netip.AddrPort {
			if at.Port() == port {
				return netip.AddrPortFrom(Loopback(at.Addr()), port)
			}
			return free(at)
		}
	})
	cfg := albConfig(Listener{ARN: "good", DefaultRule: Rule{Action: FixedResponse{Status: 200}}, Rules: []Rule{
		{ARN: "bad-rule", Priority: 1, Conditions: []Condition{PathPattern{Regexes: []string{"("}}}, Action: FixedResponse{Status: 500}},
		{ARN: "no-outcome", Priority: 2},
	}})
	cfg.LoadBalancers[0].Listeners = append(cfg.LoadBalancers[0].Listeners,
		Listener{ARN: "taken", Port: port, Protocol: HTTP, DefaultRule: Rule{Action: FixedResponse{Status: 200}}},
		Listener{ARN: "tcp", Port: 5, Protocol: "TCP", DefaultRule: Rule{Action: FixedResponse{Status: 200}}},
		Listener{ARN: "no-certificate", Port: 6, Protocol: HTTPS, DefaultRule: Rule{Action: FixedResponse{Status: 200}}},
		Listener{ARN: "no-policy", Port: 7, Protocol: HTTPS, SSLPolicy: "x", DefaultRule: Rule{Action: FixedResponse{Status: 200}}},
	)
	err = p.Apply(cfg)
	for _, want := range []string{"bad-rule", "no-outcome", "taken", "tcp", "no-certificate", "no-policy"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	if got := get(t, p, "x", "/"); got.StatusCode != 200 || len(p.Endpoints()) != 1 {
		t.Errorf("the good listener: %d, endpoints %v", got.StatusCode, p.Endpoints())
	}
	_ = taken.Close()
	if err := p.Apply(cfg); err == nil || strings.Contains(err.Error(), "listener taken") {
		t.Errorf("the port is free now: %v", err)
	}
}

func TestTargetFailures(t *testing.T) {
	refused := startBackend(t, "refused")
	_ = refused.srv.Close()
	broken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = broken.Close() }()
	answers := make(chan string, 1)
	go func() {
		for {
			conn, err := broken.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, <-answers)
			_ = conn.Close()
		}
	}()
	p := startPlane(t)
	at := broken.Addr().(*net.TCPAddr).AddrPort()
	bad := TargetGroup{ARN: "broken", Protocol: HTTP, HealthCheck: HealthCheck{Disabled: true},
		Targets: []Target{{ID: "x", Address: at.Addr(), Port: at.Port()}}}
	apply(t, p, albConfig(Listener{
		DefaultRule: Rule{Action: forwardTo("refused")},
		Rules:       []Rule{{Priority: 1, Conditions: []Condition{PathPattern{Values: []string{"/broken"}}}, Action: forwardTo("broken")}},
	}, targetGroupOf("refused", refused), bad))
	if got := get(t, p, "x", "/"); got.StatusCode != 502 || len(got.body) != 122 {
		t.Errorf("refused: %d %q", got.StatusCode, got.body)
	}
	for name, text := range map[string]string{
		"closed without an answer": "",
		"not HTTP":                 "nonsense\r\n\r\n",
		"headers too large":        "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 40<<10) + "\r\n\r\n",
	} {
		answers <- text
		req := newTestRequest(t, http.MethodPost, "http://"+firstListenerAddress(t, p)+"/broken", strings.NewReader("x"))
		if got := send(t, client, req); got.StatusCode != 502 {
			t.Errorf("%s: want 502, got %d", name, got.StatusCode)
		}
	}
}

func TestSilentTargetIsTimedOut(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	b := startBackend(t, "b", func(b *backend) {
		b.handle = func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				// An informational response extends the timeout of the target, so that the timeout of the client ends first.
				time.Sleep(500 * time.Millisecond)
				w.WriteHeader(http.StatusEarlyHints)
			}
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
	})
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, targetGroupOf("g", b))
	cfg.LoadBalancers[0].Attributes = map[string]string{"idle_timeout.timeout_seconds": "1"}
	apply(t, p, cfg)
	var both sync.WaitGroup
	answered := func(request, status string) {
		// If the request arrives after the idle timeout, the load balancer closes the connection without a response.
		var got string
		for got == "" {
			got = sendRaw(t, firstListenerAddress(t, p), request)
		}
		if got = strings.TrimPrefix(got, "HTTP/1.1 103 Early Hints\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 "+status[:4]) || !strings.Contains(got, "<h1>"+status) {
			t.Errorf("want %s, got %q", status, got)
		}
	}
	both.Go(func() { answered("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "504 Gateway Time-out") })
	both.Go(func() {
		answered("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n"+strings.Repeat("a", 5000), "408 Request Time-out")
	})
	both.Wait()
}

func TestRemovedTargetEndsItsRequests(t *testing.T) {
	started, hold := make(chan struct{}), make(chan struct{})
	defer close(hold)
	b := startBackend(t, "b", func(b *backend) {
		b.handle = func(_ http.ResponseWriter, _ *http.Request) {
			close(started)
			<-hold
		}
	})
	var mu sync.Mutex
	var log []AccessEntry
	p := startPlane(t, func(o *Options) {
		o.LogAccess = func(e AccessEntry) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, e)
		}
	})
	cfg := albConfig(Listener{DefaultRule: Rule{ARN: "rule", Action: forwardTo("g")}}, targetGroupOf("g", b))
	apply(t, p, cfg)
	status := make(chan int, 1)
	go func() {
		resp, err := http.Get("http://" + firstListenerAddress(t, p) + "/")
		if err != nil {
			status <- 0
			return
		}
		_ = resp.Body.Close()
		status <- resp.StatusCode
	}()
	<-started
	cfg.TargetGroups[0].Targets[0].State = StateDraining
	apply(t, p, cfg)
	if got := get(t, p, "x", "/"); got.StatusCode != 503 {
		t.Errorf("only a draining target is left: want 503, got %d", got.StatusCode)
	}
	select {
	case s := <-status:
		t.Fatalf("draining cut a request with %d", s)
	default:
	}
	cfg.TargetGroups[0].Targets = nil
	apply(t, p, cfg)
	if s := <-status; s != 502 {
		t.Errorf("after the registration ended: want 502, got %d", s)
	}
	eventually(t, "both logged", func() bool { mu.Lock(); defer mu.Unlock(); return len(log) == 2 })
	if last := log[1]; last.Status != 502 || last.Rule != "rule" || last.TargetGroup != "g" || last.Target != b.addr {
		t.Errorf("access entry %+v", last)
	}
}

func TestClientThatLeavesIsLogged(t *testing.T) {
	started := make(chan struct{})
	b := startBackend(t, "b", func(b *backend) {
		b.handle = func(_ http.ResponseWriter, r *http.Request) {
			close(started)
			<-r.Context().Done()
		}
	})
	entries := make(chan AccessEntry, 1)
	p := startPlane(t, func(o *Options) { o.LogAccess = func(e AccessEntry) { entries <- e } })
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, targetGroupOf("g", b)))
	conn, err := net.Dial("tcp", firstListenerAddress(t, p))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-started
	_ = conn.Close()
	if e := <-entries; e.Status != 460 {
		t.Errorf("want 460, got %+v", e)
	}
}

func TestHeaderAttributes(t *testing.T) {
	b := startBackend(t, "b")
	p := startPlane(t)
	cfg := albConfig(Listener{
		DefaultRule: Rule{Action: forwardTo("g")},
		Attributes: map[string]string{
			"routing.http.response.server.enabled":                                "false",
			"routing.http.response.strict_transport_security.header_value":        "max-age=1",
			"routing.http.response.access_control_allow_origin.header_value":      "*",
			"routing.http.response.x_frame_options.header_value":                  "DENY",
			"routing.http.response.access_control_allow_credentials.header_value": "",
		},
		Rules: []Rule{{Priority: 1, Conditions: []Condition{PathPattern{Values: []string{"/fixed"}}}, Action: FixedResponse{Status: 200}}},
	}, targetGroupOf("g", b))
	cfg.LoadBalancers[0].Attributes = map[string]string{
		"routing.http.preserve_host_header.enabled":       "true",
		"routing.http.drop_invalid_header_fields.enabled": "true",
		"routing.http.xff_client_port.enabled":            "true",
	}
	apply(t, p, cfg)
	for _, target := range []string{"/", "/fixed"} {
		got := get(t, p, "x", target)
		if got.Header.Get("Server") != "" || got.Header.Get("Strict-Transport-Security") != "max-age=1" ||
			got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s: %v", target, got.Header)
		}
	}
	req := newTestRequest(t, http.MethodGet, "http://"+firstListenerAddress(t, p)+"/", nil)
	req.Host = "X.org:81"
	req.Header["Bad_name"] = []string{"x"}
	req.Header.Set("Good-Name", "x")
	e := send(t, client, req).parseEcho(t)
	if e.Host != "X.org:81" || e.Header.Get("Good-Name") != "x" || e.Header["Bad_name"] != nil || !strings.Contains(e.Header.Get("X-Forwarded-For"), ":") {
		t.Errorf("request arrived as %+v", e)
	}
}

func TestSourceAddressCondition(t *testing.T) {
	p := startPlane(t, func(o *Options) {
		o.ClientAddress = func(netip.Addr) netip.Addr { return netip.MustParseAddr("203.0.113.9") }
	})
	apply(t, p, albConfig(Listener{
		DefaultRule: Rule{Action: FixedResponse{Status: 403}},
		Rules:       []Rule{{Priority: 1, Conditions: []Condition{SourceIP{[]netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}}}, Action: FixedResponse{Status: 200}}},
	}))
	if got := get(t, p, "x", "/"); got.StatusCode != 200 {
		t.Errorf("got %d", got.StatusCode)
	}
}
