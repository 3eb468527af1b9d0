// Package world starts and stops a whole local world: etcd, the Kubernetes control
// plane, nodes and pods, an emulated AWS and, if asked, a controller. Everything
// listens on loopback addresses that only this local world has, so several of them run
// in parallel, and ports never collide.
//
// It only supervises. What nodes and pods do is in package agent; what AWS
// does is in the emulator of the parent module. It does not link Kubernetes:
// the roles are processes of the fulcrum-local binary.
//
// # Addresses
//
// A world owns a number N, reserved by a lock file. Its VPC is 10.N.0.0/16,
// reachable on the host as 127.N.0.0/16 (see package loopback). The control plane
// listens on 127.N.255.1, an address that no subnet covers.
//
// # Death
//
// Child processes die with the process that started the world, also when that is
// killed. What an earlier crash may have left (state, processes, where the kernel could
// not end them) is found through the lock file, which the kernel releases, and removed
// by the next world that starts.
package world
