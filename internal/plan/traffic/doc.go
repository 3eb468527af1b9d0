// Package traffic decides when rules and listeners start to forward requests to their desired target groups: when the
// targets of these target groups are healthy.
package traffic
