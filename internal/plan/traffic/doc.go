// Package traffic decides when rules and listeners start to forward requests to their desired target groups: when
// these target groups are ready: they have a healthy target, and the first health checks of all targets are over.
package traffic
