// Package resolved holds load balancers, listeners and rules as they are to be once all choices are made, as values that the
// parts of a plan share.
package resolved
