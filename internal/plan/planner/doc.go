// Package planner makes the plan of a stack out of its parts: what is kept and what goes, and in which order.
package planner
