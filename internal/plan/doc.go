// Package plan describes how to change a stack from its observed to its desired state, as ordered steps, and renders these
// steps as text. A step has an address, a reason, and the steps that must succeed before it. Package planner makes plans
// with the other packages under internal/plan; the engine carries the plans out. None of these packages calls AWS or
// Kubernetes, keeps state or reads the clock.
package plan
