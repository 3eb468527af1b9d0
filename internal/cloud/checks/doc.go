// Package checks reads what only the command doctor shows of AWS: whose credentials are in use, which actions they allow, and
// how much of the quotas is in use. It changes nothing.
package checks
