// Package traffic decides when rules and listeners start to forward requests to their desired target groups: when these
// target groups are ready. A target group is ready if it has a healthy target and the first health checks of all its
// targets are over.
package traffic
