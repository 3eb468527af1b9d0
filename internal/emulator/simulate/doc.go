// Package simulate implements the IAM operation SimulatePrincipalPolicy. It evaluates the policies that the emulator
// enforces.
package simulate
