// Package plantest simulates plans without AWS, for tests: each step changes observed state as AWS would. It panics
// if AWS would reject a step.
package plantest
