// Package acm implements the operations of AWS Certificate Manager: importing, requesting, listing, describing, tagging and
// deleting certificates.
//
// The emulator issues a requested public certificate a configurable time after its validation records exist in public hosted
// zones of the account, or, with validation by email, after the request ([store.ACMConfig]). A requested certificate is
// self-signed.
package acm
