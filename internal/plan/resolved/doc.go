// Package resolved has the load balancers, listeners and rules of a plan after all choices are made: the state that AWS must
// have after the plan. The packages that make a plan share these values.
package resolved
