// Package resolved has the load balancers, listeners and rules of a plan after all choices are made: what AWS is to have. The
// packages that make a plan share these values.
package resolved
