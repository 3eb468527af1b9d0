// Package cost measures the CPU time and the memory of a controller with a real API server, and how long a change
// takes to reach AWS. It contains only tests.
package cost
