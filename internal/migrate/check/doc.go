// Package check compares two desired states of load balancers: that of Ingresses, and that of the Gateway that replaces the
// Ingresses. It evaluates the rules of both for all requests that the conditions of the rules distinguish, and compares the
// settings that do not affect answers.
package check
