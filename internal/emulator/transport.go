package emulator

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// handle serves a request to an AWS API, to the admin API or to the instance metadata service. If it returns an error, the
// client gets no response.
func (em *Emulator) handle(r *http.Request) (wire.Response, error) {
	switch {
	case strings.HasPrefix(r.URL.Path, adminPrefix):
		return em.serveAdmin(r), nil
	case strings.HasPrefix(r.URL.Path, "/latest/"):
		return em.imds.Serve(r)
	}
	return em.dispatch(r.Context(), r)
}

// Handler returns an HTTP handler that serves the emulator. If handle returns an error, for example because the emulator
// simulates a lost response, the handler closes the connection without a response.
func (em *Emulator) Handler() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		resp, err := em.handle(r)
		if err != nil {
			// net/http closes the connection without an answer after this panic.
			panic(http.ErrAbortHandler)
		}
		for name, values := range resp.Header {
			rw.Header()[name] = values
		}
		rw.WriteHeader(resp.Status)
		_, _ = rw.Write(resp.Body) // the error means that the client has closed the connection
	})
}

// RoundTripper returns a round tripper that serves requests in memory, without sockets or goroutines.
func (em *Emulator) RoundTripper() http.RoundTripper { return roundTripper{em} }

type roundTripper struct{ em *Emulator }

// RoundTrip implements http.RoundTripper. It returns a DNS error for a host name that does not exist, and a connection reset
// for a response that the emulator drops.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	resp, err := t.em.handle(r)
	if ctxErr := r.Context().Err(); ctxErr != nil {
		return nil, ctxErr // the context ended while the request was served
	}
	if errors.Is(err, errNoHost) {
		return nil, &net.DNSError{Err: err.Error(), Name: r.URL.Host, IsNotFound: true}
	}
	if err != nil {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return &http.Response{
		StatusCode: resp.Status, Status: http.StatusText(resp.Status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: resp.Header, Body: io.NopCloser(bytes.NewReader(resp.Body)),
		ContentLength: int64(len(resp.Body)), Request: r,
	}, nil
}
