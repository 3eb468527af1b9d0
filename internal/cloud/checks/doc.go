// Package checks is what only the command doctor asks of AWS: whose credentials are in use, which actions they allow, and how
// much of the quotas is in use. It changes nothing.
package checks
