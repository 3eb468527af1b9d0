package echo

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// testAddress is an address that no local world uses, because the second byte of their addresses is at least 16.
var testAddress = netip.AddrFrom4([4]byte{10, 3, 0, 9})

const (
	// hangTimeout is how long a test waits for a condition. It is so long that only a hang exceeds it.
	hangTimeout = 2 * time.Minute
	// brief is the timeout of Shutdown at the end of a test. No test depends on its value.
	brief = time.Second
)

// startServer runs a server with one port of protocol p until the test ends, and returns the server and its host:port.
// change can change the configuration; it may be nil.
func startServer(t *testing.T, p Protocol, change func(*Config)) (*Server, string) {
	t.Helper()
	cfg := Config{
		Address:     testAddress,
		Identity:    func() Identity { return Identity{Pod: "web-0", Namespace: "shop", Service: "web"} },
		Protocol:    func(int) Protocol { return p },
		Certificate: newCertificate(t),
	}
	if change != nil {
		change(&cfg)
	}
	s := New(cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), brief)
		defer cancel()
		s.Shutdown(ctx)
	})
	// Listening on port 0 finds a free port of the address.
	l, err := net.Listen("tcp4", "127.3.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	if err := s.Listen(port); err != nil {
		t.Fatal(err)
	}
	return s, fmt.Sprintf("127.3.0.9:%d", port)
}

func newClient(protocols func(*http.Protocols)) *http.Client {
	var p http.Protocols
	protocols(&p)
	return &http.Client{Timeout: hangTimeout, Transport: &http.Transport{
		Protocols:       &p,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

var (
	http1Client = newClient(func(p *http.Protocols) { p.SetHTTP1(true) })
	http2Client = newClient(func(p *http.Protocols) { p.SetHTTP2(true) })
	h2cClient   = newClient(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
)

func TestPortsServeOnlyTheirProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		port   Protocol
		scheme string
		client *http.Client
		want   string // protocol of the response; empty: no response
	}{
		"http takes HTTP/1.1":      {HTTP, "http", http1Client, "HTTP/1.1"},
		"http refuses h2c":         {HTTP, "http", h2cClient, ""},
		"http rejects TLS":         {HTTP, "https", http1Client, ""},
		"https takes HTTP/1.1":     {HTTPS, "https", http1Client, "HTTP/1.1"},
		"https takes HTTP/2":       {HTTPS, "https", http2Client, "HTTP/2.0"},
		"https rejects clear text": {HTTPS, "http", http1Client, ""},
		"h2c takes HTTP/2":         {H2C, "http", h2cClient, "HTTP/2.0"},
		"h2c refuses HTTP/1.1":     {H2C, "http", http1Client, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, at := startServer(t, c.port, nil)
			res, err := c.client.Post(c.scheme+"://"+at+"/a%2Fb?c=d", "text/plain", strings.NewReader("hello"))
			if c.want == "" {
				if err == nil {
					defer res.Body.Close()
					if res.StatusCode == http.StatusOK {
						t.Errorf("answers %s over %s", res.Status, res.Proto)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var a Response
			if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
				t.Fatal(err)
			}
			if a.Pod != "web-0" || a.Namespace != "shop" || a.Service != "web" {
				t.Errorf("answers as %+v", a.Identity)
			}
			if a.Protocol != c.want || a.TLS != (c.scheme == "https") || a.Host != at ||
				a.Method != "POST" || a.Path != "/a%2Fb" || a.Query != "c=d" || a.Body != "hello" {
				t.Errorf("the server received %+v", a)
			}
		})
	}
}

func TestPathsAndForcedStatus(t *testing.T) {
	forced := 0
	_, at := startServer(t, HTTP, func(c *Config) { c.Status = func() int { return forced } })
	get := func(path string) (int, string) {
		t.Helper()
		res, err := http1Client.Get("http://" + at + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	for path, want := range map[string]int{"/": 200, "/fail": 500, "/status/418": 418, "/status/none": 200, "/delay/1ms": 200} {
		if got, _ := get(path); got != want {
			t.Errorf("%s gives %d, want %d", path, got, want)
		}
	}
	if _, body := get("/size/30"); len(body) != 30 {
		t.Errorf("/size/30 gives %d bytes", len(body))
	}
	forced = 503
	if got, _ := get("/"); got != 503 {
		t.Errorf("with the forced status 503, the status is %d", got)
	}
}

func TestWebSocketEchoes(t *testing.T) {
	_, at := startServer(t, HTTP, nil)
	c, _, err := websocket.DefaultDialer.Dial("ws://"+at+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var a Response
	if err := c.ReadJSON(&a); err != nil || a.Pod != "web-0" {
		t.Fatalf("first message: %v, %+v", err, a)
	}
	if err := c.WriteMessage(websocket.BinaryMessage, []byte{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if kind, b, err := c.ReadMessage(); err != nil || kind != websocket.BinaryMessage || string(b) != "\x01\x02\x03" {
		t.Fatalf("got %d %v, %v", kind, b, err)
	}
}

func TestGRPCAnswersAnyMethod(t *testing.T) {
	_, at := startServer(t, GRPC, nil)
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	check, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil || check.Status != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("health: %v, %v", check, err)
	}
	var header metadata.MD
	in, out := &healthpb.HealthCheckRequest{Service: "any message"}, &healthpb.HealthCheckRequest{}
	if err := conn.Invoke(ctx, "/shop.Cart/Add", in, out, grpc.Header(&header)); err != nil {
		t.Fatal(err)
	}
	if out.Service != in.Service {
		t.Errorf("message came back as %q", out.Service)
	}
	var a Response
	if err := json.Unmarshal([]byte(strings.Join(header.Get(MetadataKey), "")), &a); err != nil {
		t.Fatal(err)
	}
	if a.Pod != "web-0" || a.Path != "/shop.Cart/Add" || a.Protocol != "gRPC" {
		t.Errorf("answers %+v", a)
	}
	if err := conn.Invoke(ctx, "/shop.Cart/Fail", in, out); err == nil {
		t.Error("method Fail returns no error")
	}
}

func TestShutdownFinishesOpenRequests(t *testing.T) {
	under := make(chan struct{})
	s, at := startServer(t, HTTP, func(c *Config) {
		// The server calls Identity after it has read the header of a request.
		c.Identity = func() Identity {
			close(under)
			return Identity{}
		}
	})
	type result struct {
		status int
		err    error
	}
	results := make(chan result, 1)
	go func() {
		res, err := http1Client.Get("http://" + at + "/delay/200ms")
		if err != nil {
			results <- result{err: err}
			return
		}
		res.Body.Close()
		results <- result{status: res.StatusCode}
	}()
	<-under
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	s.Shutdown(ctx)
	if r := <-results; r.err != nil || r.status != http.StatusOK {
		t.Errorf("a request in progress ended with %+v", r)
	}
	if c, err := net.Dial("tcp4", at); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	if err := s.Listen(1); err == nil {
		t.Error("a server that is shut down opens ports")
	}
}

func TestDatagramsAreAnswered(t *testing.T) {
	s, at := startServer(t, HTTP, nil) // TCP and UDP on the same port
	conn, err := net.Dial("udp4", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	port := conn.RemoteAddr().(*net.UDPAddr).Port
	for range 2 { // repeated calls do not change an open port
		if err := s.ListenUDP(port); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(hangTimeout))
	buf := make([]byte, 64<<10)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	var a Response
	if err := json.Unmarshal(buf[:n], &a); err != nil {
		t.Fatal(err)
	}
	if a.Pod != "web-0" || a.Protocol != "UDP" || a.Port != port || a.Body != "hello" || a.Client != conn.LocalAddr().String() {
		t.Errorf("answer %+v", a)
	}
	s.Shutdown(t.Context())
	if err := s.ListenUDP(port); err == nil {
		t.Error("a server that is shut down opens ports")
	}
}

func newCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"echo"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
