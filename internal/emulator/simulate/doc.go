// Package simulate is the part of IAM that says what a principal may do: SimulatePrincipalPolicy, by the policies that the
// emulator enforces.
package simulate
