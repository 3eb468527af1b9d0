// Package traffic moves requests from some target groups to others, by the health of their targets.
package traffic
