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

// hang is how long a test waits for what can only be missing. The callers of the API server and of others have addresses
// of their own.
const (
	hang      = 2 * time.Minute
	apiServer = "127.0.0.1"
	attacker  = "127.0.0.2"
)

// caller calls a server from an address.
type caller struct {
	t       *testing.T
	from    string
	address string
	config  *tls.Config
}

func (c caller) dial() (net.Conn, error) {
	d := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}, Timeout: hang}, Config: c.config}
	return d.DialContext(c.t.Context(), "tcp", c.address)
}

// post sends a review as the API server does; version is that of HTTP.
func (c caller) post(version int, body []byte) (*http.Response, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}, Timeout: hang}
	transport := &http.Transport{TLSClientConfig: c.config.Clone(), DialContext: dialer.DialContext, ForceAttemptHTTP2: version == 2, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, "https://"+c.address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := (&http.Client{Transport: transport, Timeout: hang}).Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	return res, err
}

// limited starts a server with limits, and returns callers of it.
func limited(t *testing.T, most limits, handle http.HandlerFunc) (s *Server, good, bad caller) {
	t.Helper()
	dir := t.TempDir()
	id := write(t, dir)
	a := newAPI(t)
	address, s := serve(t, Options{CertDir: dir, CertFile: "c.pem", KeyFile: "k.pem", Own: a.keeper(clock.RealClock{}), limits: most}, handle)
	config := &tls.Config{RootCAs: pool(id.CA), ServerName: dnsName}
	return s, caller{t, apiServer, address, config}, caller{t, attacker, address, config}
}

// took answers with 204 if a body is as long as its header says.
func took(w http.ResponseWriter, req *http.Request) {
	n, err := io.Copy(io.Discard, req.Body)
	if err != nil || n != req.ContentLength {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *shares) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// Sixty bodies that never end hold no more than the bound, and the API server is served beside them.
func TestBodiesThatNeverEndTakeNoRoomFromTheAPIServer(t *testing.T) {
	const most = 1 << 20
	s, good, bad := limited(t, limits{connections: 512, bytes: most, read: time.Hour}, took)
	for range 60 {
		conn, err := bad.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 1<<20)
			_, _ = conn.Write(make([]byte, 200<<10)) // it blocks where no more is read
		}()
	}
	eventually(t, "the attacker fills nothing", func() bool { return s.bytes.now() > most/2 })
	for version := 1; version <= 2; version++ {
		for range 5 {
			res, err := good.post(version, make([]byte, 300<<10))
			if err != nil || res.StatusCode != http.StatusNoContent || res.ProtoMajor != version {
				t.Fatalf("HTTP/%d: %+v, %v", version, res, err)
			}
		}
	}
	if n := s.bytes.now(); n > most {
		t.Errorf("%d bytes are held", n)
	}
}

// What is not sent in time is not waited for, and gives back what it had.
func TestABodyThatIsNotSentInTimeIsGivenUp(t *testing.T) {
	s, good, bad := limited(t, limits{connections: 512, bytes: 1 << 20, read: 100 * time.Millisecond}, took)
	conn, err := bad.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(hang))
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && !isClosed(err) {
		t.Errorf("the connection stays: %v", err)
	}
	body, end := io.Pipe() // never ends
	defer end.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+bad.address, body)
	if err != nil {
		t.Fatal(err)
	}
	two := &http.Client{Timeout: hang, Transport: &http.Transport{TLSClientConfig: bad.config.Clone(), ForceAttemptHTTP2: true}}
	if res, err := two.Do(req); err == nil && res.StatusCode == http.StatusNoContent {
		t.Error("HTTP/2: a body that does not end is answered")
	}
	two.CloseIdleConnections()
	eventually(t, "bytes are held", func() bool { return s.bytes.now() == 0 })
	eventually(t, "a connection is held", func() bool { return s.connections.now() == 0 })
	if res, err := good.post(2, nil); err != nil || res.StatusCode != http.StatusNoContent {
		t.Errorf("%+v, %v", res, err)
	}
}

// isClosed reports whether the other side has ended a connection, in order or not.
func isClosed(err error) bool {
	var timeout interface{ Timeout() bool }
	te, ok := err.(interface{ Timeout() bool })
	timeout = te
	return !ok || !timeout.Timeout()
}

// Who opens connections without end loses its own.
func TestConnectionsOfOneAddressKeepNoOtherOut(t *testing.T) {
	s, good, bad := limited(t, limits{connections: 8, bytes: 1 << 20, read: time.Hour}, took)
	for range 50 {
		if conn, err := bad.dial(); err == nil {
			defer conn.Close()
		}
	}
	eventually(t, "the attacker has no connections", func() bool { return s.connections.now() == 8 })
	for range 3 {
		if res, err := good.post(2, nil); err != nil || res.StatusCode != http.StatusNoContent {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if err := s.StartedChecker()(nil); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

// Many large requests of the API server wait for each other, and all are answered.
func TestRequestsOfOneAddressWaitForEachOther(t *testing.T) {
	s, good, _ := limited(t, limits{connections: 512, bytes: 1 << 20, read: time.Hour}, took)
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
	if answered.Load() != 16 || s.bytes.now() != 0 {
		t.Errorf("%d of 16 answered, %d bytes held", answered.Load(), s.bytes.now())
	}
}

// A request that is judged for longer than one may be sent is answered.
func TestTheReadDeadlineDoesNotEndAnAnswer(t *testing.T) {
	const read = 50 * time.Millisecond
	_, good, _ := limited(t, limits{connections: 512, bytes: 1 << 20, read: read}, func(w http.ResponseWriter, req *http.Request) {
		time.Sleep(4 * read)
		if req.Context().Err() != nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		took(w, req)
	})
	for version := 1; version <= 2; version++ {
		res, err := good.post(version, []byte("review"))
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Errorf("HTTP/%d: %+v, %v", version, res, err)
		}
	}
}
