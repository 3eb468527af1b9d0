// Package match has the matches of HTTPRoutes: one host, path, method, headers and parameters each. It turns the
// conditions of listener rules into matches, and orders and intersects matches by the rules of the Gateway API. It
// rewrites a list of rules for the precedence of routes, so that each request still gets the answer of the same rule.
package match
