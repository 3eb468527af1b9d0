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

// FencedClient returns a copy of c for requests that only the leader sends. The copy checks fence before each attempt of a
// request that changes something. Each request has a deadline: the timeout of c, or durations.RequestTimeout if c has no
// timeout. Because of the deadline, the copy is not suitable for watches.
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

// fencedTransport checks a fence before each request that changes something, and again before it sends the body: the lease
// may be lost while the connection is opened.
type fencedTransport struct {
	next  http.RoundTripper
	fence engine.Fence
}

// checkFence returns an error that wraps errFenced if this process must not write any more.
func (t fencedTransport) checkFence() error {
	if err := t.fence.CheckFence(); err != nil {
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

// fencedBody is a request body that checks the fence before its first byte is sent.
type fencedBody struct {
	io.ReadCloser
	transport    fencedTransport
	fenceChecked bool
	fenceErr     error
}

// Read checks the fence before it returns the first byte. If the fence returned an error, Read returns this error.
func (b *fencedBody) Read(p []byte) (int, error) {
	if !b.fenceChecked {
		b.fenceChecked, b.fenceErr = true, b.transport.checkFence()
	}
	if b.fenceErr != nil {
		return 0, b.fenceErr
	}
	return b.ReadCloser.Read(p)
}
