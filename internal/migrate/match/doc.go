// Package match is how HTTPRoutes look at requests: one host, path, method, headers and parameters each. It turns the
// conditions of listener rules into matches, and orders and intersects them as the Gateway API has it, so that a list of
// rules can be rewritten for the precedence of routes without changing which rule answers which request.
package match
