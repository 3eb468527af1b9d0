// Package checks reads from AWS what only the command doctor shows: whose credentials are in use, which actions they permit,
// and how much of the quotas is in use. It changes nothing.
package checks
