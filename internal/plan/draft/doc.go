// Package draft has the unfinished plan of a stack: its steps, questions, waits and findings. It also has the functions that
// all packages which contribute to a plan use.
package draft
