// Package conformance runs the published conformance suite of Gateway API against Fulcrum in a local world: package
// images replaces the images of the suite, and its requests go through the data plane of the emulated load balancers.
package conformance
