// Package world is the state of the emulated cloud: accounts and regions,
// their networks, load balancers and certificates, the clock that moves them
// and the random source that names them.
//
// It holds state and the invariants between resources. It knows nothing of
// requests on the wire, of faults, or of how an operation validates its
// parameters: that is the job of the service packages above it.
//
// One mutex guards everything ([World.Lock]). The dispatcher takes it around
// each operation, so code in this package and in operations runs single
// threaded and must not block.
package world
