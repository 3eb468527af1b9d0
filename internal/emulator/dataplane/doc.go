// Package dataplane moves traffic as an Application Load Balancer does: it
// listens on one loopback address per load balancer node, evaluates listener
// rules, and forwards requests to targets whose health it checks itself.
//
// It is driven by plain configuration values (Config) that the emulator's
// control plane derives from its state. It knows no AWS API, validates nothing
// that the control plane has validated already, and does not implement Network
// Load Balancers.
//
// Three liberties come from building on net/http: names of HTTP/1 headers
// reach targets in canonical case, a client that sends no complete header
// within the idle timeout is disconnected without a 408, and informational
// responses of targets (103) pass in the form that net/http gives them.
package dataplane
