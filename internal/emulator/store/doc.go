// Package store contains the emulator state: the networks, load balancers and certificates of accounts and regions, the
// clock that determines states, and the random source of identifiers.
//
// It contains the state and the invariants between resources. It does not depend on the protocols, on faults or on the
// validation of parameters: the packages of the services validate them.
//
// One mutex guards the whole state ([Store.Lock]). The dispatcher locks it around each operation, so code in this
// package and in operations runs single-threaded and must not block.
package store
