// Package adversary has the property test of the isolation contract: victims have fixed objects, and an attacker may
// write any objects in its own namespace. A random history, a list of moves of the attacker, runs against the whole
// controller in virtual time. After every move the victims must have the same load balancers as without the attacker. The
// tests of Gateways, TLS Secrets, shared load balancers, accelerators and adoptions have their own victims, moves and
// seeds. Each fault that these tests have found also has a test with fixed objects.
//
// FULCRUM_ADVERSARY=1000 runs 1000 histories, beginning with FULCRUM_ADVERSARY_FROM (default 0).
// FULCRUM_ADVERSARY_SEED=17 runs history 17 alone. FULCRUM_ADVERSARY_SURVEY=1 only lists the failing histories. A failing
// history is printed with its seed and with the shortest list of moves that still fails.
package adversary
