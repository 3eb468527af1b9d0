// Package cost measures what a controller costs beside a real API server: its processor time, its
// memory, and how long a change takes to reach AWS. There is no code in it but tests.
package cost
