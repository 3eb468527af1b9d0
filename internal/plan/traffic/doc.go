// Package traffic decides when requests move from live to desired target groups: when the targets of the desired target
// groups are healthy.
package traffic
