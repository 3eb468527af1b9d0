package serving

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// limits bound what callers can take up, whoever they are.
type limits struct {
	connections int
	bytes       int           // of all bodies that are read or judged
	read        time.Duration // for a request with its body
}

// usualLimits are far above what API servers need: each has one connection, sends at once, and waits for ten seconds.
var usualLimits = limits{connections: 512, bytes: 32 << 20, read: durations.Answer}

const (
	// maxHeader is more than an API server sends.
	maxHeader = 64 << 10
	// window is how much of a connection is received before it is read.
	window = 64 << 10
	// firstBuffer is what a body takes up at least.
	firstBuffer = 4 << 10
)

// bodies reads the body of a request before its handler is called, within the shares of all.
type bodies struct {
	mux    *http.ServeMux
	shares *shares
	read   time.Duration
}

var errGivesWay = errors.New("too many requests are open")

// ServeHTTP implements http.Handler.
func (b *bodies) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, pattern := b.mux.Handler(req); pattern == "" {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		http.NotFound(w, req)
		return
	}
	deadline := http.NewResponseController(w)
	c := &claim{address: hostOf(req.RemoteAddr), end: func() { _ = deadline.SetReadDeadline(time.Unix(1, 0)) }}
	defer b.shares.release(c)
	body, err := b.readAll(req, c)
	if err == nil && !b.shares.makePermanent(c) {
		err = errGivesWay
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		http.Error(w, "the body of the request cannot be read", http.StatusServiceUnavailable)
		return
	}
	// Past the deadline a connection of HTTP/1 would count as closed, and the answer would be given up.
	_ = deadline.SetReadDeadline(time.Time{})
	req.Body = io.NopCloser(bytes.NewReader(body))
	b.mux.ServeHTTP(w, req)
}

// readAll reads a body, one byte beyond the largest that is judged at most. What a caller says that it sends is claimed
// before it is read, so that no two bodies that are read in part wait for each other.
func (b *bodies) readAll(req *http.Request, c *claim) ([]byte, error) {
	claimed := max(int(min(req.ContentLength, webhook.MaxReview+1)), firstBuffer)
	if err := b.claim(req, c, claimed, req.ContentLength >= 0); err != nil {
		return nil, err
	}
	from := io.LimitReader(req.Body, webhook.MaxReview+1)
	out := make([]byte, 0, firstBuffer)
	for {
		if len(out) == cap(out) {
			size := 2 * cap(out)
			if size > claimed && len(out) == claimed {
				if err := b.claim(req, c, size-claimed, false); err != nil {
					return nil, err
				}
				claimed = size
			}
			out = append(make([]byte, 0, min(size, claimed)), out...)
		}
		n, err := from.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case errors.Is(err, io.EOF), int64(len(out)) == req.ContentLength:
			return out, nil
		case err != nil:
			return nil, err
		}
	}
}

// claim claims bytes for a body, and waits for them if it may.
func (b *bodies) claim(req *http.Request, c *claim, n int, waits bool) error {
	late := time.NewTimer(b.read)
	defer late.Stop()
	for {
		ok, wait := b.shares.grow(c, n)
		switch {
		case ok:
			return nil
		case wait == nil || !waits:
			return errGivesWay
		}
		select {
		case <-wait:
		case <-late.C:
			return errGivesWay
		case <-req.Context().Done():
			return req.Context().Err()
		}
	}
}

// listener accepts no more connections than there are shares.
type listener struct {
	net.Listener
	shares *shares
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &claim{address: hostOf(conn.RemoteAddr().String()), end: func() { _ = conn.Close() }}
		if ok, _ := l.shares.grow(c, 1); ok {
			return &connection{Conn: conn, shares: l.shares, claim: c}, nil
		}
		_ = conn.Close()
	}
}

// connection gives its share back when it is closed.
type connection struct {
	net.Conn
	shares *shares
	claim  *claim
}

// Close implements net.Conn.
func (c *connection) Close() error {
	defer c.shares.release(c.claim)
	return c.Conn.Close()
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
