// Package simulate has IAM's operation SimulatePrincipalPolicy, which evaluates the policies that the emulator enforces.
package simulate
