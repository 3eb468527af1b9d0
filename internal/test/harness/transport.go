package harness

import "net/http"

// RoundTripper is a function that implements http.RoundTripper. Tests use it in Options.Transport.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
