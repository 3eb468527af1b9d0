// Package checks reads from AWS what the command doctor shows and no other part of the controller needs: whose credentials
// are in use, which actions they permit, and how much of the quotas is in use. It changes nothing.
package checks
