// Package settings parses what users and operators specify about a load balancer (annotations, class
// parameters) into flat structs of three-state fields, each with the origin of its value. One table row per
// annotation has its parser, its field and its documentation; the reference page is generated from the same
// rows. The package makes no decisions about load balancers: it parses, overlays class parameters on annotations,
// and returns a fault for each value that is not valid.
package settings
