// Package draft has the unfinished plan of a stack: its steps, questions, waits and findings, and the functions that all
// packages which contribute to a plan use.
package draft
