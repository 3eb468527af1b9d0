// Package conformance runs the conformance suite of Gateway API, as it is published,
// against Fulcrum in a local world: the API server is real, the suite's images are
// played by the pods (package images), and its requests go through the data plane of
// the emulated load balancers.
package conformance
