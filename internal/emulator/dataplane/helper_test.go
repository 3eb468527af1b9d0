package dataplane

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// conditionTimeout is how long a test waits for a condition. It is so long that only a hang exceeds it.
const conditionTimeout = 2 * time.Minute

// brief is how long a test waits if it expects nothing, or before it repeats a request.
const brief = 50 * time.Millisecond

// eventually waits until ok returns true. It fails the test after conditionTimeout.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(conditionTimeout)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}

// healthResults collects the results that Options.ReportHealth receives.
type healthResults struct {
	mu  sync.Mutex
	all []HealthResult
}

func (r *healthResults) add(h HealthResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, h)
}

func (r *healthResults) list() []HealthResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]HealthResult(nil), r.all...)
}

// startPlane returns a data plane that listens on free ports. It is closed at the end of the test.
func startPlane(t *testing.T, change ...func(*Options)) *Plane {
	t.Helper()
	opt := Options{BindAddress: func(at netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(Loopback(at.Addr()), 0)
	}}
	for _, f := range change {
		f(&opt)
	}
	p := New(opt)
	t.Cleanup(p.Close)
	return p
}

func apply(t *testing.T, p *Plane, cfg Config) {
	t.Helper()
	if err := p.Apply(cfg); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}

// echoResponse is the response of a backend, which describes the request.
type echoResponse struct {
	Name, Method, Host, URI, Proto, Body, Remote string
	Header                                       http.Header
}

// backend is an HTTP server that echoes requests as JSON.
type backend struct {
	name string
	addr netip.AddrPort
	srv  *http.Server
	// handle replaces the echo, if it is not nil. It must be set before the first request.
	handle http.HandlerFunc
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.UserAgent(), "ELB-HealthChecker") && b.handle == nil {
		return
	}
	if b.handle != nil {
		b.handle(w, r)
		return
	}
	b.echo(w, r)
}

func (b *backend) echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Server", "backend")
	_ = json.NewEncoder(w).Encode(echoResponse{
		Name: b.name, Method: r.Method, Host: r.Host, URI: r.RequestURI, Proto: r.Proto,
		Body: string(body), Remote: r.RemoteAddr, Header: r.Header,
	})
}

// startBackend starts a backend that serves HTTP/1.1, and HTTP/2 with prior knowledge.
func startBackend(t *testing.T, name string, change ...func(*backend)) *backend {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{name: name, addr: ln.Addr().(*net.TCPAddr).AddrPort()}
	for _, f := range change {
		f(b)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	b.srv = &http.Server{Handler: b, Protocols: &protocols}
	go func() { _ = b.srv.Serve(ln) }()
	t.Cleanup(func() { _ = b.srv.Close() })
	return b
}

func (b *backend) target() Target {
	return Target{ID: b.addr.Addr().String(), Address: b.addr.Addr(), Port: b.addr.Port(), State: StateHealthy}
}

// targetGroupOf returns an HTTP target group without health checks. Its targets are the backends.
func targetGroupOf(arn string, backends ...*backend) TargetGroup {
	g := TargetGroup{ARN: arn, Protocol: HTTP, HealthCheck: HealthCheck{Disabled: true}}
	for _, b := range backends {
		g.Targets = append(g.Targets, b.target())
	}
	return g
}

func forwardTo(arns ...string) Forward {
	var f Forward
	for _, a := range arns {
		f.TargetGroups = append(f.TargetGroups, WeightedTargetGroup{ARN: a, Weight: 1})
	}
	return f
}

// albConfig returns a configuration with one Application Load Balancer in one Availability Zone. Its listener l defaults to
// HTTP on port 80.
func albConfig(l Listener, groups ...TargetGroup) Config {
	if l.ARN == "" {
		l.ARN = "listener"
	}
	if l.Port == 0 {
		l.Port = 80
	}
	if l.Protocol == "" {
		l.Protocol = HTTP
	}
	return Config{
		LoadBalancers: []LoadBalancer{{
			ARN: "lb", Name: "lb", Nodes: []Node{{Zone: "a", Address: netip.MustParseAddr("10.250.1.5")}},
			Listeners: []Listener{l},
		}},
		TargetGroups: groups,
	}
}

// firstListenerAddress returns the address on this machine of the first listener.
func firstListenerAddress(t *testing.T, p *Plane) string {
	t.Helper()
	e := p.Endpoints()
	if len(e) == 0 {
		t.Fatal("no listener is open")
	}
	return e[0].LocalAddress.String()
}

// reply is a response whose body has been read.
type reply struct {
	*http.Response
	body string
}

func (r reply) parseEcho(t *testing.T) echoResponse {
	t.Helper()
	var e echoResponse
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		t.Fatalf("status %d, not an echo: %q", r.StatusCode, r.body)
	}
	return e
}

// client opens a connection for each request, does not follow redirects and does not verify certificates.
var client = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       conditionTimeout,
}

func send(t *testing.T, c *http.Client, req *http.Request) reply {
	t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: body: %v", req.Method, req.URL, err)
	}
	return reply{resp, string(body)}
}

func newTestRequest(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func get(t *testing.T, p *Plane, host, target string) reply {
	t.Helper()
	req := newTestRequest(t, http.MethodGet, "http://"+firstListenerAddress(t, p)+target, nil)
	req.Host = host
	return send(t, client, req)
}

// sendRaw sends text and returns everything that it receives until the peer closes the connection.
func sendRaw(t *testing.T, at, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(conditionTimeout))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	_, _ = io.Copy(&got, conn)
	return got.String()
}

// issuer signs certificates for tests.
type issuer struct {
	cert       *x509.Certificate
	key        *ecdsa.PrivateKey
	nextSerial int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test issuer"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{cert: cert, key: key, nextSerial: 1}
}

// issue creates a certificate for these names. It has an RSA key of rsaBits bits, or an ECDSA key if rsaBits is 0.
func (i *issuer) issue(t *testing.T, rsaBits int, names ...string) tls.Certificate {
	t.Helper()
	var key any
	var public any
	if rsaBits > 0 {
		k, err := rsa.GenerateKey(rand.Reader, rsaBits)
		if err != nil {
			t.Fatal(err)
		}
		key, public = k, k.Public()
	} else {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key, public = k, k.Public()
	}
	i.nextSerial++
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(i.nextSerial), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(12 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, i.cert, public, i.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
