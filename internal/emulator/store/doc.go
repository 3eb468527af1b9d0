// Package store is the emulator state: accounts and regions, their networks, load
// balancers and certificates, the clock that moves them and the random source that
// names them.
//
// It holds state and the invariants between resources. It does not depend on requests
// on the wire, on faults, or on how an operation validates its parameters: that is the
// job of the service packages above it.
//
// One mutex guards all of the state ([Store.Lock]). The dispatcher takes it around each
// operation, so code in this package and in operations runs single threaded and must
// not block.
package store
