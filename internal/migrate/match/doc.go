// Package match has the matches of HTTPRoutes: one host, path, method, headers and parameters each. It converts the
// conditions of listener rules to matches, and orders and intersects matches according to the Gateway API. It rearranges a
// list of rules for the precedence of routes, so that the same rule still answers each request.
package match
