// Package cloud reads and writes AWS. Only this package and the emulator use the AWS SDK. Its callers do not see types of
// the SDK: they get readings as types of package observed, and pass writes as steps of a plan. It does not decide which
// resources are to exist.
//
// Readings are cached in an inventory, and writes are entered there as well, so that a second
// observation costs no call until the refresh period is over. The inventory only saves calls: it
// may be dropped at any time. No lock is held while a call is in flight.
package cloud
