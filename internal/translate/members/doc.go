// Package members resolves what the members of a stack have in common: on which ports they listen, and
// what happens to a load-balancer-wide setting on which they disagree.
//
// The live value of such a setting stays as long as an accepted member, or its class, asks for it: a
// newcomer never replaces, opens or unguards a load balancer by disagreeing. Only where none of them asks
// for what is live, or nothing is live, does the first member decide. A value that cannot be read counts
// as one that asks for what is live, since a guess could take it away.
//
// It knows settings and what is observed, and no kind of object: frontends make the members.
package members
