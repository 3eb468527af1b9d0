// Package match has the type of the matches of HTTPRoutes: one host, path and method, and headers and parameters. It
// converts the conditions of listener rules to matches, and orders and intersects matches as the Gateway API defines. It
// arranges rules for the precedence of routes, so that each request gets the same answer as in the listener.
package match
