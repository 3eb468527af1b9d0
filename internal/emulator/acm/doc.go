// Package acm implements the operations of AWS Certificate Manager: importing, requesting, listing, describing, tagging and
// deleting certificates.
//
// A requested certificate is issued by the emulator's own authority once its domains
// are validated: some time after their records exist in public hosted zones of the
// account, or, with validation by email, some time after the request ([store.ACMConfig]).
package acm
