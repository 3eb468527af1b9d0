package kube

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// errFenced is the error of a write when this process must not write any more.
var errFenced = errors.New("this process must not write to Kubernetes any more")

// FencedClient returns an HTTP client for what only the leader does: every request that changes
// something checks the fence, also when it is retried, and every request has a deadline. It is not
// for watches.
func FencedClient(c *http.Client, fence engine.Fence) *http.Client {
	own := *c
	if own.Transport == nil {
		own.Transport = http.DefaultTransport
	}
	own.Transport = fencedTransport{next: own.Transport, fence: fence}
	if own.Timeout == 0 {
		own.Timeout = durations.Request
	}
	return &own
}

// fencedTransport checks a fence before each request that changes something, and once more when
// its body is about to be sent: a connection may take long to open, longest while this process
// cannot reach its lease.
type fencedTransport struct {
	next  http.RoundTripper
	fence engine.Fence
}

func (t fencedTransport) admit() error {
	if err := t.fence.Fence(); err != nil {
		return fmt.Errorf("%w: %w", errFenced, err)
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (t fencedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return t.next.RoundTrip(req)
	}
	if err := t.admit(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	if req.Body == nil || req.Body == http.NoBody {
		return t.next.RoundTrip(req)
	}
	fenced := req.Clone(req.Context())
	fenced.Body = &fencedBody{ReadCloser: req.Body, of: t}
	if again := req.GetBody; again != nil {
		fenced.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return &fencedBody{ReadCloser: body, of: t}, nil
		}
	}
	return t.next.RoundTrip(fenced)
}

// fencedBody is a request body that cannot be sent once the fence returns an error.
type fencedBody struct {
	io.ReadCloser
	of      fencedTransport
	asked   bool
	refused error
}

// Read checks the fence before it returns the first byte.
func (b *fencedBody) Read(p []byte) (int, error) {
	if !b.asked {
		b.asked, b.refused = true, b.of.admit()
	}
	if b.refused != nil {
		return 0, b.refused
	}
	return b.ReadCloser.Read(p)
}
