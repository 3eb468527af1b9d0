package serving

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// testTimeout limits how long a test waits. apiServer and attacker are the IP addresses of the two callers.
const (
	testTimeout = 2 * time.Minute
	apiServer   = "127.0.0.1"
	attacker    = "127.0.0.2"
)

// caller calls a server from an IP address.
type caller struct {
	t             *testing.T
	sourceAddress string
	address       string
	config        *tls.Config
}

func (c caller) dial() (net.Conn, error) {
	d := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.sourceAddress)}, Timeout: testTimeout}, Config: c.config}
	return d.DialContext(c.t.Context(), "tcp", c.address)
}

// post sends a review as the API server does, with the given HTTP version.
func (c caller) post(version int, body []byte) (*http.Response, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.sourceAddress)}, Timeout: testTimeout}
	transport := &http.Transport{TLSClientConfig: c.config.Clone(), DialContext: dialer.DialContext, ForceAttemptHTTP2: version == 2, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "https://"+c.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: transport, Timeout: testTimeout}).Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	return res, err
}

// startLimitedServer starts a server with the given limits, and returns two callers of the server.
func startLimitedServer(t *testing.T, most limits, handle http.HandlerFunc) (s *Server, good, bad caller) {
	t.Helper()
	dir := t.TempDir()
	id := writeCertificate(t, dir)
	a := newFakeAPIServer(t)
	address, s := startServerWithHandler(t, Options{CertDir: dir, CertFile: "c.pem", KeyFile: "k.pem", Keeper: a.newKeeper(clock.RealClock{}), limits: most}, handle)
	config := &tls.Config{RootCAs: certPool(id.CA), ServerName: dnsName}
	return s, caller{t, apiServer, address, config}, caller{t, attacker, address, config}
}

// acceptBody answers with 204 if the body has the length that the header announces.
func acceptBody(w http.ResponseWriter, req *http.Request) {
	n, err := io.Copy(io.Discard, req.Body)
	if err != nil || n != req.ContentLength {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (c *capacity) usedCapacity() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// awaitCondition calls the function is until it returns true. If that takes longer than testTimeout, the test fails with the
// message in what.
func awaitCondition(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// TestUnfinishedBodiesDoNotBlockTheAPIServer checks that sixty request bodies that never end use no more memory than the
// limit, and that requests of the API server are still answered.
func TestUnfinishedBodiesDoNotBlockTheAPIServer(t *testing.T) {
	const most = 1 << 20
	s, good, bad := startLimitedServer(t, limits{connections: 512, bodyBytes: most, readTimeout: time.Hour}, acceptBody)
	for range 60 {
		conn, err := bad.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 1<<20)
			_, _ = conn.Write(make([]byte, 200<<10)) // blocks when the server stops reading
		}()
	}
	awaitCondition(t, "the attacker fills nothing", func() bool { return s.bodyCapacity.usedCapacity() > most/2 })
	for version := 1; version <= 2; version++ {
		for range 5 {
			res, err := good.post(version, make([]byte, 300<<10))
			if err != nil || res.StatusCode != http.StatusNoContent || res.ProtoMajor != version {
				t.Fatalf("HTTP/%d: %+v, %v", version, res, err)
			}
		}
	}
	if n := s.bodyCapacity.usedCapacity(); n > most {
		t.Errorf("%d bytes are held", n)
	}
}

// TestASlowBodyIsCancelled checks that a body that is not sent in time is not read further, and its reserved memory is
// released.
func TestASlowBodyIsCancelled(t *testing.T) {
	const brief = 100 * time.Millisecond
	s, good, bad := startLimitedServer(t, limits{connections: 512, bodyBytes: 1 << 20, readTimeout: brief}, acceptBody)
	conn, err := bad.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(testTimeout))
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && !isConnectionClosed(err) {
		t.Errorf("the connection stays: %v", err)
	}
	body, end := io.Pipe() // never ends
	defer end.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+bad.address, body)
	if err != nil {
		t.Fatal(err)
	}
	two := &http.Client{Timeout: testTimeout, Transport: &http.Transport{TLSClientConfig: bad.config.Clone(), ForceAttemptHTTP2: true}}
	if res, err := two.Do(req); err == nil && res.StatusCode == http.StatusNoContent {
		t.Error("HTTP/2: a body that does not end is answered")
	}
	two.CloseIdleConnections()
	awaitCondition(t, "bytes are held", func() bool { return s.bodyCapacity.usedCapacity() == 0 })
	awaitCondition(t, "a connection is held", func() bool { return s.connectionCapacity.usedCapacity() == 0 })
	if res, err := good.post(2, nil); err != nil || res.StatusCode != http.StatusNoContent {
		t.Errorf("%+v, %v", res, err)
	}
}

// isConnectionClosed reports whether the other side has closed or reset a connection.
func isConnectionClosed(err error) bool {
	var timeout interface{ Timeout() bool }
	te, ok := err.(interface{ Timeout() bool })
	timeout = te
	return !ok || !timeout.Timeout()
}

// TestConnectionsOfOneAddressDoNotBlockOthers checks that a client address that opens too many connections loses only its own
// connections.
func TestConnectionsOfOneAddressDoNotBlockOthers(t *testing.T) {
	s, good, bad := startLimitedServer(t, limits{connections: 8, bodyBytes: 1 << 20, readTimeout: time.Hour}, acceptBody)
	for range 50 {
		if conn, err := bad.dial(); err == nil {
			defer conn.Close()
		}
	}
	awaitCondition(t, "the attacker has no connections", func() bool { return s.connectionCapacity.usedCapacity() == 8 })
	for range 3 {
		if res, err := good.post(2, nil); err != nil || res.StatusCode != http.StatusNoContent {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if err := s.StartedChecker()(nil); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// TestLargeRequestsOfOneAddressAreAllAnswered checks that many large requests of the API server are answered one after
// another within the memory limit.
func TestLargeRequestsOfOneAddressAreAllAnswered(t *testing.T) {
	s, good, _ := startLimitedServer(t, limits{connections: 512, bodyBytes: 1 << 20, readTimeout: time.Hour}, acceptBody)
	var wg sync.WaitGroup
	var answered atomic.Int32
	for i := range 16 {
		wg.Go(func() {
			if res, err := good.post(1+i%2, make([]byte, 400<<10)); err == nil && res.StatusCode == http.StatusNoContent {
				answered.Add(1)
			} else {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	wg.Wait()
	if answered.Load() != 16 || s.bodyCapacity.usedCapacity() != 0 {
		t.Errorf("%d of 16 answered, %d bytes held", answered.Load(), s.bodyCapacity.usedCapacity())
	}
}

// TestTheReadDeadlineDoesNotEndAnAnswer checks that a request whose review takes longer than the read deadline is still
// answered.
func TestTheReadDeadlineDoesNotEndAnAnswer(t *testing.T) {
	const brief = 50 * time.Millisecond
	_, good, _ := startLimitedServer(t, limits{connections: 512, bodyBytes: 1 << 20, readTimeout: brief}, func(w http.ResponseWriter, req *http.Request) {
		time.Sleep(4 * brief)
		if req.Context().Err() != nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		acceptBody(w, req)
	})
	for version := 1; version <= 2; version++ {
		res, err := good.post(version, []byte("review"))
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Errorf("HTTP/%d: %+v, %v", version, res, err)
		}
	}
}

// TestRefusedAddressesAreNotKept checks that the usage of an address whose only reservation was refused is not kept.
func TestRefusedAddressesAreNotKept(t *testing.T) {
	c := &capacity{total: 2}
	for n := range 10 {
		if ok, _ := c.reserve(&reservation{address: fmt.Sprint(n), revoke: func() {}}, 1); ok != (n < 2) {
			t.Fatalf("reservation %d: %v", n, ok)
		}
	}
	if len(c.usage) != 2 {
		t.Errorf("the usage of %d addresses is kept, want 2", len(c.usage))
	}
}
