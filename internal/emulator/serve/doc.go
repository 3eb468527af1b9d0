// Package serve runs the data plane for the load balancers and accelerators of an emulator: it watches the emulator
// state, converts it to the configuration of the data plane, writes target health back into the emulator state, and
// answers the DNS names of load balancers and accelerators.
//
// Package dataplane routes requests, and the packages of the services validate the settings.
package serve
