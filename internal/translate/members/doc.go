// Package members resolves what the members of a stack have in common: on which ports they listen, and which value of a
// load-balancer-wide setting counts if they disagree.
//
// The live value of such a setting stays as long as an accepted member, or its class, sets it. So a new member never
// replaces a load balancer, opens it to clients, or ends its deletion protection by disagreeing. The first member decides
// only if no member sets the live value, or nothing is live. A value that cannot be read counts as the live one, because
// a guess could take the live value away.
//
// The package reads settings and the observed state, and no Kubernetes objects: frontends make the members.
package members
