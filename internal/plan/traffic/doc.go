// Package traffic moves requests from live to desired target groups when the targets of the desired ones are healthy.
package traffic
