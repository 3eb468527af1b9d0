// Package plantest simulates plans without AWS, for tests: each step changes observed state as its call would do. It
// panics if AWS would refuse a step.
package plantest
