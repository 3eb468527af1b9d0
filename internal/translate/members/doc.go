// Package members merges the settings of the members of a stack: the ports on which they listen, and the value of each
// load-balancer-wide setting on which they disagree.
//
// The value that a setting has in AWS stays as long as an accepted member, or its class, sets it. So a new member that
// sets another value never replaces a load balancer, opens it to more clients, or disables its deletion protection. The
// first member decides only if no member sets the value in AWS, or if AWS has no value. A value that cannot be read is
// treated as equal to the value in AWS, so that it changes nothing in AWS.
//
// The package reads settings and the observed state, but no Kubernetes objects. Frontends create the members.
package members
