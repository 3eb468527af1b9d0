// Package match has the matches of HTTPRoutes: one host, path, method, headers and parameters each. It turns the
// conditions of listener rules into matches, and orders and intersects matches by the rules of the Gateway API. With it a
// list of rules can be rewritten for the precedence of routes without changing which rule answers which request.
package match
