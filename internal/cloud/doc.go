// Package cloud reads and writes AWS. It is, beside the emulator, the only user of the AWS SDK,
// whose types do not leave it: it returns readings as types of package observed, and takes writes
// from the steps of a plan. It does not decide which resources are to exist.
//
// Readings are cached in an inventory, and writes are entered there as well, so that a second
// observation costs no call until the refresh period is over. The inventory only saves calls: it
// may be dropped at any time. No lock is held while a call is in flight.
package cloud
