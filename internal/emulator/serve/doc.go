// Package serve runs the data plane for the load balancers and accelerators of an emulator. It watches the emulator state,
// and converts it to the configuration of the data plane. It writes the health of targets into the emulator state, and
// resolves the DNS names of load balancers and accelerators.
//
// Package dataplane routes requests. The packages of the AWS services validate the settings.
package serve
