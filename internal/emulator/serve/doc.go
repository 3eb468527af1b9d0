// Package serve makes the load balancers of an emulator carry traffic: it follows
// changes of the emulator state, turns the state of Elastic Load Balancing into the
// configuration of the data plane, writes target health back into the emulator state,
// and answers the DNS names of load balancers.
//
// It decides nothing: the data plane decides what a request gets, the operations what
// may be configured.
package serve
