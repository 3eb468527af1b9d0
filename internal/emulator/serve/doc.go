// Package serve makes the load balancers of an emulator carry traffic: it
// follows the world's changes, turns the state of Elastic Load Balancing into
// the configuration of the data plane, brings health back into the world, and
// answers the DNS names of load balancers.
//
// It decides nothing: what a request gets is the data plane's business, what
// may be configured the operations'.
package serve
