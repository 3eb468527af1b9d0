// Package plan is the difference between the desired and the observed state of a stack, as a value: ordered steps with an
// address, a reason and edges to the steps that must come first, and their text. Package planner makes plans with the
// packages below this one; the engine carries them out. None of these packages calls AWS or Kubernetes, keeps state or
// reads the clock.
package plan
