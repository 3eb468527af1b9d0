// Package store has the emulator state: the networks, load balancers, certificates and other resources of each account and
// region. It also has the clock that determines states, and the random source of identifiers.
//
// The package ensures the invariants between resources. It does not depend on the protocols or on fault injection. It does
// not validate parameters; the packages of the AWS services do.
//
// One mutex guards the whole state ([Store.Lock]). The dispatcher locks it around each operation. Code in this package and
// in operations therefore runs single-threaded and must not block.
package store
