// Package settings reads what users and operators specify about a load balancer (annotations,
// class parameters) into flat structs of three-state fields that remember where each value came
// from. One table row per annotation names its parser, its field and its documentation; the
// reference page is made from the same rows. The package decides nothing about load balancers: it
// parses, overlays one source on another, and reports what could not be read.
package settings
