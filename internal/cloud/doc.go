// Package cloud reads and writes AWS. It is, beside the emulator, the only user of the AWS SDK,
// whose types do not leave it: what it reads it returns in the terms of package observed, what it
// writes it takes from the steps of a plan. It decides nothing about what ought to exist.
//
// What has been read is kept in an inventory, and what the package writes is entered there as
// well, so that a second look costs no call until the refresh period is over. The inventory only
// saves calls: it may be dropped at any time. No lock is held while a call is under way.
package cloud
