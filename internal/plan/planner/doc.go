// Package planner makes the plan of a stack from the plans of its parts. It decides which live resources are kept or deleted,
// and orders the steps.
package planner
