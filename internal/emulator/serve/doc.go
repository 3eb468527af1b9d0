// Package serve makes the load balancers and accelerators of an emulator carry traffic: it follows
// changes of the emulator state, converts the state to the configuration of the data
// plane, writes target health back into the emulator state, and answers the DNS names
// of load balancers and accelerators.
//
// It only converts. Package dataplane routes requests, and the packages of the services
// check what may be configured.
package serve
