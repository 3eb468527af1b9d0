// Package settings parses what users and operators specify about a load balancer (annotations, class parameters) into flat
// structs. Each field is unset, set or not valid, and has the origin of its value. A table has one row for each annotation,
// with its parser, its field and its documentation; the reference page is generated from the same rows. The package makes no
// decisions about load balancers: it parses, replaces annotations by class parameters, and returns a fault for each value
// that is not valid.
package settings
