// Package plantest carries plans out without AWS, for tests: each step does to observed state what its
// call would do. What AWS would refuse is a panic.
package plantest
