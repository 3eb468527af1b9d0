// Package simulate implements IAM's operation SimulatePrincipalPolicy, which evaluates the policies that the emulator
// enforces.
package simulate
