// Package cloud reads and writes AWS. Only this package, the packages below it and the emulator use the AWS SDK. The types
// of the SDK do not appear in the API for callers: readings have types of package observed, and writes are steps of a plan.
// The package does not decide which resources should exist.
//
// Readings are cached in an inventory, and writes are entered in the inventory as well. Until the refresh period is over, a
// second observation therefore needs no call. The inventory only saves calls and may be emptied at any time. No lock is held
// during a call.
package cloud
