// Package check compares two desired states of load balancers: that of Ingresses, and that of the Gateway which is to take
// their place. It evaluates the rules of both over all requests that their conditions distinguish, and compares the settings
// that no request shows.
package check
