package harness

import "net/http"

// RoundTripperFunc is a function that implements http.RoundTripper. Tests use it in Options.Transport.
type RoundTripperFunc func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
