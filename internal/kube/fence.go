package kube

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// errFenced is the error of a write that was not sent, because this process does not hold the lease any more.
var errFenced = errors.New("this process may no longer write to Kubernetes")

// FencedClient returns an HTTP client for requests that only the leader sends: each attempt of a request that changes
// something checks the fence, and each request has a deadline. It is not suitable for watches, because they have no deadline.
func FencedClient(c *http.Client, fence engine.Fence) *http.Client {
	fenced := *c
	if fenced.Transport == nil {
		fenced.Transport = http.DefaultTransport
	}
	fenced.Transport = fencedTransport{next: fenced.Transport, fence: fence}
	if fenced.Timeout == 0 {
		fenced.Timeout = durations.RequestTimeout
	}
	return &fenced
}

// fencedTransport checks a fence before each request that changes something, and again before it sends the body: it may take
// a long time to open a connection, and the lease may be lost in this time.
type fencedTransport struct {
	next  http.RoundTripper
	fence engine.Fence
}

// checkFence returns an error if this process must not write any more.
func (t fencedTransport) checkFence() error {
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
	if err := t.checkFence(); err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	if req.Body == nil || req.Body == http.NoBody {
		return t.next.RoundTrip(req)
	}
	fenced := req.Clone(req.Context())
	fenced.Body = &fencedBody{ReadCloser: req.Body, transport: t}
	if getBody := req.GetBody; getBody != nil {
		fenced.GetBody = func() (io.ReadCloser, error) {
			body, err := getBody()
			if err != nil {
				return nil, err
			}
			return &fencedBody{ReadCloser: body, transport: t}, nil
		}
	}
	return t.next.RoundTrip(fenced)
}

// fencedBody is a request body that cannot be sent once the fence returns an error.
type fencedBody struct {
	io.ReadCloser
	transport    fencedTransport
	fenceChecked bool
	fenceErr     error
}

// Read checks the fence before it returns the first byte.
func (b *fencedBody) Read(p []byte) (int, error) {
	if !b.fenceChecked {
		b.fenceChecked, b.fenceErr = true, b.transport.checkFence()
	}
	if b.fenceErr != nil {
		return 0, b.fenceErr
	}
	return b.ReadCloser.Read(p)
}
