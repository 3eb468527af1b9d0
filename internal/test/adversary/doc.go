// Package adversary holds the property test of the isolation contract: victims with fixed objects, and an attacker
// who may write anything in its own namespace. Random histories of the attacker run against the whole controller in
// virtual time. At every step the victims must be served as without the attacker. Gateways, TLS Secrets, shared load
// balancers, accelerators and take-overs have their own victims, moves and seeds. Each fault that was found is also a
// fixed case.
//
// FULCRUM_ADVERSARY=1000 runs that many histories, from FULCRUM_ADVERSARY_FROM=4000 on if that is given.
// FULCRUM_ADVERSARY_SEED=17 runs history 17 alone.
// FULCRUM_ADVERSARY_SURVEY=1 only lists what fails. A failing history is printed with its seed and with the shortest list of moves that still fails.
package adversary
