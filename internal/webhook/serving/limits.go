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

// limits has the limits of the resources that callers can use.
type limits struct {
	connections int
	bodyBytes   int           // total size of all bodies that are being read or reviewed
	readTimeout time.Duration // time to read a request with its body
}

// defaultLimits are much higher than API servers need. An API server has one connection, sends without delay, and waits ten
// seconds for the answer.
var defaultLimits = limits{connections: 512, bodyBytes: 32 << 20, readTimeout: durations.AnswerTimeout}

// The limits of a single connection or request, in bytes.
const (
	// maxHeaderSize is the maximum size of the headers of a request. The headers of an API server are smaller.
	maxHeaderSize = 64 << 10
	// receiveWindow is the number of bytes of a connection that are buffered before they are read.
	receiveWindow = 64 << 10
	// minBufferSize is the minimum number of bytes that are reserved for a body.
	minBufferSize = 4 << 10
)

// bodyLimiter reads the body of each request before it calls the handler. The field capacity limits the total size of the
// bodies.
type bodyLimiter struct {
	mux         *http.ServeMux
	capacity    *capacity
	readTimeout time.Duration
}

// errTooManyRequests is the error for a request whose reservation was refused or revoked.
var errTooManyRequests = errors.New("too many requests are open")

// ServeHTTP implements http.Handler.
func (b *bodyLimiter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if _, pattern := b.mux.Handler(req); pattern == "" {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		http.NotFound(w, req)
		return
	}
	deadline := http.NewResponseController(w)
	r := &reservation{address: hostOf(req.RemoteAddr), revoke: func() { _ = deadline.SetReadDeadline(time.Unix(1, 0)) }}
	defer b.capacity.release(r)
	body, err := b.readAll(req, r)
	if err == nil && !b.capacity.makePermanent(r) {
		err = errTooManyRequests
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		http.Error(w, "the body of the request cannot be read", http.StatusServiceUnavailable)
		return
	}
	// The read deadline is removed. If the deadline passed before the answer is sent, net/http would treat an HTTP/1
	// connection as closed and would not send the answer.
	_ = deadline.SetReadDeadline(time.Time{})
	req.Body = io.NopCloser(bytes.NewReader(body))
	b.mux.ServeHTTP(w, req)
}

// readAll reads a body, but at most one byte more than webhook.MaxReview. It reserves the content length before it reads the
// body, so that two partly read bodies never wait for each other.
func (b *bodyLimiter) readAll(req *http.Request, r *reservation) ([]byte, error) {
	reserved := max(int(min(req.ContentLength, webhook.MaxReview+1)), minBufferSize)
	if err := b.reserve(req, r, reserved, req.ContentLength >= 0); err != nil {
		return nil, err
	}
	from := io.LimitReader(req.Body, webhook.MaxReview+1)
	out := make([]byte, 0, minBufferSize)
	for {
		if len(out) == cap(out) {
			size := 2 * cap(out)
			if size > reserved && len(out) == reserved {
				if err := b.reserve(req, r, size-reserved, false); err != nil {
					return nil, err
				}
				reserved = size
			}
			out = append(make([]byte, 0, min(size, reserved)), out...)
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

// reserve reserves n bytes for a body. If mayWait is set, it waits until the bytes are available.
func (b *bodyLimiter) reserve(req *http.Request, r *reservation, n int, mayWait bool) error {
	timer := time.NewTimer(b.readTimeout)
	defer timer.Stop()
	for {
		ok, wait := b.capacity.reserve(r, n)
		switch {
		case ok:
			return nil
		case wait == nil || !mayWait:
			return errTooManyRequests
		}
		select {
		case <-wait:
		case <-timer.C:
			return errTooManyRequests
		case <-req.Context().Done():
			return req.Context().Err()
		}
	}
}

// limitedListener accepts as many connections as the capacity admits.
type limitedListener struct {
	net.Listener
	capacity *capacity
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		r := &reservation{address: hostOf(conn.RemoteAddr().String()), revoke: func() { _ = conn.Close() }}
		if ok, _ := l.capacity.reserve(r, 1); ok {
			return &limitedConnection{Conn: conn, capacity: l.capacity, reservation: r}, nil
		}
		_ = conn.Close()
	}
}

// limitedConnection releases its reservation when it is closed.
type limitedConnection struct {
	net.Conn
	capacity    *capacity
	reservation *reservation
}

// Close implements net.Conn.
func (c *limitedConnection) Close() error {
	defer c.capacity.release(c.reservation)
	return c.Conn.Close()
}

// hostOf returns the host of a HOST:PORT; an address without a port is returned unchanged.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
