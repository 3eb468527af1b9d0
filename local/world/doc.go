// Package world starts and stops a complete local world: etcd, the Kubernetes control plane, nodes and pods, an emulated AWS
// and, on request, a controller. All servers except the controller's webhooks listen on loopback addresses that only this
// local world uses, so several local worlds can run in parallel without port conflicts.
//
// The package only starts and supervises processes, which are subcommands of fulcrum-local. Package agent implements
// nodes and pods, and the emulator of the parent module implements AWS.
//
// # Addresses
//
// A local world has a number N, which a lock file reserves. Its VPC is 10.N.0.0/16, reachable on the host as 127.N.0.0/16
// (see package loopback). The control plane listens on 127.N.255.1, an address that no subnet covers.
//
// # End of processes
//
// Child processes end with the process that started the local world, even if that process is killed. The kernel then
// releases the lock file of the local world. The next local world that starts finds state directories whose lock is free,
// and removes them and their remaining processes.
package world
